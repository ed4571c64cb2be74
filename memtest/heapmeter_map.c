/* What a program maps by itself, past malloc: allocators of its own do (CPython's arenas, V8, the JVM, APR's pools).
 * Counted are anonymous mappings that may be used, by calls of the C library's functions; malloc's own calls do not
 * come here. Nothing here allocates, and no call of malloc's waits for it. */
#define _GNU_SOURCE
#include "heapmeter_block.h"

#include <dlfcn.h>
#include <sched.h>
#include <stdarg.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#define EXPORT __attribute__((visibility("default")))
#define RANGES 4096
#define PATIENCE                                                                                                       \
    10000 /* turns to wait for another thread, or for the call that a signal interrupted: that one never ends */

enum state { ABSENT, RESERVED, PRIVATE, SHARED, STATES }; /* reserved: private, and may not be used */

struct range {
    uintptr_t begin, end;
    enum state state;
};

/* In the order of addresses, in one of two lists: each change writes the other one. */
static struct ranges {
    struct range list[RANGES];
    size_t count;
} lists[2], *ranges = &lists[0];
static char busy;
static bool is_off;
static uint64_t by_sbrk;

static bool enter(void)
{
    for (int turn = 0; turn < PATIENCE; turn++) {
        if (!__atomic_test_and_set(&busy, __ATOMIC_ACQUIRE))
            return true;
        sched_yield();
    }
    page_mapped_unknown();
    return false;
}

static void leave(void)
{
    __atomic_clear(&busy, __ATOMIC_RELEASE);
}

static void append(struct ranges *to, struct range range)
{
    struct range *last = to->count ? &to->list[to->count - 1] : NULL;
    if (range.begin >= range.end || range.state == ABSENT)
        return;
    if (last && last->end == range.begin && last->state == range.state)
        last->end = range.end;
    else if (to->count < RANGES)
        to->list[to->count++] = range;
    else
        page_mapped_unknown();
}

static void count(void)
{
    uint64_t sizes[STATES] = {0};
    for (size_t i = 0; i < ranges->count; i++)
        sizes[ranges->list[i].state] += ranges->list[i].end - ranges->list[i].begin;
    page_mapped(sizes[PRIVATE] + by_sbrk, sizes[SHARED]);
}

static uintptr_t least(uintptr_t one, uintptr_t other)
{
    return one < other ? one : other;
}

static uintptr_t most(uintptr_t one, uintptr_t other)
{
    return one > other ? one : other;
}

/* Private memory between two addresses may be used from now on, or no longer. */
static enum state protected(enum state before, enum state after) {
    return before == PRIVATE || before == RESERVED ? after : before;
}

/* Gives what lies between two addresses a state: all of it, or where a change of protection comes, what is known. */
static void assign(uintptr_t begin, size_t size, enum state state, bool is_protection)
{
    uintptr_t unit = getpagesize(), end = (begin + size + unit - 1) & ~(unit - 1); /* arm64 has kernels of 64 KiB too */
    struct ranges *to = ranges == &lists[0] ? &lists[1] : &lists[0];
    bool is_placed = is_protection;
    to->count = 0;
    for (size_t i = 0; i < ranges->count; i++) {
        struct range old = ranges->list[i];
        append(to, (struct range){old.begin, least(old.end, begin), old.state});
        if (!is_placed && old.end > begin) {
            append(to, (struct range){begin, end, state});
            is_placed = true;
        }
        if (is_protection)
            append(to, (struct range){most(old.begin, begin), least(old.end, end), protected(old.state, state)});
        append(to, (struct range){most(old.begin, end), old.end, old.state});
    }
    if (!is_placed)
        append(to, (struct range){begin, end, state});
    ranges = to;
    count();
}

static void note(uintptr_t begin, size_t size, enum state state, bool is_protection)
{
    if (is_off || !enter())
        return;
    assign(begin, size, state, is_protection);
    leave();
}

/* An allocator that is next in line maps for malloc, and that is counted already. */
void maps_start(void)
{
    Dl_info of_malloc, of_libc;
    is_off = dladdr((void *)next.malloc, &of_malloc) && dladdr(dlsym(RTLD_NEXT, "fork"), &of_libc) &&
             of_malloc.dli_fbase != of_libc.dli_fbase;
    if (is_off)
        page_mapped_nothing();
}

bool maps_fork_prepare(void)
{
    return enter();
}

void maps_fork_done(bool entered)
{
    if (entered)
        leave();
}

static enum state state_of(int protection, int flags)
{
    if (!(flags & MAP_ANONYMOUS) || flags & MAP_STACK)
        return ABSENT;
    return flags & MAP_SHARED ? SHARED : protection == PROT_NONE ? RESERVED : PRIVATE;
}

EXPORT void *mmap(void *address, size_t size, int protection, int flags, int fd, off_t offset)
{
    void *mapped = (void *)syscall(SYS_mmap, address, size, protection, flags, fd, offset);
    if (mapped != MAP_FAILED)
        note((uintptr_t)mapped, size, state_of(protection, flags), false);
    return mapped;
}

EXPORT void *mmap64(void *address, size_t size, int protection, int flags, int fd, off_t offset)
{
    return mmap(address, size, protection, flags, fd, offset);
}

/* Before the call: afterwards another thread may have mapped something there. */
EXPORT int munmap(void *address, size_t size)
{
    note((uintptr_t)address, size, ABSENT, false);
    return syscall(SYS_munmap, address, size);
}

EXPORT int mprotect(void *address, size_t size, int protection)
{
    int result = syscall(SYS_mprotect, address, size, protection);
    if (!result)
        note((uintptr_t)address, size, protection == PROT_NONE ? RESERVED : PRIVATE, true);
    return result;
}

static enum state state_at(uintptr_t address)
{
    for (size_t i = 0; i < ranges->count; i++)
        if (address >= ranges->list[i].begin && address < ranges->list[i].end)
            return ranges->list[i].state;
    return ABSENT;
}

EXPORT void *mremap(void *old, size_t old_size, size_t size, int flags, ...)
{
    va_list rest;
    va_start(rest, flags);
    void *wished = flags & MREMAP_FIXED ? va_arg(rest, void *) : NULL;
    va_end(rest);
    bool entered = !is_off && enter();
    enum state state = entered ? state_at((uintptr_t)old) : ABSENT;
    void *moved = (void *)syscall(SYS_mremap, old, old_size, size, flags, wished);
    if (entered && moved != MAP_FAILED) {
        assign((uintptr_t)old, old_size, ABSENT, false);
        assign((uintptr_t)moved, size, state, false);
    }
    if (entered)
        leave();
    return moved;
}

/* malloc calls the C library's own. */
EXPORT void *sbrk(intptr_t by)
{
    static void *(*real)(intptr_t);
    if (!real)
        real = (void *(*)(intptr_t))dlsym(RTLD_NEXT, "sbrk");
    void *before = real(by);
    if (before != (void *)-1 && by && !is_off && enter()) {
        by_sbrk += by;
        count();
        leave();
    }
    return before;
}
