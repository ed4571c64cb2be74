/* argv to `run`. Every key is known or the run does not start: a misspelt knob must not be measured as its default. */
#include "churn.h"
#include "stall.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MOST 1000000000u
#define MOST_NAMES 100000 /* they have five digits */

enum {
    MEMORY = 1 << SCENARIO_MEMORY,
    STALL = 1 << SCENARIO_STALL,
    CHURN = 1 << SCENARIO_CHURN,
    CONTEXTS = 1 << SCENARIO_CONTEXTS,
    HANDSHAKE = 1 << SCENARIO_HANDSHAKE,
    THROUGHPUT = 1 << SCENARIO_THROUGHPUT,
};
enum {
    SPLIT = MEMORY | CHURN,
    METERED = SPLIT | STALL | CONTEXTS,
    TIMED = HANDSHAKE | THROUGHPUT,
    ALL = METERED | TIMED
};

/* A key of some scenarios, what reads its value, and into what. */
struct key {
    const char *name;
    int scenarios;
    bool (*read)(const struct key *, const char *value);
    void *result;
    size_t least, most;   /* of numbers */
    const char *no, *yes; /* of choices */
};

static bool usage(const struct key *key, const char *value, const char *wanted)
{
    fprintf(stderr, "memtest: %s=%s: %s\n", key->name, value, wanted);
    return false;
}

/* A number at `at`, up to `stop` or the value's end, which is `*end` then. */
static bool count_in(const struct key *key, const char *at, char stop, size_t *result, char **end)
{
    *result = strtoul(at, end, 10);
    return *at >= '0' && *at <= '9' && (!**end || **end == stop) && *result >= key->least && *result <= key->most;
}

static bool no_count(const struct key *key, const char *value)
{
    char wanted[64];
    snprintf(wanted, sizeof wanted, "must be a whole number from %zu to %zu", key->least, key->most);
    return usage(key, value, wanted);
}

static bool count_read(const struct key *key, const char *value)
{
    char *end;
    return count_in(key, value, 0, key->result, &end) || no_count(key, value);
}

static bool number_read(const struct key *key, const char *value)
{
    size_t count;
    char *end;
    if (!count_in(key, value, 0, &count, &end))
        return no_count(key, value);
    *(int *)key->result = (int)count;
    return true;
}

/* "0,1": into run.timing.cpus. */
static bool cpus_read(const struct key *key, const char *value)
{
    size_t cpu;
    const char *at = value;
    char *end;
    for (run.timing.cpu_count = 0; run.timing.cpu_count < MAX_THREADS; at = end + 1) {
        if (!count_in(key, at, ',', &cpu, &end))
            return no_count(key, value);
        run.timing.cpus[run.timing.cpu_count++] = (int)cpu;
        if (!*end)
            return true;
    }
    return usage(key, value, "are more CPUs than there can be threads");
}

/* "library", or how many. */
static bool tickets_read(const struct key *key, const char *value)
{
    run.suite.tickets = TICKETS_LIBRARY;
    size_t count;
    char *end;
    if (!strcmp(value, "library"))
        return true;
    if (!count_in(key, value, 0, &count, &end))
        return usage(key, value, "must be library, or how many");
    run.suite.tickets = (int)count;
    return true;
}

/* Names go to the driver as they are: it says which it knows. */
static bool text_read(const struct key *key, const char *value)
{
    *(const char **)key->result = value;
    return true;
}

static bool choice_read(const struct key *key, const char *value)
{
    char wanted[64];
    *(bool *)key->result = !strcmp(value, key->yes);
    snprintf(wanted, sizeof wanted, "must be %s or %s", key->no, key->yes);
    return !strcmp(value, key->yes) || !strcmp(value, key->no) || usage(key, value, wanted);
}

static bool word_read(const struct key *key, const char *value)
{
    bool unused;
    struct key choice = *key;
    choice.result = &unused;
    return choice_read(&choice, value) && text_read(key, value);
}

static bool sessions_read(const struct key *key, const char *value)
{
    if (!count_read(key, value))
        return false;
    return run.sessions % 2 == 0 || usage(key, value, "must be even: half are clients, half are servers");
}

static bool window_read(const struct key *key, const char *value)
{
    run.memory.window = 0; /* all */
    return !strcmp(value, "all") || count_read(key, value);
}

static bool auth_read(const struct key *key, const char *value)
{
    run.suite.auth = value;
    return !strcmp(value, "none") || !strcmp(value, "server") || !strcmp(value, "mutual") ||
           usage(key, value, "must be server, mutual or none");
}

static bool options_read(const struct key *key, const char *value)
{
    run.suite.options = value;
    return !strcmp(value, "default") || !strcmp(value, "low-memory") || !strcmp(value, "drop-peer-chain") ||
           usage(key, value, "must be default, low-memory or drop-peer-chain");
}

/* "both", or one of the roles: those of them that are meant. */
static bool roles_read(const struct key *key, const char *value)
{
    bool *result = key->result;
    result[ROLE_CLIENT] = strcmp(value, "server") != 0;
    result[ROLE_SERVER] = strcmp(value, "client") != 0;
    return !(result[ROLE_CLIENT] && result[ROLE_SERVER]) || !strcmp(value, "both") ||
           usage(key, value, "must be both, client or server");
}

static bool point_read(const struct key *key, const char *value)
{
    run.stall.point = stall_point_find(value);
    return run.stall.point || usage(key, value, "no such point; docs/reference/records.md lists them");
}

static bool pattern_read(const struct key *key, const char *value)
{
    for (run.churn.pattern = 0; churn_patterns[run.churn.pattern]; run.churn.pattern++)
        if (!strcmp(value, churn_patterns[run.churn.pattern]))
            return true;
    return usage(key, value, "must be waves, sawtooth or lifetimes");
}

static bool sharing_read(const struct key *key, const char *value)
{
    run.contexts.shares[ROLE_CLIENT] = strcmp(value, "each-client") != 0;
    run.contexts.shares[ROLE_SERVER] = strcmp(value, "each-server") != 0;
    return text_read(key, value) &&
           (!run.contexts.shares[ROLE_CLIENT] || !run.contexts.shares[ROLE_SERVER] || !strcmp(value, "shared") ||
            usage(key, value, "must be shared, each-client or each-server"));
}

static const struct key keys[] = {
    {"protocol", ALL, text_read, .result = &run.suite.protocol},
    {"cipher", ALL, text_read, .result = &run.suite.cipher},
    {"group", ALL, text_read, .result = &run.suite.group},
    {"client_groups", ALL, text_read, .result = &run.suite.client_groups},
    {"certs", ALL, text_read, .result = &run.suite.certs},
    {"auth", ALL, auth_read, .result = NULL},
    {"tickets", ALL, tickets_read, .result = &run.suite.tickets, .least = 0, .most = MOST},
    {"store", ALL, choice_read, .result = &run.suite.store, .no = "off", .yes = "on"},
    {"resume", ALL, choice_read, .result = &run.suite.resume, .no = "off", .yes = "on"},
    {"options", ALL, options_read, .result = NULL},
    {"client_certs", ALL, choice_read, .result = &run.memory.each_client, .no = "same", .yes = "each"},
    {"threads", ALL & ~CONTEXTS, count_read, .result = &run.threads, .least = 1, .most = MAX_THREADS},
    {"aslr", ALL, choice_read, .result = &run.aslr, .no = "off", .yes = "on"},
    {"thp", ALL, word_read, .result = &run.thp, .no = "off", .yes = "host"},
    {"sessions", METERED, sessions_read, .result = &run.sessions, .least = 2, .most = MOST},
    {"role", SPLIT, roles_read, .result = run.holds},
    {"keep", MEMORY, roles_read, .result = run.memory.keeps},
    {"wires", SPLIT, number_read, .result = &run.wires_fd, .least = 0, .most = MOST},
    {"barrier", SPLIT, number_read, .result = &run.barrier_fd, .least = 0, .most = MOST},
    {"data", SPLIT, choice_read, .result = &run.memory.full_records, .no = "short", .yes = "full"},
    {"window", SPLIT, window_read, .result = &run.memory.window, .least = 1, .most = MOST},
    {"until", METERED, text_read, .result = &run.until},
    {"marks", METERED, choice_read, .result = &run.marks, .no = "0", .yes = "1"},
    {"cpu", METERED, number_read, .result = &run.cpu, .least = 0, .most = MOST},
    {"point", STALL, point_read, .result = NULL},
    {"pattern", CHURN, pattern_read, .result = NULL},
    {"waves", CHURN, count_read, .result = &run.churn.waves, .least = 1, .most = 1000000},
    {"seed", CHURN, count_read, .result = &run.churn.seed, .least = 0, .most = MOST},
    {"trim", CHURN, choice_read, .result = &run.churn.trim, .no = "off", .yes = "on"},
    {"cas", CONTEXTS, count_read, .result = &run.contexts.cas, .least = 1, .most = MOST},
    {"names", CONTEXTS, count_read, .result = &run.contexts.names, .least = 1, .most = MOST_NAMES},
    {"sharing", CONTEXTS, sharing_read, .result = &run.contexts.sharing},
    {"rounds", TIMED, count_read, .result = &run.timing.rounds, .least = 1, .most = MOST},
    {"warmup", TIMED, count_read, .result = &run.timing.warmup, .least = 1, .most = MOST},
    {"seconds", TIMED, count_read, .result = &run.timing.seconds, .least = 1, .most = 24 * 60 * 60},
    {"cpus", TIMED, cpus_read, .result = NULL, .least = 0, .most = MOST},
    {"size", THROUGHPUT, count_read, .result = &run.timing.size, .least = 1, .most = 1 << 30},
};

static bool argument_read(const char *name, const char *value)
{
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++)
        if (!strcmp(name, keys[i].name)) {
            if (keys[i].scenarios & 1 << run.kind)
                return keys[i].read(&keys[i], value);
            fprintf(stderr, "memtest: %s=%s: is no key of the scenario %s\n", name, value, run.scenario);
            return false;
        }
    fprintf(stderr, "memtest: %s=%s: unknown key; docs/reference/records.md lists them all\n", name, value);
    return false;
}

static bool split_and_read(const char *argument)
{
    static char name[32];
    const char *equals = strchr(argument, '=');
    if (!equals || equals == argument || (size_t)(equals - argument) >= sizeof name)
        return fprintf(stderr, "memtest: %s: arguments are key=value\n", argument) < 0;
    snprintf(name, sizeof name, "%.*s", (int)(equals - argument), argument);
    return argument_read(name, equals + 1);
}

static bool scenario_read(const char *name)
{
    static const char *const names[] = {"memory", "stall", "churn", "contexts", "handshake", "throughput"};
    run.scenario = name;
    for (run.kind = SCENARIO_MEMORY; run.kind <= SCENARIO_THROUGHPUT; run.kind++)
        if (!strcmp(name, names[run.kind]))
            return true;
    return false;
}

bool arguments_read(int argc, char **argv)
{
    if (argc < 2 || !scenario_read(argv[1])) {
        static const char words[] = "protocol=P cipher=C group=G certs=DIR [key=value ...]";
        fprintf(stderr, "usage: %s memory sessions=N %s\n", argv[0], words);
        fprintf(stderr, "       %s stall sessions=N point=P %s\n", argv[0], words);
        fprintf(stderr, "       %s churn sessions=N pattern=P waves=N %s\n", argv[0], words);
        fprintf(stderr, "       %s contexts sessions=N [cas=N] [names=N] [sharing=shared|each-client|each-server] %s\n",
                argv[0], words);
        fprintf(stderr, "       %s handshake|throughput rounds=N %s\n", argv[0], words);
        return false;
    }
    for (int i = 2; i < argc; i++)
        if (!split_and_read(argv[i]))
            return false;
    return arguments_consistent();
}
