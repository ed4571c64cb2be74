/* The allocator that is next in line, and what serves until it is known. */
#define _GNU_SOURCE
#include "heapmeter_block.h"

#include <dlfcn.h>
#include <stdlib.h>

struct next next;

/* dlsym may allocate while the next allocator is not known yet: that comes from here and is never given back. */
static _Alignas(16) char bootstrap[8192];
static size_t bootstrap_used;

bool is_bootstrap(const void *block)
{
    return (const char *)block >= bootstrap && (const char *)block < bootstrap + sizeof bootstrap;
}

void *bootstrap_new(size_t size)
{
    size_t start = bootstrap_used;
    size = (size + 15) & ~(size_t)15;
    if (size > sizeof bootstrap - start)
        abort();
    bootstrap_used += size;
    return bootstrap + start;
}

bool next_found(void)
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
    next.usable_size = dlsym(RTLD_NEXT, "malloc_usable_size");
    next.free = dlsym(RTLD_NEXT, "free"); /* last: says that all are there */
    return true;
}
