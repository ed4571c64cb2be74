/* Allocations that fail. A library may go on without what it was refused, and its session then holds less than others:
 * such a run is no measurement. They are counted where a harness calls the malloc family, which the linker leads here
 * (wrapped.flags), and by the heap meter. The first sees all of a static stack, whatever is preloaded; the second
 * sees shared libraries too. */
#define _GNU_SOURCE
#include "core.h"
#include "heapmeter.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>

static _Atomic uint64_t failures;

static void *counted(void *block)
{
    if (!block)
        failures++;
    return block;
}

/* Weak: a program that is linked without the flags, as tests of drivers are, calls none of these. */
#define WRAPPED(name, ...)                                                                                             \
    __attribute__((weak)) void *__real_##name(__VA_ARGS__);                                                            \
    void *__wrap_##name(__VA_ARGS__)

WRAPPED(malloc, size_t size)
{
    return counted(__real_malloc(size));
}

WRAPPED(calloc, size_t count, size_t each)
{
    return counted(__real_calloc(count, each));
}

/* To nothing is a free. */
WRAPPED(realloc, void *block, size_t size)
{
    void *moved = __real_realloc(block, size);
    return block && !size ? moved : counted(moved);
}

WRAPPED(reallocarray, void *block, size_t count, size_t each)
{
    void *moved = __real_reallocarray(block, count, each);
    return block && (!count || !each) ? moved : counted(moved);
}

WRAPPED(aligned_alloc, size_t alignment, size_t size)
{
    return counted(__real_aligned_alloc(alignment, size));
}

WRAPPED(memalign, size_t alignment, size_t size)
{
    return counted(__real_memalign(alignment, size));
}

__attribute__((weak)) int __real_posix_memalign(void **block, size_t alignment, size_t size);
int __wrap_posix_memalign(void **block, size_t alignment, size_t size)
{
    int error = __real_posix_memalign(block, alignment, size);
    if (error == ENOMEM)
        failures++;
    return error;
}

uint64_t allocations_failed(void)
{
    uint64_t metered = heapmeter.page ? heapmeter.page()->failures : 0;
    return metered > failures ? metered : failures;
}

void allocations_must_succeed(void)
{
    if (allocations_failed())
        die("went on although memory was refused: no figure is that of a whole session");
}
