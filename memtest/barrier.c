/* Two processes in one lockstep: a byte each way over a stream socket says that both have come this far. A socket, not
 * words in the wires' memfd: when a process ends, however it ends, the kernel closes its end, and the other reads that
 * at once. Words in memory would need a time limit, which is too short on a busy machine or too long on any other. */
#define _GNU_SOURCE
#include "churn.h"
#include "core.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>
#include <sys/socket.h>

static bool alone(void)
{
    return run.holds[ROLE_CLIENT] && run.holds[ROLE_SERVER];
}

static const char *peer(void)
{
    return run.holds[ROLE_CLIENT] ? "server" : "client";
}

_Noreturn static void peer_ended(void)
{
    refusals_end(); /* not what this process's library does not take */
    die("the %s's process has ended", peer());
}

/* All of it was sent or received, or the run ends here. */
static void must(ssize_t done, size_t size)
{
    if (done < 0 && errno != EPIPE && errno != ECONNRESET)
        die("barrier=%d: %s", run.barrier_fd, strerror(errno));
    if (done != (ssize_t)size)
        peer_ended();
}

static void swap(const void *mine, void *theirs, size_t size)
{
    must(send(run.barrier_fd, mine, size, MSG_NOSIGNAL), size);
    must(recv(run.barrier_fd, theirs, size, MSG_WAITALL), size);
}

/* What both must have been started with, each as in argv: certificates may lie in a directory of each one's own. Other
 * languages have the same terms in the same order. */
enum { TERMS = 18, TERM_BYTES = 128 };
typedef char terms[TERMS][TERM_BYTES];

/* With the keys of churn that both must have alike. */
static void scenario_write(char term[TERM_BYTES])
{
    if (run.kind == SCENARIO_CHURN)
        snprintf(term, TERM_BYTES, "scenario=%s pattern=%s waves=%zu seed=%zu", run.scenario,
                 churn_patterns[run.churn.pattern], run.churn.waves, run.churn.seed);
    else
        snprintf(term, TERM_BYTES, "scenario=%s", run.scenario);
}

static void terms_write(terms mine)
{
    const struct suite *suite = &run.suite;
    char(*term)[TERM_BYTES] = mine;
    snprintf(*term++, TERM_BYTES, "role=%s", run.holds[ROLE_CLIENT] ? "client" : "server");
    snprintf(*term++, TERM_BYTES, "sessions=%zu", run.sessions);
    snprintf(*term++, TERM_BYTES, "window=%zu", run.memory.window);
    snprintf(*term++, TERM_BYTES, "threads=%zu", run.threads);
    snprintf(*term++, TERM_BYTES, "until=%s", run.until ? run.until : "");
    snprintf(*term++, TERM_BYTES, "marks=%d", run.marks);
    snprintf(*term++, TERM_BYTES, "protocol=%s", suite->protocol);
    snprintf(*term++, TERM_BYTES, "cipher=%s", suite->cipher);
    snprintf(*term++, TERM_BYTES, "group=%s", suite->group);
    snprintf(*term++, TERM_BYTES, "client_groups=%s", suite->client_groups);
    snprintf(*term++, TERM_BYTES, "auth=%s", suite->auth);
    if (suite->tickets == TICKETS_LIBRARY)
        snprintf(*term++, TERM_BYTES, "tickets=library");
    else
        snprintf(*term++, TERM_BYTES, "tickets=%d", suite->tickets);
    snprintf(*term++, TERM_BYTES, "store=%s", suite->store ? "on" : "off");
    snprintf(*term++, TERM_BYTES, "resume=%s", suite->resume ? "on" : "off");
    snprintf(*term++, TERM_BYTES, "options=%s", suite->options);
    snprintf(*term++, TERM_BYTES, "client_certs=%s", run.memory.each_client ? "each" : "same");
    snprintf(*term++, TERM_BYTES, "data=%s", run.memory.full_records ? "full" : "short");
    scenario_write(*term);
}

/* The first meeting. Under other arguments the two would part somewhere later, and neither could say why. */
void peer_must_agree(void)
{
    static terms mine, theirs;
    if (alone())
        return;
    terms_write(mine);
    swap(mine, theirs, sizeof mine);
    if (!strcmp(mine[0], theirs[0]))
        die("the other process was started with %s too", mine[0]);
    for (int i = 1; i < TERMS; i++) /* names without regard to case, as those of what was negotiated */
        if (strncasecmp(mine[i], theirs[i], TERM_BYTES))
            die("the %s's process was started with %.*s, this one with %s", peer(), TERM_BYTES, theirs[i], mine[i]);
}

bool meet(enum role role, bool value)
{
    unsigned char mine = value, theirs;
    if (alone())
        return value;
    swap(&mine, &theirs, 1);
    return run.holds[role] ? value : theirs;
}

void peer_must_live(void)
{
    struct pollfd peer = {.fd = run.barrier_fd, .events = POLLRDHUP};
    if (!alone() && poll(&peer, 1, 0) == 1 && peer.revents & (POLLRDHUP | POLLHUP))
        peer_ended();
}
