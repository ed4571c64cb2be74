/* Malloc's own structures, found without symbols: the main arena is the one place in the C library's data whose last
 * bin leads to itself. Where they are in memory depends on glibc's version; of a version that is not known, nothing is
 * guessed. */
#define _GNU_SOURCE
#include "heapwalk.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

/* Tried on 2.31, 2.36, 2.41 and 2.43; those between have the same structures in their source. */
static const struct layout layouts[] = {
    {31, 31, true, false, false, 2200, 32, 32, 56},
    {32, 34, true, true, false, 2200, 32, 32, 56},
    {35, 41, true, true, false, 2200, 48, 36, 80},
    {43, 43, false, true, true, 2112, 48, 36, 88},
};
enum {
    BINS = 254,      /* a pair of links for each bin */
    AFTER_BINS = 16, /* a bitmap, and then the next arena */
    NEXT_BACK = 40,  /* from the end of the structure */
    ARENAS_MOST = 8192,
    DEVELOPMENT = 9000, /* 2.43.9000 comes before 2.44 */
};
#define ELSEWHERE "its main heap is not all in [heap]"
#define GROWTH_MOST (UINT64_C(1) << 32)
#define BRK_MOST (UINT64_C(1) << 44)
#define HEAP_MOST UINT64_C(0x4000000)

static uint64_t bins_at(const struct layout *layout)
{
    return layout->arena_bytes - NEXT_BACK - AFTER_BINS - BINS * 8;
}

static bool is_library(const struct mapping *mapping, const char *prefix)
{
    const char *base = strrchr(mapping->name, '/');
    return base && !strncmp(base + 1, prefix, strlen(prefix));
}

static bool is_libc(const struct mapping *mapping)
{
    return mapping->inode && (is_library(mapping, "libc.so.6") || is_library(mapping, "libc-2."));
}

static const char *why_no_libc(const struct process *process)
{
    bool has_loader = false;
    for (size_t i = 0; i < process->count; i++) {
        const struct mapping *mapping = &process->mappings[i];
        const char *base = strrchr(mapping->name, '/');
        bool is_libc = base && !strcmp(base, "/libc.so");
        if (is_library(mapping, "ld-musl") || is_library(mapping, "libc.musl") ||
            (is_libc && strstr(mapping->name, "linux-musl/")))
            return "its C library is musl, not glibc";
        if (is_libc)
            return "its C library is not glibc";
        has_loader |= is_library(&process->mappings[i], "ld-linux");
    }
    return has_loader ? "it has not loaded glibc's libc.so.6" : "it is statically linked";
}

static bool version_read(const struct process *process, const struct mapping *mapping, struct glibc *glibc)
{
    static const char banner[] = "GNU C Library (", word[] = " release version ";
    struct stat status;
    int file = process->source->open_file(process, mapping);
    if (file < 0 || fstat(file, &status)) {
        if (file >= 0)
            close(file);
        return false;
    }
    char *content = mmap(NULL, status.st_size, PROT_READ, MAP_PRIVATE, file, 0);
    close(file);
    if (content == MAP_FAILED)
        return false;
    const char *end = content + status.st_size;
    const char *at = memmem(content, status.st_size, banner, sizeof banner - 1);
    if (at)
        at = memmem(at, end - at < 200 ? end - at : 200, word, sizeof word - 1);
    if (at) {
        size_t length = strspn(at + sizeof word - 1, "0123456789.");
        snprintf(glibc->version, sizeof glibc->version, "%.*s", (int)length, at + sizeof word - 1);
        while (*glibc->version && glibc->version[strlen(glibc->version) - 1] == '.')
            glibc->version[strlen(glibc->version) - 1] = 0;
    }
    munmap(content, status.st_size);
    unsigned patch = 0;
    int found = sscanf(glibc->version, "2.%u.%u", &glibc->minor, &patch);
    if (patch >= DEVELOPMENT)
        glibc->minor = 0; /* between two releases, with the structures of neither */
    return found >= 1;
}

static uint64_t word_at(const uint8_t *from)
{
    uint64_t word;
    memcpy(&word, from, sizeof word);
    return word;
}

static uint32_t number_at(const uint8_t *from)
{
    uint32_t number;
    memcpy(&number, from, sizeof number);
    return number;
}

/* Whether an arena may begin here. Of all bins' pairs of links the last, which is never used, leads to itself; others
 * do too while they are empty, so it is the last such place. */
static bool is_arena(const struct layout *layout, const uint8_t *content, uint64_t address)
{
    uint64_t last = bins_at(layout) + (BINS - 2) * 8;
    uint64_t itself = address + last - 16;
    return word_at(content + last) == itself && word_at(content + last + 8) == itself;
}

enum { PAR_BEFORE = 112, PAR_AFTER = 32 }; /* bytes of struct malloc_par around sbrk_base */

/* Whether sbrk_base is here: it is in the brk area, and its neighbours agree with each other. */
static bool is_par(const struct layout *layout, const uint8_t *at, struct range heap)
{
    uint64_t base = word_at(at), cache_bins = word_at(at + 8), cache_count = word_at(at + 24);
    uint64_t mmapped_bytes = word_at(at - 16), most_bytes = word_at(at - 8);
    uint64_t threshold = word_at(at - layout->threshold_back);
    uint32_t mmaps = number_at(at - layout->mmaps_back), most_mmaps = number_at(at - layout->mmaps_back + 8);
    return heap.begin <= base && base < heap.end && cache_bins && cache_bins <= CACHE_BINS_MOST &&
           cache_count <= UINT16_MAX && mmapped_bytes <= most_bytes && mmapped_bytes % 16 == 0 && mmaps <= most_mmaps &&
           threshold && threshold < UINT64_C(1) << 40;
}

static struct range heap_range(const struct process *process)
{
    struct range heap = {0, 0};
    for (size_t i = 0; i < process->count; i++)
        if (process->mappings[i].kind == MAPPING_HEAP) {
            if (!heap.end)
                heap.begin = process->mappings[i].at.begin;
            heap.end = process->mappings[i].at.end; /* after a fork it can be several mappings, end to end */
        }
    return heap;
}

/* Finds both structures in one mapping of data: a library that is loaded into a namespace of its own has both, too. */
static bool structures_find(struct process *process, struct glibc *glibc, struct range data)
{
    const struct layout *layout = glibc->layout;
    size_t size = data.end - data.begin;
    uint8_t *content = calloc(1, size); /* a page that is not there has no arena on it */
    uint64_t arena = 0, base = 0;
    for (size_t offset = 0; offset < size; offset += PAGE_BYTES)
        process_read(process, data.begin + offset, content + offset, PAGE_BYTES);
    for (size_t at = 0; at + layout->arena_bytes <= size; at += 8)
        if (is_arena(layout, content + at, data.begin + at))
            arena = data.begin + at;
    if (arena)
        process->source->mark_heap(process, word_at(content + arena - data.begin + bins_at(layout) - 16));
    const struct range heap = heap_range(process);
    for (size_t at = PAR_BEFORE; at + PAR_AFTER <= size; at += 8) /* of places that look so, the lowest address is it */
        if (is_par(layout, content + at, heap) && (!base || word_at(content + at) < base)) {
            base = word_at(content + at);
            glibc->mmapped_chunks = number_at(content + at - layout->mmaps_back);
            glibc->cache_count = word_at(content + at + 24);
        }
    free(content);
    glibc->main_arena = arena;
    glibc->sbrk_base = base;
    return arena && base;
}

/* Allocators that take malloc's place, by a part of their libraries' names; else `otherwise`. */
static const char *name_allocator(const struct process *process, const char *otherwise)
{
    static const struct {
        const char *name, *why;
    } known[] = {{"jemalloc", "its allocator is jemalloc"},
                 {"mimalloc", "its allocator is mimalloc"},
                 {"tcmalloc", "its allocator is tcmalloc"},
                 {"snmalloc", "its allocator is snmalloc"}};
    for (size_t i = 0; i < process->count; i++)
        for (size_t k = 0; k < sizeof known / sizeof *known; k++)
            if (process->mappings[i].inode && strstr(process->mappings[i].name, known[k].name))
                return known[k].why;
    return otherwise;
}

void glibc_find(struct process *process, struct glibc *glibc)
{
    const struct mapping *libc = NULL;
    *glibc = (struct glibc){0};
    for (size_t i = 0; i < process->count && !libc; i++)
        if (is_libc(&process->mappings[i]))
            libc = &process->mappings[i];
    if (process->is_32_bit) {
        glibc->unknown = "it is a 32-bit program";
    } else if (!libc) {
        glibc->unknown = why_no_libc(process);
    } else if (!version_read(process, libc, glibc)) {
        glibc->unknown = "the file of its C library, which says the version, is gone";
    } else {
        for (size_t i = 0; i < sizeof layouts / sizeof *layouts; i++)
            if (layouts[i].from <= glibc->minor && glibc->minor <= layouts[i].to)
                glibc->layout = &layouts[i];
        if (!glibc->layout)
            glibc->unknown = "malloc's structures are not known of its version of glibc";
    }
    if (glibc->unknown)
        return;
    bool is_used = false;
    for (size_t i = 0; i < process->count; i++)
        if (process->mappings[i].writable && is_libc(&process->mappings[i])) {
            if (structures_find(process, glibc, process->mappings[i].at))
                return;
            is_used |= glibc->main_arena != 0;
        }
    glibc->unknown = name_allocator(process, is_used ? ELSEWHERE : "it has not used glibc's malloc");
}

/* Adds the heaps of an arena other than the main one: the last has the top chunk, and each leads to the one before. */
static bool arena_heaps(const struct process *process, struct glibc *glibc, uint64_t arena, struct heaps *heaps)
{
    const struct layout *layout = glibc->layout;
    uint64_t top, info[4];
    uint64_t own_heap = arena & ~(HEAP_MOST - 1);
    if (!process_read(process, arena + bins_at(layout) - 16, &top, 8))
        return false;
    for (uint64_t at = top & ~(HEAP_MOST - 1); at; at = info[1]) {
        if (heaps->count >= ARENAS_MOST || !process_read(process, at, info, sizeof info) || info[0] != arena ||
            info[2] > HEAP_MOST || info[2] % PAGE_BYTES || info[3] < info[2] || info[3] > HEAP_MOST)
            return false;
        uint64_t before = layout->heap_info_bytes + (at == own_heap ? layout->arena_bytes : 0);
        bool has_top = at == (top & ~(HEAP_MOST - 1));
        heaps->list = realloc(heaps->list, (heaps->count + 1) * sizeof *heaps->list);
        heaps->list[heaps->count++] =
            (struct heap){{at, at + info[2]}, (at + before + 15) & ~UINT64_C(15), has_top ? top : 0, false};
        if (!info[1])
            return at == own_heap;
    }
    return false;
}

bool glibc_heaps(const struct process *process, struct glibc *glibc, struct heaps *heaps)
{
    const struct layout *layout = glibc->layout;
    struct range brk = heap_range(process);
    uint64_t arena = glibc->main_arena, top, head;
    *heaps = (struct heaps){0};
    if (!process_read(process, arena + bins_at(layout) - 16, &top, 8))
        return false;
    if (top >= brk.end && top - brk.end < GROWTH_MOST && process_read(process, top + 8, &head, 8))
        brk.end = (top + (head & ~CHUNK_FLAGS) + PAGE_BYTES - 1) & ~(PAGE_BYTES - 1); /* it has grown meanwhile */
    if (top < brk.begin || top >= brk.end || brk.end - brk.begin > BRK_MOST) {
        glibc->doubt = name_allocator(process, ELSEWHERE);
        return false;
    }
    heaps->list = malloc(sizeof *heaps->list);
    heaps->list[0] = (struct heap){brk, (glibc->sbrk_base + 15) & ~UINT64_C(15), top, true};
    heaps->count = heaps->arenas = 1;
    for (;;) {
        if (!glibc_next_arena(process, glibc, &arena) || heaps->arenas > ARENAS_MOST)
            return false;
        if (arena == glibc->main_arena)
            return true;
        if (!arena_heaps(process, glibc, arena, heaps))
            return false;
        heaps->arenas++;
    }
}

bool glibc_next_arena(const struct process *process, const struct glibc *glibc, uint64_t *arena)
{
    return process_read(process, *arena + glibc->layout->arena_bytes - NEXT_BACK, arena, 8);
}
