/* Chunks: one after the other in a heap, and those that have a mapping of their own. */
#define _GNU_SOURCE
#include "heapwalk.h"

#include <stdlib.h>
#include <string.h>

/* The heap meter's header of a block: memtest/heapmeter_block.h. */
#define METER_MAGIC UINT64_C(0xb70c0) /* ends in the generation of the block */
#define METER_GENERATIONS UINT64_C(63)
#define METER_SIZE_BITS 44
#define METER_LEAD_SHIFT 26 /* in the last of its four numbers */

#define LARGE_MAPPING (UINT64_C(1) << 28)

enum { SMALL_WINDOW_PAGES = 8 };

/* The part of a heap that was copied last: pages that are there, up to the first that is not. */
struct window {
    const struct process *process;
    const struct pages *pages;
    size_t most; /* pages at a time */
    uint64_t begin, end;
    uint8_t content[COPY_PAGES_MOST * PAGE_BYTES];
};

/* True where pages were copied. */
static bool window_move(struct window *window, uint64_t address)
{
    const struct pages *pages = window->pages;
    size_t number = (address - pages->at.begin) / PAGE_BYTES, count = 0;
    size_t pages_count = (pages->at.end - pages->at.begin) / PAGE_BYTES;
    while (number + count < pages_count && count < window->most && pages->flags[number + count] & PAGE_WRITTEN)
        count++;
    window->begin = pages->at.begin + number * PAGE_BYTES;
    window->end = window->begin + count * PAGE_BYTES;
    if (count && process_copy(window->process, window->begin, window->content, count * PAGE_BYTES))
        return true;
    window->end = window->begin;
    return false;
}

static bool window_word(struct window *window, uint64_t address, uint64_t *word)
{
    if (address < window->pages->at.begin || address + 8 > window->pages->at.end)
        return false;
    if ((address < window->begin || address + 8 > window->end) && !window_move(window, address))
        return false;
    memcpy(word, window->content + (address - window->begin), 8);
    return true;
}

/* The block whose header the meter wrote `lead` bytes into a chunk's room, less the header. */
static bool is_block(struct window *window, uint64_t room, uint64_t lead, uint64_t chunk_end, uint64_t *size)
{
    uint64_t header[2], at = room + lead - METER_HEADER;
    if (!window_word(window, at, &header[0]) || ((header[0] >> METER_SIZE_BITS) & ~METER_GENERATIONS) != METER_MAGIC ||
        !window_word(window, at + 8, &header[1]) ||
        header[1] >> (32 + METER_LEAD_SHIFT) != (uint64_t)__builtin_ctzll(lead))
        return false;
    *size = header[0] & ((UINT64_C(1) << METER_SIZE_BITS) - 1);
    return room + lead + *size <= chunk_end + 8; /* the last 8 bytes of room are the next chunk's first */
}

/* Counts the block that a program asked the meter for, in a chunk in use. Aligned ones begin further in; with a mapping
 * of their own they are not at the chunk's beginning either. */
static void block_count(struct window *window, uint64_t chunk, uint64_t chunk_end, bool is_mmapped,
                        struct tally *requested)
{
    uint64_t room = chunk + 16, size, lead = METER_HEADER;
    bool found = is_block(window, room, lead, chunk_end, &size);
    while (!found && (is_mmapped || (chunk + 16) % (2 * lead) == 0) && room + 2 * lead < chunk_end) {
        lead *= 2;
        room = (chunk + 16 + lead - 1) & ~(lead - 1);
        found = is_block(window, room, lead, chunk_end, &size);
    }
    if (!found)
        return;
    uint64_t end = room + lead + size, pages_end = window->pages->at.end;
    requested->chunks++;
    requested->bytes += size;
    requested->resident_bytes += pages_resident(window->pages, room + lead, end < pages_end ? end : pages_end);
}

static void tally_add(struct tally *tally, const struct pages *pages, uint64_t begin, uint64_t end)
{
    tally->chunks++;
    tally->bytes += end - begin;
    tally->resident_bytes += pages_resident(pages, begin, end);
}

static void tally_join(struct tally *tally, struct tally other)
{
    tally->chunks += other.chunks;
    tally->bytes += other.bytes;
    tally->resident_bytes += other.resident_bytes;
}

static void candidate_add(struct candidates *candidates, uint64_t chunk)
{
    if (candidates->count == candidates->room) {
        candidates->room = candidates->room ? 2 * candidates->room : 64;
        candidates->list = realloc(candidates->list, candidates->room * sizeof *candidates->list);
    }
    candidates->list[candidates->count++] = chunk;
}

/* A walk through a heap that the process may change meanwhile. What was counted since the last window was copied can be
 * taken back, to copy that window again: chunks that were split or joined while it was copied lead nowhere. */
enum { AGAIN_MOST = 50, FREED_MOST = COPY_PAGES_MOST * 4096 / 32 };
static struct walk {
    struct window window;
    struct parts *parts;
    struct candidates *candidates;
    struct live *live;
    uint64_t begin; /* the first chunk of the window, and what was counted before it */
    struct parts parts_before;
    size_t candidates_before, live_before;
    uint64_t freed[FREED_MOST]; /* sizes since then */
    size_t freed_count;
    int again;
} walk;

static void walk_keep(uint64_t chunk)
{
    for (size_t i = 0; i < walk.freed_count; i++)
        sizes_add(&walk.parts->free_sizes, walk.freed[i]);
    walk.begin = chunk;
    walk.parts_before = *walk.parts;
    walk.candidates_before = walk.candidates->count;
    walk.live_before = walk.live->used_count;
    walk.freed_count = walk.again = 0;
    walk.window.most = COPY_PAGES_MOST;
}

static bool walk_again(void)
{
    *walk.parts = walk.parts_before;
    walk.candidates->count = walk.candidates_before;
    walk.live->used_count = walk.live_before;
    walk.freed_count = 0;
    walk.window.end = walk.window.begin;
    walk.window.most = SMALL_WINDOW_PAGES; /* copied sooner than the process changes it */
    return walk.again++ < AGAIN_MOST;
}

/* Returns the marks of a chunk in use; none where its beginning cannot be read. */
static uint64_t marks_read(uint64_t chunk, uint64_t size)
{
    const struct marks *marks = &walk.live->marks;
    uint64_t words[MARK_WORDS] = {0};
    if (!marks_may(marks, size))
        return 0;
    for (size_t i = 0; i < MARK_WORDS && (i + 3) * 8 + marks->lead <= size; i++)
        if (!window_word(&walk.window, chunk + 16 + marks->lead + i * 8, &words[i]))
            return 0;
    return marks_of(marks, size, words);
}

enum step { STEP_ON, STEP_END, STEP_NOWHERE };

/* Counts what is behind the last chunk of a heap: the top, or what malloc puts where a heap is full. */
static enum step last_count(struct glibc *glibc, const struct heap *heap, uint64_t chunk, uint64_t size)
{
    const struct pages *pages = walk.window.pages;
    if (heap->top && size >= CHUNK_LEAST) {
        tally_add(&walk.parts->free, pages, chunk, chunk + size);
        walk.parts->mapping_bytes[MAPPING_OTHER] += pages_resident(pages, chunk + size, heap->at.end);
        return STEP_END;
    }
    walk.parts->own_bytes += pages_resident(pages, chunk, heap->at.end);
    if (heap->is_brk && size == CHUNK_LEAST / 2)
        glibc->doubt = "it moves the end of the brk area itself too, between malloc's chunks";
    return heap->top ? STEP_NOWHERE : STEP_END;
}

/* Counts a chunk, and moves on to the next. */
static enum step chunk_count(struct glibc *glibc, const struct heap *heap, uint64_t *chunk)
{
    const struct process *process = walk.window.process;
    const struct pages *pages = walk.window.pages;
    struct tally requested = {0};
    uint64_t head, next_head, marks = 0;
    if (!window_word(&walk.window, *chunk + 8, &head))
        return STEP_NOWHERE;
    uint64_t size = head & ~CHUNK_FLAGS, end = *chunk + size, room = heap->at.end - *chunk;
    if (size > room && heap->top && *chunk > heap->top && size % 16 == 0) { /* the heap has grown meanwhile */
        tally_add(&walk.parts->used, pages, *chunk, heap->at.end);
        walk.parts->has_changed = true;
        return STEP_END;
    }
    if (size > room || size % 16)
        return STEP_NOWHERE;
    if (*chunk == heap->top || size < CHUNK_LEAST || size == room)
        return last_count(glibc, heap, *chunk, size);
    if (process->has_meter)
        block_count(&walk.window, *chunk, end, false, &requested);
    if (walk.live->is_wanted)
        marks = marks_read(*chunk, size);
    if (!window_word(&walk.window, end + 8, &next_head))
        return STEP_NOWHERE;
    if (next_head & CHUNK_BEFORE_IN_USE) {
        tally_add(&walk.parts->used, pages, *chunk, end);
        if (walk.live->is_wanted)
            live_add(walk.live, *chunk, size, pages_resident(pages, *chunk, end), marks);
        tally_join(&walk.parts->requested, requested);
        if (cached_is_candidate(glibc, size))
            candidate_add(walk.candidates, *chunk);
    } else {
        tally_add(&walk.parts->free, pages, *chunk, end);
        walk.freed[walk.freed_count++] = size;
    }
    *chunk = end;
    return STEP_ON;
}

/* False where the chunks do not lead to the end of the heap. */
bool chunks_walk(const struct process *process, struct glibc *glibc, const struct heap *heap, const struct pages *pages,
                 struct parts *parts, struct candidates *candidates, struct live *live)
{
    uint64_t chunk = heap->first;
    uint64_t *before = heap->is_brk ? &parts->mapping_bytes[MAPPING_OTHER] : &parts->own_bytes;
    *before += pages_resident(pages, heap->at.begin, heap->first);
    walk.window.process = process;
    walk.window.pages = pages;
    walk.window.begin = walk.window.end = 0;
    walk.parts = parts;
    walk.candidates = candidates;
    walk.live = live;
    walk.freed_count = 0;
    walk_keep(chunk);
    for (;;) {
        uint64_t window = walk.window.begin;
        enum step step = chunk_count(glibc, heap, &chunk);
        if (step == STEP_ON) {
            if (walk.window.begin != window || walk.freed_count == FREED_MOST)
                walk_keep(chunk);
        } else if (step == STEP_END) {
            walk_keep(chunk);
            return true;
        } else if (!walk_again()) {
            return false;
        } else {
            chunk = walk.begin;
        }
    }
}

/* How long the mapping is of a chunk that begins at an address; 0 where none does, or the page is not there. Before
 * glibc 2.43 sizes are whole pages. */
static uint64_t mmapped_size(struct window *window, uint64_t address, uint64_t room)
{
    uint64_t head[2];
    if (!window_word(window, address, &head[0]) || !window_word(window, address + 8, &head[1]))
        return 0;
    uint64_t before = head[0] & ~UINT64_C(1), size = head[1] & ~CHUNK_FLAGS, total = before + size;
    if ((head[1] & CHUNK_FLAGS) != CHUNK_MMAPPED || before % 16 || size < CHUNK_LEAST || size > room || before > room)
        return 0;
    total = total % PAGE_BYTES == PAGE_BYTES - 16 ? total + 16 : total;
    return total % PAGE_BYTES || total > room ? 0 : total;
}

static void mmapped_block_count(const struct process *process, const struct pages *pages, uint64_t chunk, uint64_t end,
                                struct tally *requested)
{
    static struct window window;
    window.process = process;
    window.pages = pages;
    window.most = SMALL_WINDOW_PAGES;
    window.begin = window.end = 0;
    block_count(&window, chunk, end, true, requested);
}

static const struct heap *heap_of(const struct heaps *heaps, uint64_t address)
{
    for (size_t i = 1; i < heaps->count; i++)
        if (heaps->list[i].at.begin <= address && address < heaps->list[i].at.end)
            return &heaps->list[i];
    return NULL;
}

static void mmapped_live_add(const struct process *process, const struct pages *pages, uint64_t chunk, uint64_t size,
                             struct live *live)
{
    uint64_t words[MARK_WORDS] = {0}, marks = UINT64_C(1) << MARK_MMAPPED;
    if (live->marks.count && process_copy(process, chunk + 16 + live->marks.lead, words, sizeof words))
        marks |= marks_of_mmapped(&live->marks, size, words);
    live_add(live, chunk, size, pages_resident(pages, chunk, chunk + size), marks);
}

/* Counts the chunks in one mapping, and what of it is resident besides and in no heap. */
static bool mapping_divide(const struct process *process, const struct mapping *mapping, const struct heaps *heaps,
                           struct parts *parts, struct live *live)
{
    struct pages pages;
    if (!pages_read(process, mapping->at, &pages))
        return false;
    static struct window window;
    window.process = process;
    window.pages = &pages;
    window.most = SMALL_WINDOW_PAGES;
    window.begin = window.end = 0;
    for (uint64_t at = mapping->at.begin, size; at < mapping->at.end; at += size) {
        const struct heap *heap = heap_of(heaps, at);
        if (heap) {
            size = (heap->at.end < mapping->at.end ? heap->at.end : mapping->at.end) - at;
            continue;
        }
        size = mmapped_size(&window, at, mapping->at.end - at);
        if (size) {
            tally_add(&parts->mmapped, &pages, at, at + size);
            if (live->is_wanted)
                mmapped_live_add(process, &pages, at, size, live);
            if (process->has_meter)
                mmapped_block_count(process, &pages, at, at + size, &parts->mmapped_requested);
        } else {
            size = PAGE_BYTES;
            parts->mapping_bytes[mapping->kind] += pages_resident(&pages, at, at + size);
        }
    }
    pages_free(&pages);
    return true;
}

static bool has_heap(const struct heaps *heaps, struct range at)
{
    for (size_t i = 1; i < heaps->count; i++)
        if (heaps->list[i].at.begin < at.end && at.begin < heaps->list[i].at.end)
            return true;
    return false;
}

/* Counts what a mapping outside of the brk area has; false where it cannot be read. */
static bool mapping_count(const struct process *process, const struct glibc *glibc, const struct mapping *mapping,
                          const struct heaps *heaps, struct parts *parts, struct live *live)
{
    bool can_have =
        mapping->writable && !mapping->inode && mapping->anonymous_bytes && strcmp(mapping->name, "[stack]");
    if (can_have && (parts->mmapped.chunks < glibc->mmapped_chunks || has_heap(heaps, mapping->at)))
        return mapping_divide(process, mapping, heaps, parts, live);
    parts->mapping_bytes[mapping->kind] += mapping->anonymous_bytes;
    return true;
}

/* What is found is not exact where malloc counts another number. Its count of bytes is no help: in glibc 2.43 each
 * realloc of such a chunk adds 16. Heaps of runtimes, which are large, come last, as then all chunks may be found.
 * False where the process is gone. */
bool chunks_mmapped(const struct process *process, const struct glibc *glibc, const struct heaps *heaps,
                    struct parts *parts, struct live *live)
{
    for (int is_last = 0; is_last < 2; is_last++)
        for (size_t i = 0; i < process->count; i++) {
            const struct mapping *mapping = &process->mappings[i];
            bool is_large = mapping->at.end - mapping->at.begin > LARGE_MAPPING;
            if (mapping->kind != MAPPING_HEAP && is_large == is_last &&
                !mapping_count(process, glibc, mapping, heaps, parts, live))
                return false;
        }
    parts->is_exact = parts->mmapped.chunks == glibc->mmapped_chunks && !parts->has_changed;
    return true;
}
