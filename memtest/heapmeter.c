/* libheapmeter.so: counts requested bytes and blocks, live, peak and cumulative, by role and phase, over whatever
 * allocator is next in line. Preload it before that one. A block carries a 16-byte header, so no table is needed. */
#define _GNU_SOURCE
#include "heapmeter.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <malloc.h>
#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/single_threaded.h>
#include <unistd.h>

#define EXPORT __attribute__((visibility("default")))
#define BLOCK_MAGIC 0xb7

struct header {
    uint64_t size;
    uint32_t pair;
    uint8_t role, phase;
    uint8_t lead_log2; /* the block of the next allocator starts 1 << lead_log2 before the user's */
    uint8_t magic;
};
_Static_assert(sizeof(struct header) == 16, "keeps malloc's alignment");

static struct heapmeter_page early = {.magic = HEAPMETER_MAGIC, .phases = {"start"}};
static struct heapmeter_page before_fork;
static struct heapmeter_page *page = &early;
static __thread struct {
    uint32_t pair;
    uint8_t role;
} tag __attribute__((tls_model("initial-exec")));

static struct {
    void *(*malloc)(size_t);
    void *(*calloc)(size_t, size_t);
    void *(*realloc)(void *, size_t);
    int (*posix_memalign)(void **, size_t, size_t);
    void (*free)(void *);
} next;

/* dlsym may allocate while the next allocator is not known yet: that comes from here and is never given back. */
static _Alignas(16) char bootstrap[8192];
static size_t bootstrap_used;

static bool is_bootstrap(const void *block)
{
    return (const char *)block >= bootstrap && (const char *)block < bootstrap + sizeof bootstrap;
}

static void *bootstrap_new(size_t size)
{
    size_t start = bootstrap_used;
    size = (size + 15) & ~(size_t)15;
    if (size > sizeof bootstrap - start)
        abort();
    bootstrap_used += size;
    return bootstrap + start;
}

static bool next_found(void)
{
    static bool searching;
    if (next.free)
        return true;
    if (searching)
        return false;
    searching = true;
    next.malloc = dlsym(RTLD_NEXT, "malloc");
    next.calloc = dlsym(RTLD_NEXT, "calloc");
    next.realloc = dlsym(RTLD_NEXT, "realloc");
    next.posix_memalign = dlsym(RTLD_NEXT, "posix_memalign");
    next.free = dlsym(RTLD_NEXT, "free");
    return true;
}

/* A locked add costs more than the rest of the meter, and one thread needs none. */
static uint64_t add(uint64_t *counter, uint64_t by)
{
    if (!__libc_single_threaded)
        return __atomic_add_fetch(counter, by, __ATOMIC_RELAXED);
    uint64_t sum = __atomic_load_n(counter, __ATOMIC_RELAXED) + by;
    __atomic_store_n(counter, sum, __ATOMIC_RELAXED);
    return sum;
}

static void count_in(struct heapmeter_count *count, uint64_t size)
{
    uint64_t live = add(&count->live_bytes, size), blocks = add(&count->live_blocks, 1);
    uint64_t peak = __atomic_load_n(&count->peak_bytes, __ATOMIC_RELAXED);
    add(&count->cumulative_bytes, size);
    add(&count->cumulative_blocks, 1);
    while (live > peak)
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

/* Writes the header of a block whose user part starts at `user`, and counts it. */
static void *block_in(void *user, size_t size, unsigned lead_log2, uint32_t pair, uint8_t role)
{
    struct header *header = (struct header *)user - 1;
    uint8_t phase = page->phase;
    *header = (struct header){size, pair, role, phase, lead_log2, BLOCK_MAGIC};
    count_in(&page->counts[role], size);
    count_in(&page->counts[HEAP_TOTAL], size);
    add(&page->origin[role][phase].live_bytes, size);
    add(&page->origin[role][phase].live_blocks, 1);
    return user;
}

static void block_out(struct header *header)
{
    count_out(&page->counts[header->role], header->size);
    count_out(&page->counts[HEAP_TOTAL], header->size);
    add(&page->origin[header->role][header->phase].live_bytes, -header->size);
    add(&page->origin[header->role][header->phase].live_blocks, -1);
    header->magic = 0;
}

static void *too_large(void)
{
    errno = ENOMEM;
    return NULL;
}

EXPORT void *malloc(size_t size)
{
    if (size > PTRDIFF_MAX - sizeof(struct header))
        return too_large();
    char *block = next_found() ? next.malloc(size + sizeof(struct header)) : bootstrap_new(size + sizeof(struct header));
    return block ? block_in(block + sizeof(struct header), size, 4, tag.pair, tag.role) : NULL;
}

EXPORT void *calloc(size_t count, size_t each)
{
    size_t size;
    if (__builtin_mul_overflow(count, each, &size) || size > PTRDIFF_MAX - sizeof(struct header))
        return too_large();
    char *block = next_found() ? next.calloc(1, size + sizeof(struct header)) : bootstrap_new(size + sizeof(struct header));
    return block ? block_in(block + sizeof(struct header), size, 4, tag.pair, tag.role) : NULL;
}

EXPORT void free(void *user)
{
    struct header *header = (struct header *)user - 1;
    int kept = errno;
    if (!user || is_bootstrap(user))
        return;
    if (header->magic != BLOCK_MAGIC) { /* not ours: older than the meter */
        next.free(user);
    } else {
        block_out(header); /* before the real free: afterwards another thread may own it */
        next.free((char *)user - ((size_t)1 << header->lead_log2));
    }
    errno = kept;
}

/* For blocks that cannot grow in place: aligned ones, and those of the bootstrap. Keeps pair and role. */
static void *move(void *user, struct header old, size_t size)
{
    char *block = next.malloc(size + sizeof(struct header));
    if (!block)
        return NULL;
    memcpy(block + sizeof(struct header), user, old.size < size ? old.size : size);
    free(user);
    return block_in(block + sizeof(struct header), size, 4, old.pair, old.role);
}

EXPORT void *realloc(void *user, size_t size)
{
    struct header *header = (struct header *)user - 1, old;
    if (!user)
        return malloc(size);
    if (size == 0) {
        free(user);
        return NULL;
    }
    if (size > PTRDIFF_MAX - sizeof(struct header))
        return too_large();
    if (!is_bootstrap(user) && header->magic != BLOCK_MAGIC)
        return next.realloc(user, size);
    old = *header;
    if (is_bootstrap(user) || old.lead_log2 != 4)
        return move(user, old, size);
    block_out(header); /* the old size goes before the new one comes: no peak that was not there */
    char *block = next.realloc(header, size + sizeof(struct header));
    if (!block) {
        block_in(user, old.size, 4, old.pair, old.role);
        return NULL;
    }
    return block_in(block + sizeof(struct header), size, 4, old.pair, old.role);
}

EXPORT void *reallocarray(void *user, size_t count, size_t each)
{
    size_t size;
    return __builtin_mul_overflow(count, each, &size) ? too_large() : realloc(user, size);
}

EXPORT int posix_memalign(void **result, size_t alignment, size_t size)
{
    size_t lead = alignment > sizeof(struct header) ? alignment : sizeof(struct header);
    void *block;
    if (alignment < sizeof(void *) || (alignment & (alignment - 1)))
        return EINVAL;
    if (size > PTRDIFF_MAX - lead)
        return ENOMEM;
    next_found();
    int error = next.posix_memalign(&block, lead, size + lead);
    if (!error)
        *result = block_in((char *)block + lead, size, __builtin_ctzl(lead), tag.pair, tag.role);
    return error;
}

EXPORT void *aligned_alloc(size_t alignment, size_t size)
{
    void *user = NULL;
    int error = posix_memalign(&user, alignment < sizeof(void *) ? sizeof(void *) : alignment, size);
    if (error)
        errno = error;
    return user;
}

EXPORT void *memalign(size_t alignment, size_t size)
{
    return aligned_alloc(alignment, size);
}

EXPORT void *valloc(size_t size)
{
    return aligned_alloc(getpagesize(), size);
}

EXPORT void *pvalloc(size_t size)
{
    size_t unit = getpagesize();
    return aligned_alloc(unit, (size + unit - 1) / unit * unit);
}

/* Just what was requested: whoever uses more than that would write past what is counted. */
EXPORT size_t malloc_usable_size(void *user)
{
    return user ? ((struct header *)user - 1)->size : 0;
}

EXPORT void heapmeter_role(int role, uint32_t pair)
{
    tag.role = role;
    tag.pair = pair;
}

EXPORT void heapmeter_phase(const char *name)
{
    uint32_t phase = 0;
    while (phase < HEAPMETER_PHASES - 1 && page->phases[phase][0] && strncmp(page->phases[phase], name, HEAPMETER_NAME))
        phase++;
    snprintf(page->phases[phase], HEAPMETER_NAME, "%s", name);
    page->phase = phase;
    for (int role = 0; role <= HEAP_TOTAL; role++) {
        page->counts[role].peak_bytes = page->counts[role].live_bytes;
        page->counts[role].peak_blocks = page->counts[role].live_blocks;
    }
}

EXPORT const struct heapmeter_page *heapmeter_page(void)
{
    return page;
}

/* A shared page of this process's own, beginning with what `counted` holds; without /dev/shm the counts stay private. */
static void page_open(const struct heapmeter_page *counted)
{
    char path[64];
    snprintf(path, sizeof path, "/dev/shm/heapmeter.%d", getpid());
    unlink(path);
    int fd = open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    struct heapmeter_page *shared = MAP_FAILED;
    if (fd >= 0 && ftruncate(fd, 4096) == 0)
        shared = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (fd >= 0)
        close(fd);
    if (shared == MAP_FAILED)
        return;
    *shared = *counted;
    shared->pid = getpid();
    page = shared;
}

static void fork_prepare(void)
{
    before_fork = *page; /* the parent goes on counting in the shared page, so the child must not copy that one */
}

static void fork_child(void)
{
    page = &before_fork;
    page_open(&before_fork);
}

__attribute__((constructor)) static void start(void)
{
    next_found();
    pthread_atfork(fork_prepare, NULL, fork_child);
    page_open(&early);
}
