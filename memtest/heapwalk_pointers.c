/* Pointers from block to block: in which chunks in use there are addresses where others begin. */
#define _GNU_SOURCE
#include "heapwalk.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { NEAR_PAGES = 3, DISTANCES_MOST = 64 }; /* pages between chunks are copied too, if they are so few */

/* What is asked, and what is found. */
struct search {
    const struct process *process;
    const struct live *live;
    struct question question;
    uint32_t *chunks, *distances;
    uint64_t *words; /* at the distances */
    struct pointer *pointers;
    size_t count, room;
    uint64_t begin, end; /* of what is copied */
    uint8_t content[COPY_PAGES_MOST * PAGE_BYTES];
    bool has_ended; /* the process */
};

static bool read_all(int file, void *to, size_t size)
{
    for (char *at = to; size;) {
        ssize_t done = read(file, at, size);
        if (done < 0 && errno == EINTR)
            continue;
        if (done <= 0)
            return false;
        at += done;
        size -= done;
    }
    return true;
}

/* The block in a chunk. Its last 8 bytes are the first of the next chunk, which one with a mapping of its own has not.
 */
static struct range block_of(const struct search *search, uint32_t number)
{
    const struct live_chunk *chunk = &search->live->used[number];
    uint64_t address = live_address(chunk), size = (uint64_t)chunk->units * LIVE_UNIT_BYTES;
    bool is_mmapped = chunk->place >> LIVE_ADDRESS_BITS & 1u << MARK_MMAPPED;
    struct range found = {address + 16 + search->question.lead, address + size + (is_mmapped ? 0 : 8)};
    found.end = found.end < found.begin ? found.begin : found.end;
    return found;
}

/* Copies what there is from an address in the block of the `asked`th chunk on: of that, and of those that are near. */
static bool content_move(struct search *search, uint64_t address, size_t asked)
{
    const uint64_t most = COPY_PAGES_MOST * PAGE_BYTES, near = NEAR_PAGES * PAGE_BYTES;
    search->begin = address & ~(PAGE_BYTES - 1);
    uint64_t end = block_of(search, search->chunks[asked]).end;
    while (++asked < search->question.chunks) {
        struct range next = block_of(search, search->chunks[asked]);
        if (next.begin > end + near || next.end > search->begin + most)
            break;
        end = next.end;
    }
    end = (end + PAGE_BYTES - 1) & ~(PAGE_BYTES - 1);
    search->end = end < search->begin + most ? end : search->begin + most;
    search->has_ended = !process_copy(search->process, search->begin, search->content, search->end - search->begin);
    return !search->has_ended;
}

/* The number of the chunk at an address, or of none. Most are near to the one that leads there. */
static uint32_t chunk_find(const struct live *live, uint64_t address, size_t from)
{
    size_t low = from, high = from, step = 1;
    while (low && live_address(&live->used[low]) > address) {
        high = low;
        low = low > step ? low - step : 0;
        step *= 2;
    }
    while (high < live->used_count && live_address(&live->used[high]) < address) {
        low = high;
        high = high + step;
        step *= 2;
    }
    high = high < live->used_count ? high + 1 : live->used_count;
    while (low < high) {
        size_t middle = (low + high) / 2;
        if (live_address(&live->used[middle]) < address)
            low = middle + 1;
        else
            high = middle;
    }
    return low < live->used_count && live_address(&live->used[low]) == address ? (uint32_t)low : UINT32_MAX;
}

static bool pointer_add(struct search *search, struct pointer pointer)
{
    if (search->count == search->room) {
        search->room = search->room ? 2 * search->room : 4096;
        struct pointer *more = realloc(search->pointers, search->room * sizeof *more);
        if (!more)
            return false;
        search->pointers = more;
    }
    search->pointers[search->count++] = pointer;
    return true;
}

/* Takes the words of a block that are copied, from an address in it to another. */
static bool words_take(struct search *search, uint32_t number, uint64_t block, uint64_t at, uint64_t end)
{
    const struct live *live = search->live;
    const uint64_t before = 16 + search->question.lead;
    const uint64_t lowest = live_address(&live->used[0]) + before;
    const uint64_t width = live_address(&live->used[live->used_count - 1]) + before - lowest;
    for (; at + 8 <= end; at += 8) {
        uint64_t word;
        memcpy(&word, search->content + (at - search->begin), 8);
        if (word - lowest > width || (word - lowest) % 16)
            continue;
        uint32_t to = chunk_find(live, word - before, number);
        if (to != UINT32_MAX && to != number && !pointer_add(search, (struct pointer){number, to, (at - block) / 8}))
            return false;
    }
    return true;
}

/* As words_take(), of the distances that are asked for. */
static void distances_take(struct search *search, size_t asked, uint64_t block, uint64_t at, uint64_t end)
{
    for (size_t i = 0; i < search->question.distances; i++) {
        uint64_t place = block + search->distances[i];
        if (at <= place && place + 8 <= end)
            memcpy(&search->words[i * search->question.chunks + asked], search->content + (place - search->begin), 8);
    }
}

static bool chunk_search(struct search *search, size_t asked)
{
    uint32_t number = search->chunks[asked];
    const struct range block = block_of(search, number);
    for (uint64_t at = block.begin, end; at + 8 <= block.end; at = end) {
        if ((at < search->begin || at + 8 > search->end) && !content_move(search, at, asked))
            return false;
        end = at + (search->end - at < block.end - at ? search->end - at : block.end - at) / 8 * 8;
        distances_take(search, asked, block.begin, at, end);
        if (search->question.wants_pointers && !words_take(search, number, block.begin, at, end))
            return false;
    }
    return true;
}

static bool is_in_order(const struct search *search)
{
    for (size_t i = 0; i < search->question.chunks; i++)
        if (search->chunks[i] >= search->live->used_count || (i && search->chunks[i] <= search->chunks[i - 1]))
            return false;
    return true;
}

static bool question_answer(struct search *search, int in, int out)
{
    const struct question *question = &search->question;
    const size_t chunks = question->chunks, distances = question->distances;
    search->chunks = malloc((chunks + 1) * sizeof *search->chunks);
    search->distances = malloc((distances + 1) * sizeof *search->distances);
    search->words = calloc(chunks * distances + 1, sizeof *search->words);
    if (distances > DISTANCES_MOST || !search->chunks || !search->distances || !search->words ||
        !read_all(in, search->chunks, chunks * sizeof *search->chunks) ||
        !read_all(in, search->distances, distances * sizeof *search->distances) || !is_in_order(search))
        return false;
    search->begin = search->end = 0;
    search->count = 0;
    for (size_t i = 0; i < chunks; i++)
        if (!chunk_search(search, i))
            return false;
    uint64_t count = search->count;
    return write_all(out, &count, sizeof count) && write_all(out, search->pointers, count * sizeof *search->pointers) &&
           write_all(out, search->words, chunks * distances * sizeof *search->words);
}

enum answered pointers_answer(const struct process *process, const struct live *live, int in, int out)
{
    static struct search search;
    search.process = process;
    search.live = live;
    bool is_answered = true;
    while (is_answered && read_all(in, &search.question, sizeof search.question)) {
        is_answered = question_answer(&search, in, out);
        free(search.chunks);
        free(search.distances);
        free(search.words);
    }
    free(search.pointers);
    return is_answered ? ALL_ANSWERED : search.has_ended ? PROCESS_ENDED : NOT_ANSWERED;
}
