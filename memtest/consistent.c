/* What argv's keys, each fine by itself, must be together; and what follows of them. */
#include "core.h"

#include <stdio.h>
#include <string.h>
#include <strings.h>

static bool said(const char *wrong)
{
    if (wrong)
        fprintf(stderr, "memtest: %s\n", wrong);
    return !wrong;
}

static bool empty(const char *text)
{
    return !text || !*text;
}

static bool complete(void)
{
    const bool timed = run_is_timed();
    const bool churns = run.kind == SCENARIO_CHURN;
    const char *missing = timed && !run.timing.rounds                      ? "rounds= is missing"
                          : !timed && !run.sessions                        ? "sessions= is missing"
                          : run.kind == SCENARIO_STALL && !run.stall.point ? "point= is missing"
                          : churns && run.churn.pattern == PATTERN_NONE    ? "pattern= is missing"
                          : churns && !run.churn.waves                     ? "waves= is missing"
                          : empty(run.suite.protocol)                      ? "protocol= is missing"
                          : empty(run.suite.cipher)                        ? "cipher= is missing"
                          : empty(run.suite.group)                         ? "group= is missing"
                          : empty(run.suite.certs)                         ? "certs= is missing"
                                                                           : NULL;
    return said(missing);
}

/* What one process of a pair needs of the runner, and what only a process with both ends can do. */
static bool roles_consistent(void)
{
    bool alone = run.holds[ROLE_CLIENT] && run.holds[ROLE_SERVER],
         keeps_all = run.memory.keeps[0] && run.memory.keeps[1];
    return said(!alone && run.wires_fd < 0     ? "role= needs wires=FD, the wires that its peer has too"
                : !alone && run.barrier_fd < 0 ? "role= needs barrier=FD, a socket to its peer"
                : !alone && !keeps_all         ? "keep= is for role=both: it frees what this process holds"
                : alone && run.wires_fd >= 0   ? "wires= is for role=client and role=server"
                : alone && run.barrier_fd >= 0 ? "barrier= is for role=client and role=server"
                                               : NULL);
}

static bool contexts_consistent(void)
{
    const bool mutual = !strcmp(run.suite.auth, "mutual");
    return said(run.kind != SCENARIO_CONTEXTS ? NULL
                : run.contexts.names > 1 && !run.contexts.shares[ROLE_SERVER]
                    ? "names= of more than one needs one server context: sharing=shared or each-client"
                : run.contexts.cas > 1 && mutual
                    ? "cas= of more than one is not of auth=mutual: clients have their certificates elsewhere"
                : run.contexts.names > 1 && mutual ? "names= of more than one is not of auth=mutual"
                                                   : NULL);
}

static bool resumption_consistent(void)
{
    const struct suite *suite = &run.suite;
    const bool resumes = run.kind == SCENARIO_MEMORY || run.kind == SCENARIO_CHURN || run.kind == SCENARIO_HANDSHAKE;
    return said(!suite->resume                     ? NULL
                : !resumes                         ? "resume=on is of the scenarios memory, churn and handshake"
                : suite->tickets < 0               ? "resume=on needs a number of tickets, not the library's own"
                : !suite->store && !suite->tickets ? "resume=on needs store=on or tickets, which clients can offer"
                                                   : NULL);
}

static bool churn_consistent(void)
{
    return said(run.churn.pattern == PATTERN_SAWTOOTH && run.sessions < 8
                    ? "pattern=sawtooth needs 8 sessions, so that the stragglers of four waves are not the same ones"
                    : NULL);
}

static bool clients_consistent(void)
{
    const bool mutual = !empty(run.suite.auth) && !strcmp(run.suite.auth, "mutual");
    return said(!run.memory.each_client       ? NULL
                : run.kind != SCENARIO_MEMORY ? "client_certs=each is of the scenario memory"
                : !mutual                     ? "client_certs=each needs auth=mutual: else clients have none"
                                              : NULL);
}

/* Among the client's groups is its server's, and none is empty. Without the key it offers just that one. */
static bool groups_consistent(void)
{
    const char *group = run.suite.group, *list = run.suite.client_groups;
    bool has = false, empty_name = false;
    if (!list)
        list = run.suite.client_groups = group;
    for (const char *name = list; name; name = strchr(name, ':') ? strchr(name, ':') + 1 : NULL) {
        const size_t length = strcspn(name, ":");
        empty_name |= length == 0;
        has |= length == strlen(group) && !strncasecmp(name, group, length);
    }
    return said(!strcmp(list, GROUPS_LIBRARY) || (has && !empty_name)
                    ? NULL
                    : "client_groups= must be library, or names with colons between, of which one is group=");
}

/* Sessions of a timed run are one pair a thread, made again and again. */
static void derive(void)
{
    if (run_is_timed()) {
        run.sessions = 2 * run.threads;
        run.timing.warmup = run.timing.warmup ? run.timing.warmup : run.timing.rounds / 8 + !(run.timing.rounds / 8);
    }
    if (!run.memory.window || run.memory.window > run.sessions / 2)
        run.memory.window = run.sessions / 2;
}

bool arguments_consistent(void)
{
    if (!complete() || !groups_consistent() || !roles_consistent() || !resumption_consistent() || !churn_consistent() ||
        !contexts_consistent() || !clients_consistent())
        return false;
    derive();
    return true;
}
