/* A process from its core: the mappings are lines that the caller has made from the core's notes and segments,
 * `BEGIN-END RIGHTS KIND OFFSET DUMPED_BYTES NAME`, with numbers in hexadecimal digits. RIGHTS end in s for what is
 * shared, KIND is file, stack or other, and [stack] is the name of the main thread's stack.
 *
 * A core does not say which pages were resident. The kernel dumps a mapping whole; pages that were never written are
 * holes of the file, until it is copied or piped. So a page counts as resident where it is dumped and no hole. In a
 * file without holes, and of stacks and files, it must have another byte than zero, too. */
#define _GNU_SOURCE
#include "heapwalk.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/types.h>
#include <unistd.h>

enum { BLOCK_PAGES = 256 };

static bool is_zero(const uint8_t *page)
{
    return !*page && !memcmp(page, page + 1, PAGE_BYTES - 1);
}

/* How many bytes from an offset on are a hole of the file, or data: whole pages of the mapping only. */
static uint64_t run_bytes(int file, uint64_t offset, uint64_t most, bool is_hole)
{
    off_t end = lseek(file, (off_t)offset, is_hole ? SEEK_DATA : SEEK_HOLE);
    uint64_t bytes = end < 0 ? (is_hole == (errno == ENXIO) ? most : 0) : (uint64_t)end - offset;
    if (!is_hole)
        bytes += PAGE_BYTES - 1;
    return (bytes < most ? bytes : most) / PAGE_BYTES * PAGE_BYTES;
}

/* Finds what each dumped page of a mapping is; false where the core ends before. */
static bool mapping_scan(const struct process *process, struct mapping *mapping)
{
    static uint8_t block[BLOCK_PAGES * PAGE_BYTES];
    const bool is_told_by_holes = process->is_sparse && mapping->kind == MAPPING_OTHER;
    uint64_t pages = (mapping->at.end - mapping->at.begin) / PAGE_BYTES, done = 0;
    mapping->flags = calloc(pages + 1, 1);
    memset(mapping->flags, PAGE_WRITTEN, mapping->dumped_bytes / PAGE_BYTES);
    while (done < mapping->dumped_bytes) {
        uint64_t offset = mapping->offset + done, left = mapping->dumped_bytes - done;
        uint64_t hole = run_bytes(process->memory, offset, left, true);
        if (hole) {
            done += hole;
            continue;
        }
        uint64_t data = run_bytes(process->memory, offset, left, false);
        size_t wanted = data < sizeof block ? data : sizeof block;
        if (!wanted || (!is_told_by_holes && pread(process->memory, block, wanted, (off_t)offset) != (ssize_t)wanted))
            return false;
        for (size_t at = 0; at < wanted; at += PAGE_BYTES)
            if (is_told_by_holes || !is_zero(block + at)) {
                mapping->flags[(done + at) / PAGE_BYTES] |= PAGE_RESIDENT;
                mapping->anonymous_bytes += PAGE_BYTES;
            }
        done += wanted;
    }
    return true;
}

static enum mapping_kind kind_of(const char *word)
{
    return !strcmp(word, "file") ? MAPPING_FILE : !strcmp(word, "stack") ? MAPPING_STACK : MAPPING_OTHER;
}

static bool is_whole(uint64_t number)
{
    return number % PAGE_BYTES == 0;
}

/* Takes one line; false for what is none. */
static bool line_take(struct process *process, const char *line)
{
    struct range at;
    uint64_t offset, dumped;
    char rights[5], kind[6];
    int name_at = 0;
    int found = sscanf(line, "%" SCNx64 "-%" SCNx64 " %4s %5s %" SCNx64 " %" SCNx64 " %n", &at.begin, &at.end, rights,
                       kind, &offset, &dumped, &name_at);
    if (found != 6 || !name_at || at.begin >= at.end || dumped > at.end - at.begin || !is_whole(at.begin) ||
        !is_whole(at.end) || !is_whole(dumped) ||
        (process->count && at.begin < process->mappings[process->count - 1].at.end))
        return false;
    struct mapping *mapping = process_add(process, (struct mapping){.at = at,
                                                                    .kind = kind_of(kind),
                                                                    .writable = rights[1] == 'w',
                                                                    .name = line + name_at,
                                                                    .inode = kind_of(kind) == MAPPING_FILE,
                                                                    .offset = offset,
                                                                    .dumped_bytes = dumped});
    if (!mapping_scan(process, mapping))
        return false;
    if (rights[3] == 's')
        mapping->anonymous_bytes = 0;
    process->rss_anon_bytes += mapping->anonymous_bytes;
    return true;
}

static bool mappings_read(struct process *process, int mappings)
{
    FILE *file = fdopen(dup(mappings), "r");
    char *line = NULL;
    size_t room = 0;
    bool complete = file != NULL;
    while (complete && getline(&line, &room, file) > 0) {
        line[strcspn(line, "\n")] = 0;
        complete = line_take(process, line);
    }
    free(line);
    if (file)
        fclose(file);
    return complete && process->count;
}

/* The mapping that has an address, or NULL. */
static const struct mapping *mapping_of(const struct process *process, uint64_t address)
{
    size_t low = 0, high = process->count;
    while (low < high) {
        size_t middle = (low + high) / 2;
        if (process->mappings[middle].at.end <= address)
            low = middle + 1;
        else
            high = middle;
    }
    return low < process->count && process->mappings[low].at.begin <= address ? &process->mappings[low] : NULL;
}

static bool status_keep(struct process *process)
{
    return process->count > 0;
}

static bool flags_read(const struct process *process, struct range at, uint8_t *flags)
{
    for (uint64_t page = at.begin; page < at.end;) {
        const struct mapping *mapping = mapping_of(process, page);
        uint64_t end = !mapping ? page + PAGE_BYTES : mapping->at.end < at.end ? mapping->at.end : at.end;
        if (mapping)
            memcpy(flags + (page - at.begin) / PAGE_BYTES, mapping->flags + (page - mapping->at.begin) / PAGE_BYTES,
                   (end - page) / PAGE_BYTES);
        page = end;
    }
    return true;
}

static bool page_is_there(const struct process *process, uint64_t address)
{
    const struct mapping *mapping = mapping_of(process, address);
    return mapping && address - mapping->at.begin < mapping->dumped_bytes;
}

static bool memory_copy(const struct process *process, uint64_t address, void *to, size_t size)
{
    for (size_t done = 0, part; done < size; done += part) {
        const struct mapping *mapping = mapping_of(process, address + done);
        uint64_t into = mapping ? address + done - mapping->at.begin : 0;
        const bool is_there = mapping && into < mapping->dumped_bytes;
        part = is_there ? mapping->dumped_bytes - into : PAGE_BYTES - (address + done) % PAGE_BYTES;
        part = part < size - done ? part : size - done;
        if (!is_there)
            memset((char *)to + done, 0, part);
        else if (pread(process->memory, (char *)to + done, part, (off_t)(mapping->offset + into)) != (ssize_t)part)
            return false;
    }
    return true;
}

static int libc_open(const struct process *process, const struct mapping *mapping)
{
    (void)mapping;
    return process->libc < 0 ? -1 : dup(process->libc);
}

static bool is_anonymous(const struct mapping *mapping)
{
    return mapping->writable && !mapping->inode && mapping->kind == MAPPING_OTHER;
}

/* Marks the mappings end to end, of no file, of which one has the last chunk of the main heap. A core has no names of
 * them. Where that heap is elsewhere, malloc's own record of where it began is not in them, so it is not divided. */
static void heap_mark(struct process *process, uint64_t top)
{
    const struct mapping *found = mapping_of(process, top);
    if (!found || !is_anonymous(found))
        return;
    size_t first = found - process->mappings, last = first;
    struct mapping *mappings = process->mappings;
    while (first && is_anonymous(&mappings[first - 1]) && mappings[first - 1].at.end == mappings[first].at.begin)
        first--;
    while (last + 1 < process->count && is_anonymous(&mappings[last + 1]) &&
           mappings[last].at.end == mappings[last + 1].at.begin)
        last++;
    for (size_t i = first; i <= last; i++)
        mappings[i].kind = MAPPING_HEAP;
}

static const struct source of_core = {.read_status = status_keep,
                                      .read_flags = flags_read,
                                      .has_page = page_is_there,
                                      .copy = memory_copy,
                                      .open_file = libc_open,
                                      .mark_heap = heap_mark};

bool core_open(struct process *process, pid_t pid, int core, int mappings, int libc)
{
    *process = (struct process){.source = &of_core, .pid = pid, .pagemap = -1, .memory = core, .libc = libc};
    struct stat status;
    process->is_sparse = !fstat(core, &status) && lseek(core, 0, SEEK_HOLE) < status.st_size;
    process_forget();
    if (mappings_read(process, mappings))
        return true;
    process->refusal = "the core cannot be read as its mappings say";
    process_close(process);
    return false;
}
