/* NDJSON on stdout, one object a line, as docs/records.md has it. Its buffer is static: stdout's own would be a malloc.
 */
#include "core.h"
#include "heapmeter.h"
#include "sites.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#define SCHEMA 3

static const char *notes[8];
static size_t note_count;
static struct timespec started;

void note(const char *sentence)
{
    if (note_count < sizeof notes / sizeof *notes)
        notes[note_count++] = sentence;
}

void record_open(void)
{
    static char buffer[1 << 16];
    setvbuf(stdout, buffer, _IOFBF, sizeof buffer);
    clock_gettime(CLOCK_MONOTONIC, &started);
}

static void string(const char *text)
{
    putchar('"');
    for (; *text; text++)
        if (*text == '"' || *text == '\\')
            printf("\\%c", *text);
        else if ((unsigned char)*text < 0x20)
            printf("\\u%04x", *text);
        else
            putchar(*text);
    putchar('"');
}

static void text(const char *key, const char *value)
{
    printf(",\"%s\":", key);
    string(value);
}

static void number(const char *key, uint64_t value)
{
    printf(",\"%s\":%" PRIu64, key, value);
}

static void line_end(void)
{
    puts("}");
    if (fflush(stdout) != 0)
        die("cannot write to stdout: %s", strerror(errno));
}

static const char *roles(const bool meant[2])
{
    return !meant[ROLE_SERVER] ? "client" : !meant[ROLE_CLIENT] ? "server" : "both";
}

void record_run(void)
{
    printf("{\"record\":\"run\",\"schema\":%d", SCHEMA);
    text("stack", run.driver->name);
    text("reported", run.driver->version());
    text("scenario", run.scenario);
    number("sessions", run.sessions);
    text("role", roles(run.holds));
    text("keep", roles(run.keeps));
    number("threads", run.threads);
    if (run.window < run.sessions / 2)
        number("window", run.window);
    else
        text("window", "all");
    text("meter", sites_wanted() ? "sites" : heapmeter.page ? "heap" : "rss");
    text("aslr", run.aslr ? "on" : "off");
    text("thp", run.thp);
    if (run.cpu >= 0)
        number("cpu", run.cpu);
    else
        printf(",\"cpu\":null");
    printf(",\"notes\":[");
    for (size_t i = 0; i < note_count; i++) {
        printf("%s", i ? "," : "");
        string(notes[i]);
    }
    printf("]");
    line_end();
}

static void heap(const struct heapmeter_page *page)
{
    static const char *const roles[] = {
        [HEAP_CLIENT] = "client",
        [HEAP_SERVER] = "server",
        [HEAP_CLIENT_CONTEXT] = "client_context",
        [HEAP_SERVER_CONTEXT] = "server_context",
        [HEAP_HARNESS] = "harness",
        [HEAP_TOTAL] = "total",
    };
    printf(",\"heap\":{");
    for (int role = 0; role <= HEAP_TOTAL; role++) {
        const struct heapmeter_count *count = &page->counts[role];
        printf("%s\"%s\":{\"live_bytes\":%" PRIu64, role ? "," : "", roles[role], count->live_bytes);
        number("live_blocks", count->live_blocks);
        number("peak_bytes", count->peak_bytes);
        number("peak_blocks", count->peak_blocks);
        number("cumulative_bytes", count->cumulative_bytes);
        number("cumulative_blocks", count->cumulative_blocks);
        printf("}");
    }
    printf("}");
}

void record_phase(const char *phase, const struct reading *reading)
{
    sites_stacks();
    printf("{\"record\":\"phase\"");
    text("process", roles(run.holds));
    text("phase", phase);
    number("rss_bytes", reading->rss_bytes);
    number("rss_anon_bytes", reading->rss_anon_bytes);
    number("rss_file_bytes", reading->rss_file_bytes);
    number("rss_shmem_bytes", reading->rss_shmem_bytes);
    number("peak_rss_bytes", reading->peak_rss_bytes);
    number("minor_faults", reading->minor_faults);
    number("major_faults", reading->major_faults);
    number("wire_bytes", wires_bytes());
    number("phase_minor_faults", reading->phase_minor_faults);
    number("phase_major_faults", reading->phase_major_faults);
    number("vm_data_bytes", reading->vm_data_bytes);
    if (reading->rollup) {
        number("rollup_rss_bytes", reading->rollup_rss_bytes);
        number("rollup_anon_bytes", reading->rollup_anon_bytes);
        number("huge_bytes", reading->huge_bytes);
    }
    if (heapmeter.page)
        heap(heapmeter.page());
    else
        books_print();
    sites_record();
    line_end();
}

void record_unsupported(const char *reason)
{
    printf("{\"record\":\"end\",\"status\":\"unsupported\"");
    text("reason", reason);
    line_end();
}

/* Of a role in another process only that one can tell. */
static const char *verified(enum role role, const struct negotiated result[2])
{
    return !run.holds[role] ? "null" : result[role].peer_verified ? "true" : "false";
}

static void negotiated(const struct negotiated result[2])
{
    const struct negotiated *said = &result[run.holds[ROLE_CLIENT] ? ROLE_CLIENT : ROLE_SERVER];
    printf("{\"resumed\":%s", said->resumed ? "true" : "false");
    text("protocol", said->protocol);
    text("cipher", said->cipher);
    text("group", said->group ? said->group : run.suite.group);
    text("group_from", said->group ? "session" : "offer");
    printf(",\"client_verified\":%s", verified(ROLE_CLIENT, result));
    printf(",\"server_verified\":%s}", verified(ROLE_SERVER, result));
}

void record_end(const struct negotiated result[2])
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    printf("{\"record\":\"end\",\"status\":\"measured\",\"negotiated\":");
    if (result)
        negotiated(result);
    else
        printf("null");
    number("elapsed_ns", (now.tv_sec - started.tv_sec) * UINT64_C(1000000000) + now.tv_nsec - started.tv_nsec);
    line_end();
}
