/* The other names of the malloc family, each in terms of malloc, realloc, posix_memalign and free: an allocator that is
 * next in line may have its own, which would pass the meter by. Among them C++'s operators, by their mangled names:
 * size_t is m, std::align_val_t is St11align_val_t. */
#define _GNU_SOURCE
#include "heapmeter_block.h"

#include <dlfcn.h>
#include <errno.h>
#include <malloc.h>
#include <stdint.h>
#include <stdlib.h>
#include <unistd.h>

#define EXPORT __attribute__((visibility("default")))

EXPORT void *reallocarray(void *user, size_t count, size_t each)
{
    size_t size;
    return __builtin_mul_overflow(count, each, &size) ? page_count_failure() : realloc(user, size);
}

/* As glibc does, an alignment that is no power of two is raised to the next. */
EXPORT void *aligned_alloc(size_t alignment, size_t size)
{
    size_t power = 16;
    void *user = NULL;
    while (power < alignment && power <= PTRDIFF_MAX / 2)
        power *= 2;
    int error = posix_memalign(&user, power, size);
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
    return size > PTRDIFF_MAX ? page_count_failure() : aligned_alloc(unit, (size + unit - 1) / unit * unit);
}

/* A free by another name: allocators have it, and libraries use it when it is there (aws-lc does). */
EXPORT void sdallocx(void *user, size_t size, int flags)
{
    (void)size, (void)flags;
    free(user);
}

EXPORT void dallocx(void *user, int flags)
{
    (void)flags;
    free(user);
}

EXPORT void free_sized(void *user, size_t size)
{
    (void)size;
    free(user);
}

EXPORT void free_aligned_sized(void *user, size_t alignment, size_t size)
{
    (void)alignment, (void)size;
    free(user);
}

EXPORT void cfree(void *user)
{
    free(user);
}

/* Out of memory the next `operator new` throws, if a C++ library is here at all. */
static void *or_throw(void *block, size_t size)
{
    void *(*next)(size_t) = block ? NULL : (void *(*)(size_t))dlsym(RTLD_NEXT, "_Znwm");
    if (!block && !next)
        abort();
    return block ? block : next(size);
}

static void *aligned(size_t alignment, size_t size)
{
    void *block = NULL;
    return posix_memalign(&block, alignment < sizeof(void *) ? sizeof(void *) : alignment, size) ? NULL : block;
}

#define NEW(name)                                                                                                      \
    EXPORT void *name##m(size_t size)                                                                                  \
    {                                                                                                                  \
        return or_throw(malloc(size), size);                                                                           \
    }                                                                                                                  \
    EXPORT void *name##mRKSt9nothrow_t(size_t size, const void *nothrow)                                               \
    {                                                                                                                  \
        return (void)nothrow, malloc(size);                                                                            \
    }                                                                                                                  \
    EXPORT void *name##mSt11align_val_t(size_t size, size_t alignment)                                                 \
    {                                                                                                                  \
        return or_throw(aligned(alignment, size), size);                                                               \
    }                                                                                                                  \
    EXPORT void *name##mSt11align_val_tRKSt9nothrow_t(size_t size, size_t alignment, const void *nothrow)              \
    {                                                                                                                  \
        return (void)nothrow, aligned(alignment, size);                                                                \
    }

#define DELETE(name)                                                                                                   \
    EXPORT void name(void *block)                                                                                      \
    {                                                                                                                  \
        free(block);                                                                                                   \
    }

NEW(_Znw) /* operator new */
NEW(_Zna) /* operator new[] */
DELETE(_ZdlPv)
DELETE(_ZdaPv)
/* The same with a size, an alignment or std::nothrow besides: free needs none of them. */
DELETE(_ZdlPvm)
DELETE(_ZdaPvm)
DELETE(_ZdlPvRKSt9nothrow_t)
DELETE(_ZdaPvRKSt9nothrow_t)
DELETE(_ZdlPvSt11align_val_t)
DELETE(_ZdaPvSt11align_val_t)
DELETE(_ZdlPvmSt11align_val_t)
DELETE(_ZdaPvmSt11align_val_t)
DELETE(_ZdlPvSt11align_val_tRKSt9nothrow_t)
DELETE(_ZdaPvSt11align_val_tRKSt9nothrow_t)
