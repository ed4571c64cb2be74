/* Freed chunks that malloc marks as in use: on lists of threads' caches and, before glibc 2.43, of arenas' fastbins.
 * Threads go on using them, so each list is read again until it is whole. */
#include "heapwalk.h"

enum {
    FASTBINS = 10,
    FASTBINS_AT = 16, /* in struct malloc_state */
    SMALL_BINS = 64,  /* of a thread's cache; all of them, before glibc 2.42 */
    TRIES = 100,
    FIRST_TRIES = 5, /* for what may be no cache */
    ODD_BINS = 4, /* of a cache that was read while its thread used it, no more bins than these contradict themselves */
};

/* What the lists of one process are followed with. */
struct follower {
    const struct process *process;
    const struct glibc *glibc;
    const struct heaps *heaps;
    const struct pages *pages;
    struct live *live;
};

bool cached_is_candidate(const struct glibc *glibc, uint64_t size)
{
    if (!glibc->layout->counts_slots)
        return size == 656;            /* 2 and 8 bytes for each bin, and the header */
    return size == 768 || size == 784; /* the same; glibc 2.43 can round twice */
}

/* Counts a chunk that is on a list, with what of it is resident; false where no chunk of its size is there. */
static bool chunk_add(const struct follower *by, uint64_t chunk, uint64_t size, struct tally *cached)
{
    uint64_t head[2];
    if (chunk % 16 || !process_read(by->process, chunk, head, sizeof head))
        return false;
    uint64_t actual = head[1] & ~CHUNK_FLAGS;
    if (size ? actual != size : actual < CHUNK_LEAST)
        return false;
    for (size_t i = 0; i < by->heaps->count; i++) {
        struct range at = by->heaps->list[i].at;
        if (at.begin <= chunk && chunk < at.end && actual <= at.end - chunk) {
            cached->chunks++;
            cached->bytes += actual;
            cached->resident_bytes += pages_resident(&by->pages[i], chunk, chunk + actual);
            live_add_cached(by->live, chunk);
            return true;
        }
    }
    return false;
}

/* Follows a list of `count` chunks, or to its end; `size` is 0 where sizes differ. */
static bool list_follow(const struct follower *by, uint64_t chunk, uint64_t size, uint64_t count, bool is_counted,
                        struct tally *cached)
{
    for (; chunk; count--) {
        uint64_t link, at = chunk + 16;
        if (!count || !chunk_add(by, chunk, size, cached) || !process_read(by->process, at, &link, 8))
            return false;
        link = by->glibc->layout->mangles_links ? link ^ at >> 12 : link;
        chunk = link && is_counted ? link - 16 : link; /* caches lead to a chunk's room, fastbins to its beginning */
    }
    return !is_counted || !count;
}

struct cache {
    uint16_t counts[CACHE_BINS_MOST];
    uint64_t entries[CACHE_BINS_MOST];
};

/* Reads the cache that a chunk may have, with the numbers of chunks on its lists. Returns how many bins contradict
 * themselves. */
static size_t cache_read(const struct follower *by, uint64_t chunk, size_t bins, struct cache *cache)
{
    const bool has_slots = by->glibc->layout->counts_slots;
    const unsigned most = by->glibc->cache_count;
    size_t odd = 0;
    if (!process_read(by->process, chunk + 16, cache->counts, bins * 2) ||
        !process_read(by->process, chunk + 16 + bins * 2, cache->entries, bins * 8))
        return bins; /* never written */
    for (size_t bin = 0; bin < bins; bin++) {
        unsigned count = has_slots ? most - cache->counts[bin] : cache->counts[bin];
        odd += count > most || !count != !cache->entries[bin] || cache->entries[bin] % 16;
        cache->counts[bin] = count;
    }
    return odd;
}

static bool bin_follow(const struct follower *by, const struct cache *cache, size_t bin, struct tally *cached)
{
    uint64_t size = bin < SMALL_BINS ? bin * 16 + CHUNK_LEAST : 0, entry = cache->entries[bin];
    return list_follow(by, entry ? entry - 16 : 0, size, cache->counts[bin], true, cached);
}

/* Follows one bin, until its list is whole or the tries are used up. */
static bool bin_count(const struct follower *by, uint64_t chunk, struct cache *cache, size_t bins, size_t bin,
                      int tries, struct tally *cached)
{
    const struct tally before = *cached;
    const size_t live_before = by->live->cached_count;
    while (!bin_follow(by, cache, bin, cached)) {
        *cached = before;
        by->live->cached_count = live_before;
        if (!--tries)
            return false;
        process_forget();
        cache_read(by, chunk, bins, cache);
    }
    return true;
}

/* Counts what a chunk caches, if it is a cache: then at least one of its lists leads through chunks to its end. */
static void cache_count(const struct follower *by, uint64_t chunk, struct parts *parts)
{
    const size_t bins = by->glibc->layout->counts_slots ? CACHE_BINS_MOST : SMALL_BINS;
    struct cache cache;
    struct tally found = {0};
    size_t lost = 0;
    if (cache_read(by, chunk, bins, &cache) > ODD_BINS)
        return;
    for (size_t bin = 0; bin < bins; bin++)
        lost += !bin_count(by, chunk, &cache, bins, bin, found.chunks ? TRIES : FIRST_TRIES, &found);
    parts->cached.chunks += found.chunks;
    parts->cached.bytes += found.bytes;
    parts->cached.resident_bytes += found.resident_bytes;
    parts->has_changed |= found.chunks && lost;
}

static bool fastbins_count(const struct follower *by, uint64_t arena, struct tally *cached)
{
    uint64_t most = 0, first;
    for (size_t i = 0; i < by->heaps->count; i++)
        most += (by->heaps->list[i].at.end - by->heaps->list[i].at.begin) / CHUNK_LEAST;
    for (size_t bin = 0; bin < FASTBINS; bin++) {
        const struct tally before = *cached;
        const size_t live_before = by->live->cached_count;
        int tries = 0;
        while (!process_read(by->process, arena + FASTBINS_AT + bin * 8, &first, 8) ||
               !list_follow(by, first, bin * 16 + CHUNK_LEAST, most, false, cached)) {
            *cached = before;
            by->live->cached_count = live_before;
            if (++tries == TRIES)
                return false;
            process_forget();
        }
    }
    return true;
}

bool cached_count(const struct process *process, const struct glibc *glibc, const struct heaps *heaps,
                  const struct candidates *candidates, const struct pages *pages, struct parts *parts,
                  struct live *live)
{
    const struct follower by = {process, glibc, heaps, pages, live};
    process_forget();
    for (size_t i = 0; i < candidates->count; i++)
        cache_count(&by, candidates->list[i], parts);
    uint64_t arena = glibc->main_arena;
    for (size_t i = 0; glibc->layout->has_fastbins && i < heaps->arenas; i++)
        if (!fastbins_count(&by, arena, &parts->cached) || !glibc_next_arena(process, glibc, &arena))
            return false;
    return true;
}
