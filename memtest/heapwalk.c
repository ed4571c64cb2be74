/* heapwalk [--chunks FILE] PID...: divides RssAnon of each process, an object of JSON a line. docs/reference/records.md
 * has the keys. FILE, an open file's number, gets the chunks in use of each process: where they are, how large, and
 * which marks they have: --chunks FILE:RULES says how blocks begin that get one.
 * heapwalk [--chunks FILE] --core CORE MAPPINGS LIBC PID does the same with a core: numbers of open files, of which
 * LIBC may be -1, and the process that it is of. With --ask after FILE it answers on stdout what is asked on stdin
 * about the chunks of one process: heapwalk_pointers.c. */
#include "heapwalk.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { TRIES = 10, TRIES_DIVIDED = 3, PAUSE_US = 2000, SIZES_SHOWN = 8 };
#define CHANGED                                                                                                        \
    "its chunks could not be followed in 10 tries: they change while they are read, or its glibc is modified"
#define BROKEN "its chunks cannot be followed: it was inside malloc, its heap is damaged, or its glibc is modified"

/* Open files of a core; -1 where a process is read that runs. */
struct core {
    int file, mappings, libc;
};

/* Divides what is resident; false where it could not be. */
static bool divide(const struct process *process, struct glibc *glibc, struct heaps *heaps, struct parts *parts,
                   struct live *live)
{
    struct candidates candidates = {0};
    struct pages *pages = NULL;
    free(parts->free_sizes.slots);
    *parts = (struct parts){0};
    live_clear(live);
    marks_set_lead(&live->marks, process->has_meter ? METER_HEADER : 0);
    bool complete = glibc_heaps(process, glibc, heaps);
    if (complete)
        pages = calloc(heaps->count, sizeof *pages);
    for (size_t i = 0; complete && i < heaps->count; i++)
        complete = pages_read(process, heaps->list[i].at, &pages[i]) &&
                   chunks_walk(process, glibc, &heaps->list[i], &pages[i], parts, &candidates, live);
    complete = complete && cached_count(process, glibc, heaps, &candidates, pages, parts, live) &&
               chunks_mmapped(process, glibc, heaps, parts, live);
    parts->is_complete = complete;
    parts->used.chunks -= parts->cached.chunks;
    parts->used.bytes -= parts->cached.bytes;
    parts->used.resident_bytes -= parts->cached.resident_bytes;
    for (size_t i = 0; pages && i < heaps->count; i++)
        pages_free(&pages[i]);
    free(pages);
    free(candidates.list);
    return complete;
}

/* Only by mapping. */
static void leave_undivided(const struct process *process, struct parts *parts)
{
    free(parts->free_sizes.slots);
    *parts = (struct parts){0};
    for (size_t i = 0; i < process->count; i++)
        parts->mapping_bytes[process->mappings[i].kind] += process->mappings[i].anonymous_bytes;
}

static void print_number(const char *key, uint64_t value)
{
    printf(",\"%s\":%" PRIu64, key, value);
}

static void print_tally(const char *key, struct tally tally)
{
    printf(",\"%s\":{\"chunks\":%" PRIu64 ",\"bytes\":%" PRIu64 ",\"resident_bytes\":%" PRIu64 "}", key, tally.chunks,
           tally.bytes, tally.resident_bytes);
}

static void print_sizes(struct sizes *sizes)
{
    sizes_sort(sizes);
    printf(",\"free_sizes\":{");
    for (size_t i = 0; i < SIZES_SHOWN && i < sizes->count; i++)
        printf("%s\"%" PRIu64 "\":%" PRIu64, i ? "," : "", sizes->slots[i].size, sizes->slots[i].chunks);
    putchar('}');
}

static void print_parts(const struct process *process, const struct glibc *glibc, const struct heaps *heaps,
                        struct parts *parts)
{
    print_number("rss_anon_bytes", process->rss_anon_bytes);
    print_number("swap_bytes", process->swap_bytes);
    printf(",\"glibc\":\"%s\"", glibc->version);
    if (glibc->unknown) {
        printf(",\"undivided\":\"%s\"", glibc->unknown);
        print_number("heap_bytes", parts->mapping_bytes[MAPPING_HEAP]);
    } else {
        print_number("arenas", heaps->arenas);
        print_tally("used", parts->used);
        print_tally("cached", parts->cached);
        print_tally("free", parts->free);
        print_tally("mmapped", parts->mmapped);
        if (process->has_meter) {
            print_tally("requested", parts->requested);
            print_tally("mmapped_requested", parts->mmapped_requested);
        }
        print_number("own_bytes", parts->own_bytes);
        printf(",\"exact\":%s", parts->is_exact ? "true" : "false");
        print_sizes(&parts->free_sizes);
    }
    print_number("stack_bytes", parts->mapping_bytes[MAPPING_STACK]);
    print_number("file_bytes", parts->mapping_bytes[MAPPING_FILE]);
    print_number("other_bytes", parts->mapping_bytes[MAPPING_OTHER]);
}

static bool is_near(uint64_t one, uint64_t other)
{
    return (one > other ? one - other : other - one) * 100 <= other;
}

/* Reads a process once; true where that will do: it is divided, or cannot be. */
static bool read_once(struct process *process, struct glibc *glibc, struct heaps *heaps, struct parts *parts,
                      struct live *live)
{
    uint64_t before = process->rss_anon_bytes;
    glibc_find(process, glibc);
    bool is_divided = !glibc->unknown && divide(process, glibc, heaps, parts, live);
    if (glibc->unknown)
        leave_undivided(process, parts);
    if (!process->source->read_status(process))
        process->refusal = "it has ended";
    if (!is_divided && !glibc->unknown && !process->refusal)
        return false;
    return process->refusal || ((glibc->unknown || parts->is_exact) && is_near(before, process->rss_anon_bytes));
}

/* Returns the exit status: not 0 where the chunks could not be written, or a question was not answered. */
static int report(pid_t pid, const struct core *core, struct live *live, int chunks_file, bool is_asked)
{
    struct process process;
    struct glibc glibc;
    struct heaps heaps = {0};
    struct parts parts = {0};
    bool is_read = false;
    const bool is_core = core->file >= 0;
    const int tries_most = is_core ? 1 : TRIES;
    int tries = 0;
    while (!is_read && tries < tries_most) {
        if (tries++) {
            process_close(&process);
            usleep(PAUSE_US);
        }
        free(heaps.list);
        heaps = (struct heaps){0};
        bool is_open =
            is_core ? core_open(&process, pid, core->file, core->mappings, core->libc) : running_open(&process, pid);
        is_read = !is_open || read_once(&process, &glibc, &heaps, &parts, live) ||
                  ((parts.is_complete || glibc.unknown) && tries == TRIES_DIVIDED);
    }
    if (!process.refusal && !glibc.unknown && !parts.is_complete) {
        glibc.unknown = glibc.doubt ? glibc.doubt : is_core ? BROKEN : CHANGED;
        leave_undivided(&process, &parts);
    }
    if (live->has_too_large && !process.refusal)
        process.refusal = "one of its blocks has 64 GiB or more";
    if (process.refusal || glibc.unknown)
        live_clear(live);
    live_take_out_cached(live);
    int status = live->is_wanted && !live_write(live, chunks_file) ? NOT_ANSWERED : ALL_ANSWERED;
    printf("{\"pid\":%d", pid);
    if (process.refusal) {
        printf(",\"refused\":\"%s\"", process.refusal);
    } else {
        print_parts(&process, &glibc, &heaps, &parts);
        print_number("tries", tries);
    }
    puts("}");
    fflush(stdout);
    if (is_asked && !status)
        status =
            live_map(live, chunks_file) ? pointers_answer(&process, live, STDIN_FILENO, STDOUT_FILENO) : NOT_ANSWERED;
    process_close(&process);
    free(heaps.list);
    free(parts.free_sizes.slots);
    return status;
}

static const char *const usage = "usage: heapwalk [--chunks FILE[:RULES]] PID...\n"
                                 "       heapwalk [--chunks FILE[:RULES] [--ask]] [--core CORE MAPPINGS LIBC] PID\n";

int main(int argc, char **argv)
{
    static struct live live;
    live.is_wanted = argc > 2 && !strcmp(argv[1], "--chunks");
    struct core core = {-1, -1, -1};
    int first = live.is_wanted ? 3 : 1, chunks_file = live.is_wanted ? atoi(argv[2]) : -1;
    const bool is_asked = live.is_wanted && argc > first && !strcmp(argv[first], "--ask");
    const char *rules = live.is_wanted ? strchr(argv[2], ':') : NULL;
    first += is_asked;
    if (argc == first + 5 && !strcmp(argv[first], "--core")) {
        core = (struct core){atoi(argv[first + 1]), atoi(argv[first + 2]), atoi(argv[first + 3])};
        first += 4;
    }
    if (argc <= first || (is_asked && argc > first + 1) || (rules && !marks_parse(rules + 1, &live.marks))) {
        fputs(usage, stderr);
        return 2;
    }
    int status = 0;
    for (int i = first; i < argc; i++)
        status |= report(atoi(argv[i]), &core, &live, chunks_file, is_asked);
    return ferror(stdout) ? 1 : status;
}
