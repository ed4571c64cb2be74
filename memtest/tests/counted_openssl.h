/* OpenSSL's own memory hooks: they count the bytes that are live, as they were asked for. No meter of this project is
 * in it. A program gives `take`, `resize` and `drop` to CRYPTO_set_mem_functions before it calls anything else. */
#ifndef COUNTED_OPENSSL_H
#define COUNTED_OPENSSL_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { HEAD = 16 }; /* a block's size stands before it, as it was asked for */

static size_t live;

static void *take(size_t size, const char *file, int line)
{
    size_t *head = malloc(HEAD + size);
    (void)file, (void)line;
    if (!head)
        return NULL;
    live += *head = size;
    return (char *)head + HEAD;
}

static void drop(void *block, const char *file, int line)
{
    size_t *head = block ? (size_t *)((char *)block - HEAD) : NULL;
    (void)file, (void)line;
    if (head)
        live -= *head;
    free(head);
}

static void *resize(void *block, size_t size, const char *file, int line)
{
    void *moved = size ? take(size, file, line) : NULL;
    const size_t before = block ? *(size_t *)((char *)block - HEAD) : 0;
    if (moved && block)
        memcpy(moved, block, before < size ? before : size);
    drop(block, file, line);
    return moved;
}

static void must(int done, const char *what)
{
    if (done)
        return;
    fprintf(stderr, "%s failed\n", what);
    exit(1);
}

#endif
