/* argv to `run`. Every key is known or the run does not start: a misspelt knob must not be measured as its default. */
#include "core.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MOST 1000000000u

static bool usage(const char *key, const char *value, const char *wanted)
{
    fprintf(stderr, "memtest: %s=%s: %s\n", key, value, wanted);
    return false;
}

static bool count_read(const char *key, const char *value, size_t least, size_t most, size_t *result)
{
    char *end;
    *result = strtoul(value, &end, 10);
    if (*value < '0' || *value > '9' || *end || *result < least || *result > most) {
        fprintf(stderr, "memtest: %s=%s: must be a whole number from %zu to %zu\n", key, value, least, most);
        return false;
    }
    return true;
}

static bool choice_read(const char *key, const char *value, const char *no, const char *yes, bool *result)
{
    char wanted[64];
    *result = !strcmp(value, yes);
    snprintf(wanted, sizeof wanted, "must be %s or %s", no, yes);
    return *result || !strcmp(value, no) || usage(key, value, wanted);
}

static bool one_of(const char *key, const char *value, const char *a, const char *b, const char **result)
{
    bool unused;
    *result = value;
    return choice_read(key, value, a, b, &unused);
}

static bool sessions_read(const char *key, const char *value)
{
    if (!count_read(key, value, 2, MOST, &run.sessions))
        return false;
    return run.sessions % 2 == 0 || usage(key, value, "must be even: half are clients, half are servers");
}

/* Names go to the driver as they are: it says which it knows. */
static bool name_read(const char *key, const char *value)
{
    const struct {
        const char *key, **value;
    } names[] = {
        {"protocol", &run.suite.protocol}, {"cipher", &run.suite.cipher}, {"group", &run.suite.group},
        {"certs", &run.suite.certs},       {"until", &run.until},
    };
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (!strcmp(key, names[i].key)) {
            *names[i].value = value;
            return true;
        }
    return usage(key, value, "unknown key; docs/records.md lists them all");
}

static bool window_read(const char *key, const char *value)
{
    run.window = 0; /* all */
    return !strcmp(value, "all") || count_read(key, value, 1, MOST, &run.window);
}

static bool auth_read(const char *key, const char *value)
{
    run.suite.auth = value;
    return !strcmp(value, "none") || !strcmp(value, "server") || !strcmp(value, "mutual") ||
           usage(key, value, "must be server, mutual or none");
}

/* "both", or one of the roles: those of them that are meant. */
static bool roles_read(const char *key, const char *value, bool result[2])
{
    result[ROLE_CLIENT] = strcmp(value, "server") != 0;
    result[ROLE_SERVER] = strcmp(value, "client") != 0;
    return !(result[ROLE_CLIENT] && result[ROLE_SERVER]) || !strcmp(value, "both") ||
           usage(key, value, "must be both, client or server");
}

static bool number_read(const char *key, const char *value, int *result)
{
    size_t count;
    return count_read(key, value, 0, MOST, &count) && (*result = (int)count, true);
}

static bool thp_read(const char *key, const char *value)
{
    run.thp = value;
    return !strcmp(value, "off") || !strcmp(value, "host") || usage(key, value, "must be off or host");
}

static bool argument_read(const char *key, const char *value)
{
    if (!strcmp(key, "sessions"))
        return sessions_read(key, value);
    if (!strcmp(key, "auth"))
        return auth_read(key, value);
    if (!strcmp(key, "tickets"))
        return number_read(key, value, &run.suite.tickets);
    if (!strcmp(key, "store"))
        return choice_read(key, value, "off", "on", &run.suite.store);
    if (!strcmp(key, "resume"))
        return choice_read(key, value, "off", "on", &run.suite.resume);
    if (!strcmp(key, "knobs"))
        return one_of(key, value, "default", "best", &run.suite.knobs);
    if (!strcmp(key, "role"))
        return roles_read(key, value, run.holds);
    if (!strcmp(key, "keep"))
        return roles_read(key, value, run.keeps);
    if (!strcmp(key, "wires"))
        return number_read(key, value, &run.wires_fd);
    if (!strcmp(key, "barrier"))
        return number_read(key, value, &run.barrier_fd);
    if (!strcmp(key, "threads"))
        return count_read(key, value, 1, MAX_THREADS, &run.threads);
    if (!strcmp(key, "window"))
        return window_read(key, value);
    if (!strcmp(key, "marks"))
        return choice_read(key, value, "0", "1", &run.marks);
    if (!strcmp(key, "cpu"))
        return number_read(key, value, &run.cpu);
    if (!strcmp(key, "aslr"))
        return choice_read(key, value, "off", "on", &run.aslr);
    if (!strcmp(key, "thp"))
        return thp_read(key, value);
    return name_read(key, value);
}

static bool split_and_read(const char *argument)
{
    static char key[32];
    const char *equals = strchr(argument, '=');
    if (!equals || equals == argument || (size_t)(equals - argument) >= sizeof key)
        return fprintf(stderr, "memtest: %s: arguments are key=value\n", argument) < 0;
    snprintf(key, sizeof key, "%.*s", (int)(equals - argument), argument);
    return argument_read(key, equals + 1);
}

/* What one process of a pair needs of the runner, and what only a process with both ends can do. */
static bool consistent(void)
{
    bool alone = run.holds[ROLE_CLIENT] && run.holds[ROLE_SERVER], keeps_all = run.keeps[0] && run.keeps[1];
    const char *wrong = !alone && run.wires_fd < 0     ? "role= needs wires=FD, the wires that its peer has too"
                        : !alone && run.barrier_fd < 0 ? "role= needs barrier=FD, a socket to its peer"
                        : !alone && !keeps_all         ? "keep= is for role=both: it frees what this process holds"
                        : alone && run.wires_fd >= 0   ? "wires= is for role=client and role=server"
                        : alone && run.barrier_fd >= 0 ? "barrier= is for role=client and role=server"
                                                       : NULL;
    if (wrong)
        fprintf(stderr, "memtest: %s\n", wrong);
    return !wrong;
}

static bool complete(void)
{
    const char *missing = !run.sessions         ? "sessions"
                          : !run.suite.protocol ? "protocol"
                          : !run.suite.cipher   ? "cipher"
                          : !run.suite.group    ? "group"
                          : !run.suite.certs    ? "certs"
                                                : NULL;
    if (missing)
        fprintf(stderr, "memtest: %s= is missing\n", missing);
    return !missing;
}

bool arguments_read(int argc, char **argv)
{
    if (argc < 2 || strcmp(argv[1], "memory") != 0) {
        fprintf(stderr, "usage: %s memory sessions=N protocol=P cipher=C group=G certs=DIR [key=value ...]\n", argv[0]);
        return false;
    }
    run.scenario = argv[1];
    for (int i = 2; i < argc; i++)
        if (!split_and_read(argv[i]))
            return false;
    if (!complete() || !consistent())
        return false;
    if (!run.window || run.window > run.sessions / 2)
        run.window = run.sessions / 2;
    return true;
}
