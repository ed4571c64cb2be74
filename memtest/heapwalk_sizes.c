/* How many free chunks there are of each size. */
#include "heapwalk.h"

#include <stdlib.h>

static struct size_count *slot_of(const struct sizes *sizes, uint64_t size)
{
    size_t slot = size * UINT64_C(0x9e3779b97f4a7c15) >> 32 & (sizes->room - 1);
    while (sizes->slots[slot].chunks && sizes->slots[slot].size != size)
        slot = (slot + 1) & (sizes->room - 1);
    return &sizes->slots[slot];
}

static void grow(struct sizes *sizes)
{
    struct sizes larger = {.room = sizes->room ? 2 * sizes->room : 1024, .count = sizes->count};
    larger.slots = calloc(larger.room, sizeof *larger.slots);
    for (size_t i = 0; i < sizes->room; i++)
        if (sizes->slots[i].chunks)
            *slot_of(&larger, sizes->slots[i].size) = sizes->slots[i];
    free(sizes->slots);
    *sizes = larger;
}

void sizes_add(struct sizes *sizes, uint64_t size)
{
    if (2 * sizes->count >= sizes->room)
        grow(sizes);
    struct size_count *slot = slot_of(sizes, size);
    sizes->count += !slot->chunks++;
    slot->size = size;
}

static int by_bytes(const void *left, const void *right)
{
    const struct size_count *one = left, *other = right;
    uint64_t bytes = one->size * one->chunks, others = other->size * other->chunks;
    return bytes != others ? (bytes < others) - (bytes > others)
                           : (one->size > other->size) - (one->size < other->size);
}

void sizes_sort(struct sizes *sizes)
{
    if (sizes->slots)
        qsort(sizes->slots, sizes->room, sizeof *sizes->slots, by_bytes);
}
