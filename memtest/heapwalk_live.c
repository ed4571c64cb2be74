/* Where the chunks in use are: a list that grows with the walk, without what caches have of them in the end. */
#include "heapwalk.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

void live_clear(struct live *live)
{
    live->used_count = live->cached_count = 0;
    live->has_too_large = false;
}

void live_add(struct live *live, uint64_t address, uint64_t bytes, uint64_t resident_bytes, uint64_t marks)
{
    if (bytes / LIVE_UNIT_BYTES > UINT32_MAX) {
        live->has_too_large = true;
        return;
    }
    if (live->used_count == live->used_room) {
        live->used_room = live->used_room ? 2 * live->used_room : 1024;
        live->used = realloc(live->used, live->used_room * sizeof *live->used);
    }
    live->used[live->used_count++] = (struct live_chunk){address | marks << LIVE_ADDRESS_BITS, bytes / LIVE_UNIT_BYTES,
                                                         resident_bytes / LIVE_UNIT_BYTES};
}

void live_add_cached(struct live *live, uint64_t address)
{
    if (!live->is_wanted)
        return;
    if (live->cached_count == live->cached_room) {
        live->cached_room = live->cached_room ? 2 * live->cached_room : 1024;
        live->cached = realloc(live->cached, live->cached_room * sizeof *live->cached);
    }
    live->cached[live->cached_count++] = address;
}

static int by_address(const void *left, const void *right)
{
    uint64_t one = live_address(left), other = live_address(right);
    return (one > other) - (one < other);
}

static int by_number(const void *left, const void *right)
{
    uint64_t one = *(const uint64_t *)left, other = *(const uint64_t *)right;
    return (one > other) - (one < other);
}

/* As they are when all come from one heap: to sort millions takes as long as to find them. */
static bool is_in_order(const struct live *live)
{
    for (size_t i = 1; i < live->used_count; i++)
        if (live_address(&live->used[i - 1]) > live_address(&live->used[i]))
            return false;
    return true;
}

void live_take_out_cached(struct live *live)
{
    size_t kept = 0, next = 0;
    if (!is_in_order(live))
        qsort(live->used, live->used_count, sizeof *live->used, by_address);
    if (live->cached_count)
        qsort(live->cached, live->cached_count, sizeof *live->cached, by_number);
    for (size_t i = 0; i < live->used_count; i++) {
        uint64_t address = live_address(&live->used[i]);
        while (next < live->cached_count && live->cached[next] < address)
            next++;
        if (next == live->cached_count || live->cached[next] != address)
            live->used[kept++] = live->used[i];
    }
    live->used_count = kept;
    live->cached_count = 0;
}

bool write_all(int file, const void *from, size_t size)
{
    for (const char *at = from; size;) {
        ssize_t done = write(file, at, size);
        if (done < 0 && errno == EINTR)
            continue;
        if (done <= 0)
            return false;
        at += done;
        size -= done;
    }
    return true;
}

bool live_write(const struct live *live, int file)
{
    uint64_t count = live->used_count;
    return write_all(file, &count, sizeof count) && write_all(file, live->used, count * sizeof *live->used);
}

bool live_map(struct live *live, int file)
{
    uint64_t count;
    char *listed = mmap(NULL, sizeof count + live->used_count * sizeof *live->used, PROT_READ, MAP_SHARED, file, 0);
    if (listed == MAP_FAILED)
        return false;
    free(live->used);
    live->used = (struct live_chunk *)(listed + sizeof count);
    live->used_room = 0;
    return true;
}
