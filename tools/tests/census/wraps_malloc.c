/* A library to preload that puts a header before each block of malloc, as tools that look for leaks do. */
#include <errno.h>
#include <malloc.h>
#include <stdlib.h>
#include <string.h>

enum { HEADER = 32 };
extern void *__libc_malloc(size_t);
extern void *__libc_realloc(void *, size_t);
extern void __libc_free(void *);

static char *wrap(char *chunk)
{
    return chunk ? (char *)memset(chunk, 7, HEADER) + HEADER : NULL;
}

void *malloc(size_t size)
{
    return wrap(__libc_malloc(size + HEADER));
}

void *calloc(size_t count, size_t size)
{
    size_t bytes;
    if (__builtin_mul_overflow(count, size, &bytes))
        return NULL;
    char *block = malloc(bytes);
    return block ? memset(block, 0, bytes) : NULL;
}

void *realloc(void *block, size_t size)
{
    return wrap(__libc_realloc(block ? (char *)block - HEADER : NULL, size + HEADER));
}

void free(void *block)
{
    __libc_free(block ? (char *)block - HEADER : NULL);
}

void *aligned_alloc(size_t alignment, size_t size)
{
    return alignment <= 16 ? malloc(size) : NULL;
}

int posix_memalign(void **block, size_t alignment, size_t size)
{
    *block = aligned_alloc(alignment, size);
    return *block ? 0 : ENOMEM;
}

/* With the header, as the program adds up whole chunks. */
size_t malloc_usable_size(void *block)
{
    return (*((size_t *)((char *)block - HEADER) - 1) & ~(size_t)7) - 16;
}
