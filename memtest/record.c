/* The lines that a harness prints, as docs/reference/records.md has them. */
#include "churn.h"
#include "core.h"
#include "heapmeter.h"
#include "json.h"
#include "sites.h"
#include "stall.h"
#include "timing.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#define SCHEMA 4

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
    json_open();
    clock_gettime(CLOCK_MONOTONIC, &started);
}

static const char *roles(const bool meant[2])
{
    return !meant[ROLE_SERVER] ? "client" : !meant[ROLE_CLIENT] ? "server" : "both";
}

static const char *meter(void)
{
    if (run_is_timed())
        return "time";
    return sites_wanted() ? "sites" : heapmeter.page ? "heap" : "rss";
}

/* The keys that are this scenario's alone. */
static void settings(void)
{
    printf(",\"settings\":{");
    if (run.kind == SCENARIO_STALL) {
        printf("\"point\":");
        json_string(run.stall.point->name);
    }
    if (run.kind == SCENARIO_CHURN) {
        printf("\"pattern\":\"%s\",\"waves\":\"%zu\"", churn_patterns[run.churn.pattern], run.churn.waves);
        printf(",\"trim\":\"%s\",\"seed\":\"%zu\",\"threads\":\"%zu\"", run.churn.trim ? "on" : "off", run.churn.seed,
               run.threads);
    }
    if (run.kind == SCENARIO_CONTEXTS)
        printf("\"cas\":\"%zu\",\"names\":\"%zu\",\"sharing\":\"%s\"", run.contexts.cas, run.contexts.names,
               run.contexts.sharing);
    printf("}");
}

void record_run(void)
{
    printf("{\"record\":\"run\",\"schema\":%d", SCHEMA);
    json_text("stack", run.driver->name);
    json_text("reported", run.driver->version());
    json_text("scenario", run.scenario);
    json_number("sessions", run.sessions);
    json_text("role", roles(run.holds));
    json_text("keep", roles(run.memory.keeps));
    json_text("data", run.memory.full_records ? "full" : "short");
    json_number("threads", run.threads);
    if (run.memory.window < run.sessions / 2)
        json_number("window", run.memory.window);
    else
        json_text("window", "all");
    json_text("meter", meter());
    json_text("aslr", run.aslr ? "on" : "off");
    json_text("thp", run.thp);
    if (run.cpu >= 0)
        json_number("cpu", run.cpu);
    else
        printf(",\"cpu\":null");
    printf(",\"notes\":[");
    for (size_t i = 0; i < note_count; i++) {
        printf("%s", i ? "," : "");
        json_string(notes[i]);
    }
    printf("]");
    if (run_is_timed())
        timing_declare();
    if (!run_is_timed() && run.kind != SCENARIO_MEMORY)
        settings();
    json_line_end();
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
        json_number("live_blocks", count->live_blocks);
        json_number("peak_bytes", count->peak_bytes);
        json_number("peak_blocks", count->peak_blocks);
        json_number("cumulative_bytes", count->cumulative_bytes);
        json_number("cumulative_blocks", count->cumulative_blocks);
        printf("}");
    }
    printf("}");
}

void record_phase(const char *phase, const struct reading *reading)
{
    sites_stacks();
    printf("{\"record\":\"phase\"");
    json_text("process", roles(run.holds));
    json_text("phase", phase);
    json_number("rss_bytes", reading->rss_bytes);
    json_number("rss_anon_bytes", reading->rss_anon_bytes);
    json_number("rss_file_bytes", reading->rss_file_bytes);
    json_number("rss_shmem_bytes", reading->rss_shmem_bytes);
    json_number("peak_rss_bytes", reading->peak_rss_bytes);
    json_number("minor_faults", reading->minor_faults);
    json_number("major_faults", reading->major_faults);
    json_number("wire_bytes", wires_bytes());
    if (run.holds[ROLE_CLIENT])
        json_number("client_sent_bytes", wires_sent(ROLE_CLIENT));
    if (run.holds[ROLE_SERVER])
        json_number("server_sent_bytes", wires_sent(ROLE_SERVER));
    json_number("phase_minor_faults", reading->phase_minor_faults);
    json_number("phase_major_faults", reading->phase_major_faults);
    json_number("vm_data_bytes", reading->vm_data_bytes);
    if (reading->rollup) {
        json_number("rollup_rss_bytes", reading->rollup_rss_bytes);
        json_number("rollup_anon_bytes", reading->rollup_anon_bytes);
        json_number("huge_bytes", reading->huge_bytes);
    }
    if (churn_wave())
        json_number("wave", churn_wave());
    if (run.kind == SCENARIO_STALL)
        json_number("received_bytes", stall_received_bytes());
    if (run.driver->tickets && run.holds[ROLE_CLIENT])
        json_number("tickets", tickets_received());
    if (heapmeter.page)
        heap(heapmeter.page());
    else
        books_print();
    sites_record();
    json_line_end();
}

void record_unsupported(const char *reason)
{
    printf("{\"record\":\"end\",\"status\":\"unsupported\"");
    json_text("reason", reason);
    json_line_end();
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
    json_text("protocol", said->protocol);
    json_text("cipher", said->cipher);
    json_text("group", said->group ? said->group : run.suite.group);
    json_text("group_from", said->group ? "session" : "offer");
    printf(",\"retried\":%s", handshakes_retried() ? "true" : "false");
    printf(",\"client_verified\":%s", verified(ROLE_CLIENT, result));
    printf(",\"server_verified\":%s}", verified(ROLE_SERVER, result));
}

void record_end(const struct negotiated result[2])
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    allocations_must_succeed();
    printf("{\"record\":\"end\",\"status\":\"measured\",\"negotiated\":");
    if (result)
        negotiated(result);
    else
        printf("null");
    if (*sealed)
        json_text("sealed", sealed);
    json_number("elapsed_ns", (now.tv_sec - started.tv_sec) * UINT64_C(1000000000) + now.tv_nsec - started.tv_nsec);
    json_line_end();
}
