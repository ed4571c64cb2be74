/* C++'s operators. Over glibc they end in malloc by themselves, but allocators bring operators of their own, which
 * would pass the meter by. They are known by their mangled names; size_t is m, std::align_val_t is St11align_val_t. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdlib.h>

#define EXPORT __attribute__((visibility("default")))

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
