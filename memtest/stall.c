/* Scenario `stall`: what sessions hold whose peers stop on the way. The core speaks for the peers: they are bytes, and
 * cost nothing here. Each point is tried at one session first: what a library refuses is unsupported, with its words.
 */
#include "stall.h"

#include <stdio.h>
#include <string.h>

void *stall_contexts[2];
static struct negotiated result[2];
static uint64_t received;
static bool counts;

static const char *refused_point(void)
{
    static char words[64];
    snprintf(words, sizeof words, "does not reach the point %s", run.stall.point->name);
    return words;
}

static void *waiting(size_t pair)
{
    return wire_session(wire_end(pair, run.stall.point->role));
}

/* The library does other than the point asks for: of the first session a refusal, of a later one a failure. */
static void not_reached(size_t pair, const char *why)
{
    if (counts)
        die("session %zu %s, although the first one did: %s", pair, refused_point(), why);
    refusals_begin(refused_point());
    die("%s", why);
}

/* What the library says of itself in a step is a refusal; before it and behind it, a failure is a failure. */
static bool step(size_t pair)
{
    refusals_begin(refused_point());
    bool complete = frames[run.stall.point->role].handshake(waiting(pair), pair);
    refusals_end();
    return complete;
}

void stall_send(size_t pair, const void *bytes, size_t size)
{
    const struct stall_point *point = run.stall.point;
    if (wire_write(wire_end(pair, !point->role), bytes, size) != size)
        die("stall: the wire has no room for %zu bytes", size);
    received += counts ? size : 0;
    for (int k = 0; k < MAX_STEPS && wire_unread(wire_end(pair, point->role)); k++) /* some take a record a step */
        if (step(pair) && !point->completes)
            die("point %s: the session is complete, where it should wait", point->name);
}

size_t stall_intercept(size_t pair, unsigned char *bytes, size_t room)
{
    size_t size = 0, more;
    while (size < room && (more = wire_read(wire_end(pair, run.stall.point->role), bytes + size, room - size)) > 0)
        size += more;
    return size;
}

static void check(size_t pair)
{
    const struct stall_point *point = run.stall.point;
    const bool written = wire_unread(wire_end(pair, !point->role)); /* which its peer never reads; a client's hello */
    if (wire_unread(wire_end(pair, point->role)))
        not_reached(pair, "the session leaves bytes unread");
    if (written && !point->answers && point->role == ROLE_SERVER)
        not_reached(pair, "the session answers, where it should wait for more");
    if (!written && point->answers)
        not_reached(pair, "the session writes nothing, where it should answer");
}

static void connect(size_t pair, enum role role, void *unused)
{
    struct wire *end = wire_end(pair, role);
    (void)unused;
    wire_session_set(end, frames[role].session_new(stall_contexts[role], end, pair));
    if (step(pair))
        die("a session is complete before its peer has sent anything");
}

static void stall_one(size_t pair, enum role role, void *unused)
{
    const struct stall_point *point = run.stall.point;
    (void)role, (void)unused;
    if (point->deliver)
        point->deliver(pair, point);
    check(pair);
}

static struct pairs waiting_pairs(size_t count)
{
    const struct stall_point *point = run.stall.point;
    return (struct pairs){.count = count, .has = {point->role == ROLE_CLIENT, point->role == ROLE_SERVER}};
}

/* One session stalls and is freed before those that count. */
static void warm_up(void)
{
    const struct stall_point *point = run.stall.point;
    const struct pairs first = waiting_pairs(1);
    if (point->prepare)
        point->prepare(point);
    each(first, connect, NULL);
    each(first, stall_one, NULL);
    sessions_free(first);
    wires_reset(first);
    counts = true;
}

static const struct negotiated *verified(void)
{
    return result;
}

static void phase(const char *name, void (*act)(void))
{
    phase_begin(name);
    act();
    phase_end();
}

static void open_contexts(void)
{
    if (run.stall.point->large_chain)
        refusals_begin(refused_point());
    contexts_open(stall_contexts, result);
    refusals_end();
    warm_up();
    meter_trim();
}

static void connect_all(void)
{
    each(waiting_pairs(run.sessions / 2), connect, NULL);
}

static void stall_all(void)
{
    each(waiting_pairs(run.sessions / 2), stall_one, NULL);
}

static void close_all(void)
{
    sessions_free(waiting_pairs(run.sessions / 2));
}

static void free_contexts(void)
{
    contexts_free(stall_contexts);
}

uint64_t stall_received_bytes(void)
{
    return received;
}

const char *stall_lacks(void)
{
    const struct stall_point *point = run.stall.point;
    static char sentence[128];
    const struct suite *suite = &run.suite;
    if (!strcmp(suite->protocol, "none") && point->deliver)
        return "without TLS no peer stops but one that sends nothing";
    const char *needs = point->protocol && strcmp(suite->protocol, point->protocol) ? point->protocol
                        : point->auth && strcmp(suite->auth, point->auth)           ? "mutual authentication"
                        : point->ticket && !suite->tickets                          ? "a suite with tickets"
                                                                                    : NULL;
    if (needs)
        snprintf(sentence, sizeof sentence, "the point %s is of %s", point->name, needs);
    return needs ? sentence : NULL;
}

void stall(void)
{
    phases_open(verified);
    phase("contexts", open_contexts);
    phase("connected", connect_all);
    phase("stalled", stall_all);
    phase("closed", close_all);
    phase("trimmed", meter_trim);
    phase("freed", free_contexts);
    phases_close(result);
}
