/* The program that every harness is: argv in, one measurement out. */
#define _GNU_SOURCE
#include "sites.h"
#include "stall.h"

#include <inttypes.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

struct run run = {
    .suite = {.auth = "server", .options = "default"},
    .threads = 1,
    .thp = "off",
    .cpu = -1,
    .holds = {true, true},
    .wires_fd = -1,
    .barrier_fd = -1,
    .memory = {.keeps = {true, true}},
    .churn = {.pattern = PATTERN_NONE, .seed = 1},
    .contexts = {.cas = 1, .names = 1, .sharing = "shared", .shares = {true, true}},
    .timing = {.size = 1 << 20},
};

static const char *refusable; /* what a driver refuses when it dies now, or NULL */

void refusals_begin(const char *what)
{
    refusable = what;
}

void refusals_end(void)
{
    refusable = NULL;
}

_Noreturn void unsupported(const char *reason)
{
    allocations_must_succeed(); /* else the reason may be that */
    record_unsupported(reason);
    fprintf(stderr, "memtest: %s: %s\n", run.driver->name, reason);
    fflush(stdout);
    _exit(77);
}

/* A driver's last words, as a reason. Tools take the suite off again (strip_suite). */
static _Noreturn void refuse(const char *format, va_list arguments)
{
    static char words[512], reason[1024];
    const struct suite *suite = &run.suite;
    vsnprintf(words, sizeof words, format, arguments);
    snprintf(reason, sizeof reason, "%s: %s: %s (%s, %s, %s)", run.driver->version(), refusable, words, suite->protocol,
             suite->cipher, suite->group);
    refusable = NULL;
    unsupported(reason);
}

_Noreturn void die(const char *format, ...)
{
    static pthread_mutex_t dying = PTHREAD_MUTEX_INITIALIZER; /* once locked it stays so: the first has the word */
    va_list arguments;
    pthread_mutex_lock(&dying);
    if (refusable) {
        va_start(arguments, format);
        refuse(format, arguments);
    }
    fflush(stdout);
    fprintf(stderr, "memtest: %s: ", run.driver->name);
    va_start(arguments, format);
    vfprintf(stderr, format, arguments);
    va_end(arguments);
    if (allocations_failed())
        fprintf(stderr, " (allocations that were refused memory before: %" PRIu64 ")", allocations_failed());
    fputc('\n', stderr);
    _exit(1);
}

const char *suite_path(char path[PATH_BYTES], const struct suite *suite, const char *name)
{
    if (snprintf(path, PATH_BYTES, "%s/%s", suite->certs, name) >= PATH_BYTES)
        die("certs=%s: is too long for a path", suite->certs);
    return path;
}

/* NULL, or why the driver cannot do the suite. Tools take the suite off again (strip_suite). */
static const char *refusal(const struct driver *driver, const struct suite *suite)
{
    static char *sentence; /* as long as argv has it be */
    const char *lacks = driver->supports(suite);
    if (!lacks && run.kind == SCENARIO_STALL)
        lacks = stall_lacks();
    if (!lacks && run.contexts.names > 1 && !driver->name_add)
        lacks = "this driver serves one name";
    if (!lacks && run.contexts.cas > 1 && !strcmp(suite->auth, "none"))
        lacks = "auth=none: clients verify nobody, so they have no store of roots";
    if (!lacks && !strcmp(suite->options, "drop-peer-chain") && strcmp(suite->auth, "mutual") != 0)
        lacks = "options=drop-peer-chain: only clients that authenticate have a chain to drop";
    if (!lacks && suite->resume && !driver->resume)
        lacks = "this driver resumes no sessions";
    if (!lacks)
        return NULL;
    if (asprintf(&sentence, "%s: %s (%s, %s, %s)", driver->version(), lacks, suite->protocol, suite->cipher,
                 suite->group) < 0)
        die("out of memory");
    return sentence;
}

static void measure_memory(void)
{
    peer_must_agree();
    threads_open();
    memory();
}

static void measure_stall(void)
{
    threads_open();
    stall();
}

static void measure_churn(void)
{
    peer_must_agree();
    threads_open();
    churn();
}

static void measure_contexts(void)
{
    threads_open();
    many_contexts();
}

int memtest_main(int argc, char **argv, const struct driver *driver)
{
    run.driver = driver;
    if (!arguments_read(argc, argv))
        return 2;
    environment_apply(argv);
    record_open();
    if (!run_is_timed()) {
        meter_open();
        sites_open();
    }
    const char *reason = refusal(driver, &run.suite);
    record_run();
    if (reason)
        unsupported(reason);
    if (!run_is_timed())
        wires_open(run.sessions);
    static void (*const scenarios[])(void) = {
        [SCENARIO_MEMORY] = measure_memory,     [SCENARIO_STALL] = measure_stall,
        [SCENARIO_CHURN] = measure_churn,       [SCENARIO_CONTEXTS] = measure_contexts,
        [SCENARIO_HANDSHAKE] = time_handshakes, [SCENARIO_THROUGHPUT] = time_transfers,
    };
    scenarios[run.kind]();
    return 0;
}
