/* To preload, before the heap meter or behind it: allocation number FAIL_AT of the process, whichever call it is, gets
 * no memory. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdlib.h>

static unsigned long calls, fail_at;

__attribute__((constructor)) static void start(void)
{
    const char *number = getenv("FAIL_AT");
    fail_at = number ? strtoul(number, NULL, 10) : 0;
}

static bool fails(void)
{
    bool now = ++calls == fail_at;
    if (now)
        errno = ENOMEM;
    return now;
}

void *malloc(size_t size)
{
    static void *(*next)(size_t);
    if (!next)
        next = dlsym(RTLD_NEXT, "malloc");
    return fails() ? NULL : next(size);
}

void *calloc(size_t count, size_t each)
{
    static void *(*next)(size_t, size_t);
    if (!next)
        next = dlsym(RTLD_NEXT, "calloc");
    return fails() ? NULL : next(count, each);
}

void *realloc(void *block, size_t size)
{
    static void *(*next)(void *, size_t);
    if (!next)
        next = dlsym(RTLD_NEXT, "realloc");
    return size && fails() ? NULL : next(block, size);
}

int posix_memalign(void **block, size_t alignment, size_t size)
{
    static int (*next)(void **, size_t, size_t);
    if (!next)
        next = dlsym(RTLD_NEXT, "posix_memalign");
    return fails() ? ENOMEM : next(block, alignment, size);
}
