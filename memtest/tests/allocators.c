/* Programs with known answers for the heap meter: each way takes memory past malloc, beside 100,000 bytes of malloc's.
 * 8 MiB are private and may be used at the end, or at the peak, unless the way says otherwise. */
#define _GNU_SOURCE
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#define MIB ((size_t)1 << 20)
#define FLAGS (MAP_PRIVATE | MAP_ANONYMOUS)

static char *volatile kept;

static char *map(size_t size, int protection, int flags)
{
    char *mapped = mmap(NULL, size, protection, flags, -1, 0);
    if (mapped == MAP_FAILED)
        _exit(9);
    if (protection != PROT_NONE)
        memset(mapped, 1, size);
    return mapped;
}

static char *map_usable(size_t size)
{
    return map(size, PROT_READ | PROT_WRITE, FLAGS);
}

static void arena(void)
{
    for (int i = 0; i < 8; i++)
        map_usable(MIB);
}

static void given_back(void)
{
    munmap(map_usable(8 * MIB), 8 * MIB);
}

/* Half of it is given back, from the middle. */
static void holes(void)
{
    char *mapped = map_usable(16 * MIB);
    munmap(mapped + 4 * MIB, 8 * MIB);
}

static void by_sbrk(void)
{
    sbrk(12 * MIB);
    sbrk(-(intptr_t)(4 * MIB));
}

/* As V8 does: much is reserved, a part of it may be used. */
static void reserved(void)
{
    char *mapped = map(64 * MIB, PROT_NONE, FLAGS);
    mprotect(mapped + 4 * MIB, 12 * MIB, PROT_READ | PROT_WRITE);
    mprotect(mapped + 8 * MIB, 4 * MIB, PROT_NONE);
    memset(mapped + 4 * MIB, 1, 4 * MIB);
    memset(mapped + 12 * MIB, 1, 4 * MIB);
}

/* As the JVM does: parts of what is reserved are mapped again. */
static void mapped_again(void)
{
    char *mapped = map(64 * MIB, PROT_NONE, FLAGS);
    mmap(mapped + MIB, 8 * MIB, PROT_READ | PROT_WRITE, FLAGS | MAP_FIXED, -1, 0);
    memset(mapped + MIB, 1, 8 * MIB);
}

static void enlarged(void)
{
    char *moved = mremap(map_usable(MIB), MIB, 8 * MIB, MREMAP_MAYMOVE);
    memset(moved, 1, 8 * MIB);
}

static void shared(void)
{
    map(8 * MIB, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS);
}

static void stack(void)
{
    map(8 * MIB, PROT_READ | PROT_WRITE, FLAGS | MAP_STACK);
}

static void *map_and_unmap(void *none)
{
    for (int i = 0; i < 2000; i++)
        munmap(mmap(NULL, 4096 * (1 + i % 7), PROT_READ | PROT_WRITE, FLAGS, -1, 0), 4096 * (1 + i % 7));
    return none;
}

static void threads(void)
{
    pthread_t all[4];
    arena();
    for (int i = 0; i < 4; i++)
        pthread_create(&all[i], NULL, map_and_unmap, NULL);
    for (int i = 0; i < 4; i++)
        pthread_join(all[i], NULL);
}

static void in_a_child(void)
{
    if (!fork()) {
        arena();
        _exit(0);
    }
    wait(NULL);
}

/* Past the C library too, as Go does. Long enough to be seen. */
static void by_system_call(void)
{
    char *mapped = (char *)syscall(SYS_mmap, NULL, 64 * MIB, PROT_READ | PROT_WRITE, FLAGS, -1, 0);
    memset(mapped, 1, 64 * MIB);
    sleep(1);
}

/* What malloc maps, or keeps though it is free, is no memory past it. */
static void by_malloc(void)
{
    static char *volatile blocks[100000];
    kept = memset(malloc(64 * MIB), 1, 64 * MIB);
    for (int i = 0; i < 100000; i++)
        blocks[i] = memset(malloc(1000), 1, 1000);
    for (int i = 0; i < 99999; i++)
        free(blocks[i]);
    usleep(100000);
}

int main(int argc, char **argv)
{
    static const struct {
        const char *name;
        void (*run)(void);
    } ways[] = {
        {"arena", arena},       {"given-back", given_back}, {"holes", holes},       {"sbrk", by_sbrk},
        {"reserved", reserved}, {"again", mapped_again},    {"enlarged", enlarged}, {"shared", shared},
        {"stack", stack},       {"threads", threads},       {"child", in_a_child},  {"raw", by_system_call},
        {"malloc", by_malloc},
    };
    kept = malloc(100000);
    for (size_t i = 0; i < sizeof ways / sizeof *ways; i++)
        if (argc == 2 && !strcmp(argv[1], ways[i].name))
            return ways[i].run(), 0;
    return 1;
}
