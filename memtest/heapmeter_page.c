/* The heap meter's books: one shared page per process, made again in a child after a fork. Nothing here allocates. */
#define _GNU_SOURCE
#include "heapmeter_block.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <time.h>
#include <unistd.h>

#define EXPORT __attribute__((visibility("default")))

static struct heapmeter_page early = {.magic = HEAPMETER_MAGIC, .phases = {"start"}};
static struct heapmeter_page before_fork;
static bool has_maps; /* during a fork: nobody changes the list of mappings meanwhile */
static struct heapmeter_page *page = &early;
uint64_t own_head = MAGIC;
uint32_t forks;

static void count_in(struct heapmeter_count *count, uint64_t size)
{
    uint64_t live = add(&count->live_bytes, size), blocks = add(&count->live_blocks, 1);
    uint64_t peak = __atomic_load_n(&count->peak_bytes, __ATOMIC_RELAXED);
    add(&count->cumulative_bytes, size);
    add(&count->cumulative_blocks, 1);
    while ((int64_t)live > (int64_t)peak) /* signed: a forked child may begin with counts a little below nought */
        if (__atomic_compare_exchange_n(&count->peak_bytes, &peak, live, true, __ATOMIC_RELAXED, __ATOMIC_RELAXED)) {
            __atomic_store_n(&count->peak_blocks, blocks, __ATOMIC_RELAXED);
            break;
        }
}

static void count_out(struct heapmeter_count *count, uint64_t size)
{
    add(&count->live_bytes, -size);
    add(&count->live_blocks, -1);
}

uint8_t page_count_in(uint8_t role, uint64_t size)
{
    uint8_t phase = page->phase;
    count_in(&page->counts[role], size);
    count_in(&page->counts[HEAP_TOTAL], size);
    add(&page->origin[role][phase].live_bytes, size);
    add(&page->origin[role][phase].live_blocks, 1);
    return phase;
}

void page_count_back(uint8_t role, uint8_t phase, uint64_t size)
{
    struct heapmeter_count *counts[] = {&page->counts[role], &page->counts[HEAP_TOTAL]};
    for (int i = 0; i < 2; i++) {
        add(&counts[i]->live_bytes, size);
        add(&counts[i]->live_blocks, 1);
    }
    add(&page->origin[role][phase].live_bytes, size);
    add(&page->origin[role][phase].live_blocks, 1);
}

void page_count_out(uint8_t role, uint8_t phase, uint64_t size)
{
    count_out(&page->counts[role], size);
    count_out(&page->counts[HEAP_TOTAL], size);
    add(&page->origin[role][phase].live_bytes, -size);
    add(&page->origin[role][phase].live_blocks, -1);
}

void page_inherited_out(uint64_t size)
{
    add(&page->inherited_live.bytes, -size);
    add(&page->inherited_live.blocks, -1);
}

void page_inherited_back(uint64_t size)
{
    add(&page->inherited_live.bytes, size);
    add(&page->inherited_live.blocks, 1);
}

void page_forked_out(uint64_t size)
{
    add(&page->forked_out.bytes, size);
    add(&page->forked_out.blocks, 1);
}

void page_forked_back(uint64_t size)
{
    add(&page->forked_out.bytes, -size);
    add(&page->forked_out.blocks, -1);
}

void page_mapped(uint64_t private_bytes, uint64_t shared_bytes)
{
    __atomic_store_n(&page->mapped.bytes, private_bytes, __ATOMIC_RELAXED);
    __atomic_store_n(&page->mapped.shared_bytes, shared_bytes, __ATOMIC_RELAXED);
    if (private_bytes > page->mapped.peak_bytes)
        __atomic_store_n(&page->mapped.peak_bytes, private_bytes, __ATOMIC_RELAXED);
}

void page_mapped_nothing(void)
{
    memset(&page->mapped, 0, sizeof page->mapped);
}

void page_mapped_unknown(void)
{
    __atomic_add_fetch(&page->mapped_unknown, 1, __ATOMIC_RELAXED);
}

void *page_count_failure(void)
{
    add(&page->failures, 1);
    errno = ENOMEM;
    return NULL;
}

void page_note_library(enum library which)
{
    __atomic_add_fetch(which == LIBRARY_DEEPBIND ? &page->deepbind : &page->namespaces, 1, __ATOMIC_RELAXED);
}

static void peaks_reset(struct heapmeter_page *of)
{
    for (int role = 0; role <= HEAP_TOTAL; role++) {
        of->counts[role].peak_bytes = of->counts[role].live_bytes;
        of->counts[role].peak_blocks = of->counts[role].live_blocks;
    }
}

EXPORT void heapmeter_phase(const char *name)
{
    uint32_t phase = 0;
    while (phase < HEAPMETER_PHASES - 1 && page->phases[phase][0] && strncmp(page->phases[phase], name, HEAPMETER_NAME))
        phase++;
    snprintf(page->phases[phase], HEAPMETER_NAME, "%s", name);
    page->phase = phase;
    peaks_reset(page);
    if (sites_on)
        sites_phase();
}

EXPORT const struct heapmeter_page *heapmeter_page(void)
{
    return page;
}

static uint64_t now(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (uint64_t)time.tv_sec * 1000000000 + time.tv_nsec;
}

/* The program's name: as /proc/PID/comm has it when the program starts. A title that the program gives itself later
 * overwrites its arguments. An exec by a link (/proc/self/exe) or a descriptor leaves no name there, and comm ends
 * after 15 bytes: then it is the name that the program was called by. */
static void name_find(char name[sizeof early.program])
{
    char comm[16] = "";
    prctl(PR_GET_NAME, comm);
    const char *called = program_invocation_short_name;
    bool is_link = !strcmp(comm, "exe") || comm[strspn(comm, "0123456789")] == '\0';
    snprintf(name, sizeof early.program, "%s", is_link || !strncmp(called, comm, strlen(comm)) ? called : comm);
}

/* The page of the program that this process was before an exec. Whoever lists programs wants it too, under a name that
 * no other has; else it makes room. */
static void page_set_aside(const char *path)
{
    char aside[96];
    snprintf(aside, sizeof aside, "%s.%llu", path, (unsigned long long)now());
    if (!programs_listed() || rename(path, aside))
        unlink(path);
}

static int page_create(const char *path)
{
    page_set_aside(path);
    return open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
}

/* A process that gave up its user before an exec can neither move nor remove the page of the program before. */
static int page_create_anywhere(void)
{
    char path[64];
    snprintf(path, sizeof path, "/dev/shm/heapmeter.%d", getpid());
    int fd = page_create(path);
    if (fd >= 0 || errno != EEXIST)
        return fd;
    snprintf(path, sizeof path, "/dev/shm/heapmeter.%d-%u", getpid(), geteuid());
    return page_create(path);
}

/* A shared page of this process's own, beginning with what `counted` holds; without /dev/shm the counts stay private.
 */
static void page_open(const struct heapmeter_page *counted)
{
    const int before = errno; /* as the program would have it at its start, or after a fork */
    int fd = page_create_anywhere();
    struct heapmeter_page *shared = MAP_FAILED;
    if (fd >= 0 && posix_fallocate(fd, 0, 4096) == 0) /* else writing to it could end the program */
        shared = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (fd >= 0)
        close(fd);
    errno = before;
    if (shared == MAP_FAILED) {
        programs_note(HEAPMETER_NO_PAGE, getpid(), 0, counted->program);
        return;
    }
    *shared = *counted;
    shared->pid = getpid();
    shared->parent = counted->pid ? counted->pid : (uint32_t)getppid(); /* a parent may have ended by now */
    shared->made = now();
    page = shared;
}

/* The parent goes on counting in the shared page, so the child must not copy that one. What other threads of the
 * parent were counting at this moment may be missing in it. */
static void fork_prepare(void)
{
    has_maps = maps_fork_prepare();
    forks++;
    before_fork = *page;
}

static void fork_parent(void)
{
    maps_fork_done(has_maps);
}

/* The child keeps the parent's blocks; neither its peak nor what it allocates begins with the parent's. */
static void fork_child(void)
{
    maps_fork_done(has_maps);
    before_fork.mapped.peak_bytes = before_fork.mapped.bytes;
    const struct heapmeter_count *total = &before_fork.counts[HEAP_TOTAL];
    before_fork.inherited.live_bytes = total->live_bytes;
    before_fork.inherited.live_blocks = total->live_blocks;
    before_fork.inherited.cumulative_bytes = total->cumulative_bytes;
    before_fork.inherited.cumulative_blocks = total->cumulative_blocks;
    before_fork.inherited_live.bytes = total->live_bytes;
    before_fork.inherited_live.blocks = total->live_blocks;
    before_fork.forks++;
    if (own_head < MAGIC + GENERATIONS * GENERATION)
        own_head += GENERATION;
    before_fork.parent_out.bytes = before_fork.forked_out.bytes;
    before_fork.parent_out.blocks = before_fork.forked_out.blocks;
    before_fork.forked_out.bytes = before_fork.forked_out.blocks = 0;
    before_fork.failures = 0;
    peaks_reset(&before_fork);
    page = &before_fork;
    page_open(&before_fork);
}

/* A fork that calls no handlers: its child would go on counting in its parent's page. */
EXPORT pid_t _Fork(void)
{
    pid_t (*real)(void) = (pid_t(*)(void))dlsym(RTLD_NEXT, "_Fork");
    if (!real) /* before glibc 2.34 */
        return fork();
    fork_prepare();
    pid_t child = real();
    (child == 0 ? fork_child : fork_parent)();
    return child;
}

/* What pthread_atfork calls: that one may be in libpthread, which no program should get from the meter. NULL: for as
 * long as the program runs. */
int __register_atfork(void (*prepare)(void), void (*parent)(void), void (*child)(void), void *library);

void page_start(void)
{
    name_find(early.program);
    __register_atfork(fork_prepare, fork_parent, fork_child, NULL);
    early.own_malloc = malloc_is_foreign();
    early.list = programs_list();
    page_open(&early);
    programs_note_start();
}
