/* What the clock says, kept by part and printed. */
#define _GNU_SOURCE
#include "timing.h"
#include "histogram.h"
#include "json.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

static const char *const names[PARTS] = {
    [CLIENT_NEW] = "client_new",
    [CLIENT] = "client",
    [CLIENT_FREE] = "client_free",
    [SERVER_NEW] = "server_new",
    [SERVER] = "server",
    [SERVER_FREE] = "server_free",
    [SEND] = "send",
    [RECEIVE] = "receive",
    [SEAL] = "seal",
    [WIRE_WRITE] = "wire_write",
    [WIRE_READ] = "wire_read",
    [CLOCK] = "clock",
};

uint64_t clock_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC_RAW, &now);
    return (uint64_t)now.tv_sec * UINT64_C(1000000000) + (uint64_t)now.tv_nsec;
}

void lap_end(struct worker *worker, enum part part, uint64_t since, uint64_t until)
{
    worker->lap[part] += until - since;
}

void timing_open(struct worker *worker)
{
    for (enum part part = 0; part < SEAL; part++) {
        worker->parts[part].histogram = calloc(HISTOGRAM_COUNTS, sizeof(uint64_t));
        if (!worker->parts[part].histogram)
            die("out of memory");
    }
}

void timing_add(struct worker *worker, enum part part, uint64_t ns, uint64_t bytes)
{
    struct intervals *it = &worker->parts[part];
    it->count++;
    it->total_ns += ns;
    it->bytes += bytes;
    if (it->histogram)
        it->histogram[histogram_index(ns)]++;
}

void timing_keep(struct worker *worker, const struct timed *scenario)
{
    for (enum part part = scenario->first; part <= scenario->last; part++)
        timing_add(worker, part, worker->lap[part], part >= SEND ? round_bytes() : 0);
}

void timing_faults(struct worker *worker, const struct timed *scenario)
{
    for (enum part part = scenario->first; part <= scenario->last; part++) {
        worker->parts[part].faults += worker->lap[part];
        worker->parts[part].faults_count++;
    }
}

void timing_declare(void)
{
    json_number("rounds", run.timing.rounds);
    json_number("warmup_rounds", run.timing.warmup);
    if (run.kind == SCENARIO_THROUGHPUT)
        json_number("size_bytes", run.timing.size);
    for (size_t i = 0; i < run.timing.cpu_count; i++)
        printf("%s%d", i ? "," : ",\"cpus\":[", run.timing.cpus[i]);
    if (run.timing.cpu_count)
        putchar(']');
}

static void print_histogram(const uint64_t *counts)
{
    const char *comma = ",\"histogram\":[";
    for (size_t i = 0; i < HISTOGRAM_COUNTS; i++)
        if (counts[i]) {
            printf("%s[%" PRIu64 ",%" PRIu64 "]", comma, histogram_value(i), counts[i]);
            comma = ",";
        }
    putchar(']');
}

static void print_part(enum part part, const struct intervals *it, const char *comma)
{
    printf("%s{\"part\":\"%s\"", comma, names[part]);
    json_number("count", it->count);
    json_number("total_ns", it->total_ns);
    if (it->bytes)
        json_number("bytes", it->bytes);
    if (it->faults_count) {
        json_number("faults", it->faults);
        json_number("faults_count", it->faults_count);
    }
    if (it->histogram)
        print_histogram(it->histogram);
    putchar('}');
}

void timing_print(const struct worker *worker)
{
    const char *comma = "";
    printf("{\"record\":\"thread\",\"thread\":%zu,\"cpu\":", worker->index);
    if (run.timing.cpu_count)
        printf("%d", run.timing.cpus[worker->index % run.timing.cpu_count]);
    else
        printf("null");
    json_number("rounds", worker->rounds);
    json_number("resumed", worker->resumed);
    json_number("elapsed_ns", worker->elapsed_ns);
    json_number("preempted", worker->preempted);
    printf(",\"parts\":[");
    for (enum part part = 0; part < PARTS; part++)
        if (worker->parts[part].count) {
            print_part(part, &worker->parts[part], comma);
            comma = ",";
        }
    putchar(']');
    json_line_end();
}
