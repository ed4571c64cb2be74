/* To preload, before the heap meter or behind it: allocation number FAIL_AT of the process, whichever call it is, gets
 * no memory. Where the C library made it for itself, as the loader does for the text of an error, the next call gets
 * none: no TLS library misses what the C library does without. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

static unsigned long calls, fail_at;

__attribute__((constructor)) static void start(void)
{
    const char *number = getenv("FAIL_AT");
    fail_at = number ? strtoul(number, NULL, 10) : 0;
}

static bool is_of_c_library(const void *caller)
{
    Dl_info at;
    return dladdr(caller, &at) && (strstr(at.dli_fname, "/libc.so") || strstr(at.dli_fname, "/ld-linux"));
}

static bool fails(const void *caller)
{
    if (++calls != fail_at)
        return false;
    if (is_of_c_library(caller)) {
        fail_at++;
        return false;
    }
    errno = ENOMEM;
    return true;
}

void *malloc(size_t size)
{
    static void *(*next)(size_t);
    if (!next)
        next = dlsym(RTLD_NEXT, "malloc");
    return fails(__builtin_return_address(0)) ? NULL : next(size);
}

void *calloc(size_t count, size_t each)
{
    static void *(*next)(size_t, size_t);
    if (!next)
        next = dlsym(RTLD_NEXT, "calloc");
    return fails(__builtin_return_address(0)) ? NULL : next(count, each);
}

void *realloc(void *block, size_t size)
{
    static void *(*next)(void *, size_t);
    if (!next)
        next = dlsym(RTLD_NEXT, "realloc");
    return size && fails(__builtin_return_address(0)) ? NULL : next(block, size);
}

int posix_memalign(void **block, size_t alignment, size_t size)
{
    static int (*next)(void **, size_t, size_t);
    if (!next)
        next = dlsym(RTLD_NEXT, "posix_memalign");
    return fails(__builtin_return_address(0)) ? ENOMEM : next(block, alignment, size);
}
