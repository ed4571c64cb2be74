/* The threads of a timed run. Each warms up, waits for all, and works until the first of them has done its rounds, or
 * its seconds are over: so none is ever measured without the others beside it. A single one is the main thread, as in a
 * program without threads.
 */
#define _GNU_SOURCE
#include "timing.h"

#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

void *server_context;
static const struct timed *scenario;
static struct worker *workers;
static pthread_barrier_t barrier;
static atomic_bool stop;

static void pin(size_t thread)
{
    cpu_set_t set;
    CPU_ZERO(&set);
    if (!run.timing.cpu_count)
        return;
    int cpu = run.timing.cpus[thread % run.timing.cpu_count];
    CPU_SET(cpu, &set);
    if (sched_setaffinity(0, sizeof set, &set) != 0)
        die("cpus: %d: %s", cpu, strerror(errno));
}

static struct rusage usage(void)
{
    struct rusage usage;
    getrusage(RUSAGE_THREAD, &usage);
    return usage;
}

static uint64_t faults(void)
{
    return (uint64_t)usage().ru_minflt;
}

struct traffic worker_traffic(const struct worker *worker)
{
    struct traffic client = wire_mapped_traffic(worker->ends[ROLE_CLIENT]);
    struct traffic server = wire_mapped_traffic(worker->ends[ROLE_SERVER]);
    return (struct traffic){client.writes + server.writes, client.reads + server.reads, client.written + server.written,
                            client.read + server.read};
}

static void make_round(struct worker *worker)
{
    worker->before = worker_traffic(worker);
    memset(worker->lap, 0, sizeof worker->lap);
    scenario->round(worker);
    worker->round++;
}

/* When rounds end, if their number does not end them before: after that part of the seconds. */
static uint64_t deadline(unsigned part)
{
    return run.timing.seconds ? clock_ns() + run.timing.seconds * UINT64_C(1000000000) / part : UINT64_MAX;
}

static void make_rounds(struct worker *worker)
{
    uint64_t preempted = (uint64_t)usage().ru_nivcsw, until = deadline(1), began = clock_ns();
    do {
        make_round(worker);
        timing_keep(worker, scenario);
        if (++worker->rounds == run.timing.rounds || clock_ns() >= until)
            atomic_store_explicit(&stop, true, memory_order_relaxed);
    } while (!atomic_load_explicit(&stop, memory_order_relaxed));
    worker->elapsed_ns = clock_ns() - began;
    worker->preempted = (uint64_t)usage().ru_nivcsw - preempted;
}

/* Apart, since asking for them takes a system call. */
static void count_faults(struct worker *worker)
{
    uint64_t resumed = worker->resumed, until = deadline(8);
    size_t counted = 0;
    worker->now = faults;
    do {
        make_round(worker);
        timing_faults(worker, scenario);
    } while (++counted < run.timing.warmup && clock_ns() < until);
    worker->resumed = resumed;
}

static void warm_up(struct worker *worker)
{
    uint64_t until = deadline(8);
    do
        make_round(worker);
    while (++worker->warmed < run.timing.warmup && clock_ns() < until);
    worker->resumed = 0;
}

static void *be_worker(void *opaque)
{
    struct worker *worker = opaque;
    pin(worker->index);
    timing_open(worker);
    wire_mapped_open(worker->ends, scenario->room);
    worker->client_context = frames[ROLE_CLIENT].context_new(&run.suite, 0);
    worker->now = clock_ns;
    scenario->open(worker);
    warm_up(worker);
    pthread_barrier_wait(&barrier);
    make_rounds(worker);
    pthread_barrier_wait(&barrier);
    scenario->after(worker);
    count_faults(worker);
    own_parts(worker);
    scenario->close(worker);
    frames[ROLE_CLIENT].context_free(worker->client_context);
    return NULL;
}

static void start_all(void)
{
    pthread_t *threads = calloc(run.threads, sizeof *threads);
    workers = calloc(run.threads, sizeof *workers);
    if (!threads || !workers || pthread_barrier_init(&barrier, NULL, (unsigned)run.threads) != 0)
        die("out of memory");
    for (size_t i = 0; i < run.threads; i++)
        workers[i].index = i;
    for (size_t i = 1; i < run.threads; i++) {
        int error = pthread_create(&threads[i], NULL, be_worker, &workers[i]);
        if (error != 0)
            die("threads=%zu: thread %zu: %s", run.threads, i + 1, strerror(error));
    }
    be_worker(&workers[0]);
    for (size_t i = 1; i < run.threads; i++)
        pthread_join(threads[i], NULL);
    free(threads);
}

/* A miss is a full handshake: the figure would be of neither. */
static void must_have_resumed(void)
{
    uint64_t rounds = 0, resumed = 0;
    for (size_t i = 0; i < run.threads; i++) {
        rounds += workers[i].rounds;
        resumed += workers[i].resumed;
    }
    if (run.suite.resume && resumed < rounds)
        die("resumed %zu of %zu handshakes, a hit rate of %.2f %%; the suite asks for all", (size_t)resumed,
            (size_t)rounds, 100.0 * (double)resumed / (double)rounds);
}

void work(const struct timed *one)
{
    scenario = one;
    wires_mapped = true; /* before there are threads */
    server_context = frames[ROLE_SERVER].context_new(&run.suite, 0);
    start_all();
    must_have_resumed();
    for (size_t i = 0; i < run.threads; i++)
        timing_print(&workers[i]);
    record_end(workers[0].agreed);
    frames[ROLE_SERVER].context_free(server_context);
}
