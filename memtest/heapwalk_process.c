/* The memory of a process, wherever it is read: which pages are resident, and what lies on those. */
#define _GNU_SOURCE
#include "heapwalk.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct mapping *process_add(struct process *process, struct mapping mapping)
{
    if (process->count == process->room) {
        process->room = process->room ? 2 * process->room : 256;
        process->mappings = realloc(process->mappings, process->room * sizeof *process->mappings);
    }
    mapping.name = strdup(mapping.name);
    process->has_meter |= strstr(mapping.name, "libheapmeter.so") != NULL;
    process->mappings[process->count] = mapping;
    return &process->mappings[process->count++];
}

void process_close(struct process *process)
{
    if (process->pagemap >= 0)
        close(process->pagemap);
    if (process->memory >= 0 && process->owns_memory)
        close(process->memory);
    for (size_t i = 0; i < process->count; i++) {
        free((char *)process->mappings[i].name);
        free(process->mappings[i].flags);
    }
    free(process->mappings);
    process->mappings = NULL;
    process->count = process->room = 0;
    process->pagemap = process->memory = -1;
}

bool pages_read(const struct process *process, struct range at, struct pages *pages)
{
    size_t count = (at.end - at.begin) / PAGE_BYTES;
    *pages = (struct pages){at, calloc(count + 1, 1), malloc((count + 1) * sizeof *pages->residents_before)};
    if (!process->source->read_flags(process, at, pages->flags)) {
        pages_free(pages);
        return false;
    }
    uint32_t residents = 0;
    for (size_t i = 0; i <= count; i++) {
        pages->residents_before[i] = residents;
        residents += i < count && pages->flags[i] & PAGE_RESIDENT;
    }
    return true;
}

void pages_free(struct pages *pages)
{
    free(pages->flags);
    free(pages->residents_before);
    *pages = (struct pages){0};
}

static uint64_t resident_before(const struct pages *pages, uint64_t address)
{
    uint64_t offset = address - pages->at.begin, number = offset / PAGE_BYTES, rest = offset % PAGE_BYTES;
    bool counts = rest && pages->flags[number] & PAGE_RESIDENT;
    return pages->residents_before[number] * PAGE_BYTES + (counts ? rest : 0);
}

uint64_t pages_resident(const struct pages *pages, uint64_t begin, uint64_t end)
{
    return resident_before(pages, end) - resident_before(pages, begin);
}

bool process_copy(const struct process *process, uint64_t address, void *to, size_t size)
{
    return process->source->copy(process, address, to, size);
}

/* Pages that lists lead to, each read once. */
enum { KEPT_PAGES = 4096 };
static struct {
    uint64_t address, round; /* of another round: it is forgotten */
    uint8_t content[PAGE_BYTES];
} kept[KEPT_PAGES];
static uint64_t kept_round = 1;

void process_forget(void)
{
    kept_round++;
}

static const uint8_t *page_read(const struct process *process, uint64_t address)
{
    size_t slot = address / PAGE_BYTES % KEPT_PAGES;
    if (kept[slot].address == address && kept[slot].round == kept_round)
        return kept[slot].content;
    if (!process->source->has_page(process, address))
        return NULL;
    kept[slot].round = 0;
    if (!process_copy(process, address, kept[slot].content, PAGE_BYTES))
        return NULL;
    kept[slot].address = address;
    kept[slot].round = kept_round;
    return kept[slot].content;
}

bool process_read(const struct process *process, uint64_t address, void *to, size_t size)
{
    for (size_t done = 0; done < size;) {
        uint64_t offset = (address + done) % PAGE_BYTES;
        size_t part = PAGE_BYTES - offset < size - done ? PAGE_BYTES - offset : size - done;
        const uint8_t *page = page_read(process, address + done - offset);
        if (!page)
            return false;
        memcpy((char *)to + done, page + offset, part);
        done += part;
    }
    return true;
}
