/* Lockstep: nobody takes a step before everybody has taken the previous one, in the other process too. */
#include "core.h"

#include <stdio.h>
#include <string.h>
#include <strings.h>

static const char *role_name(enum role role)
{
    return role == ROLE_CLIENT ? "client" : "server";
}

static void *session_of(size_t pair, enum role role)
{
    return wire_session(wire_end(pair, role));
}

static struct pairs only(enum role role, struct pairs pairs)
{
    pairs.has[!role] = false;
    return pairs;
}

void pair_session_new(size_t pair, enum role role, void *contexts)
{
    struct wire *end = wire_end(pair, role);
    void *context = role == ROLE_CLIENT && run.memory.each_client ? client_context(pair) : ((void **)contexts)[role];
    wire_session_set(end, frames[role].session_new(context, end, pair));
}

void sessions_new(void *contexts[2], struct pairs pairs)
{
    if (run.suite.resume)
        sessions_new_resumed(contexts, pairs);
    else
        each(pairs, pair_session_new, contexts);
}

static void session_step(size_t pair, enum role role, void *incomplete)
{
    *(size_t *)incomplete += !frames[role].handshake(session_of(pair, role), pair);
}

/* Steps every session of a role once, here or in the other process; true when all of them are complete. */
static bool step(enum role role, struct pairs pairs)
{
    size_t incomplete = 0;
    each(only(role, pairs), session_step, &incomplete);
    return meet(role, incomplete == 0);
}

void handshake(struct pairs pairs, void (*begin)(const char *phase), void (*end)(void))
{
    bool complete[2] = {false, false};
    for (int k = 1; !complete[ROLE_CLIENT] || !complete[ROLE_SERVER]; k++) {
        if (k > MAX_STEPS) {
            refusals_end();
            die("handshakes incomplete after %d steps", MAX_STEPS);
        }
        for (enum role role = ROLE_CLIENT; role <= ROLE_SERVER; role++) {
            char phase[16];
            snprintf(phase, sizeof phase, "%s %d", role_name(role), k);
            begin(phase);
            complete[role] = step(role, pairs);
            end();
        }
    }
}

/* One more step of each, which reads tickets and writes nothing. */
void established(struct pairs pairs)
{
    for (enum role role = ROLE_CLIENT; role <= ROLE_SERVER; role++)
        if (!step(role, pairs))
            die("a complete %s session fell back into its handshake", role_name(role));
}

enum { PAIRS_AT_ONCE = 1000 }; /* in flight: wires hold no more than a record of each */

/* The first `size` bytes of a payload that no other pair or direction has. */
static const unsigned char *payload_of(enum role from, size_t pair, size_t size)
{
    static unsigned char bytes[RECORD_BYTES];
    for (size_t i = 0; i < size; i++)
        bytes[i] = (unsigned char)((i ^ (pair >> (8 * (i % 4)))) + 101 * from);
    return bytes;
}

static void payload_write(size_t pair, enum role from, void *size_given)
{
    const size_t size = *(size_t *)size_given;
    const unsigned char *bytes = payload_of(from, pair, size);
    for (size_t taken = 0, more; taken < size; taken += more) {
        more = frames[from].write(session_of(pair, from), pair, bytes + taken, size - taken);
        if (more == 0)
            die("%s %zu took %zu bytes of a payload of %zu", role_name(from), pair, taken, size);
    }
}

/* All that is there: the last read is of nothing. */
static void payload_read(size_t pair, enum role to, void *size_given)
{
    static unsigned char bytes[RECORD_BYTES + 1];
    size_t size = 0, sent = *(size_t *)size_given, given;
    while (size < sizeof bytes &&
           (given = frames[to].read(session_of(pair, to), pair, bytes + size, sizeof bytes - size)) > 0)
        size += given;
    if (size != sent)
        die("%s %zu received %zu bytes of a payload of %zu", role_name(to), pair, size, sent);
    if (memcmp(bytes, payload_of(!to, pair, sent), sent) != 0)
        die("%s %zu received other bytes than were sent", role_name(to), pair);
}

void payload(enum role from, struct pairs pairs, size_t size)
{
    const size_t end = pairs.first + pairs.count;
    for (struct pairs some = pairs; some.first < end; some.first += some.count) {
        some.count = end - some.first < PAIRS_AT_ONCE ? end - some.first : PAIRS_AT_ONCE;
        each(only(from, some), payload_write, &size);
        meet(from, true);
        each(only(!from, some), payload_read, &size);
        meet(!from, true);
    }
}

static void session_wait(size_t pair, enum role role, void *unused)
{
    unsigned char byte;
    (void)unused;
    if (frames[role].read(session_of(pair, role), pair, &byte, 1) > 0)
        die("%s %zu received more than was sent", role_name(role), pair);
}

void wait_in_read(struct pairs pairs)
{
    each(pairs, session_wait, NULL);
}

static void session_release(size_t pair, enum role role, void *unused)
{
    (void)unused;
    frames[role].release(session_of(pair, role), pair);
}

void sessions_release(struct pairs pairs)
{
    if (run.driver->release)
        each(pairs, session_release, NULL);
}

static void session_free(size_t pair, enum role role, void *unused)
{
    (void)unused;
    frames[role].session_free(session_of(pair, role), pair);
}

void sessions_free(struct pairs pairs)
{
    each_elsewhere(pairs, session_free, NULL);
}

static void same(enum role role, size_t pair, const char *what, const char *negotiated, const char *asked)
{
    if (!negotiated)
        die("%s %zu did not tell its %s", role_name(role), pair, what);
    if (strcasecmp(negotiated, asked) != 0)
        die("%s %zu negotiated %s %s, the suite asks for %s", role_name(role), pair, what, negotiated, asked);
}

void session_agrees(size_t pair, enum role role, void *session, struct negotiated *result)
{
    bool verifies = !strcmp(run.suite.auth, "mutual") || (role == ROLE_CLIENT && strcmp(run.suite.auth, "none") != 0);
    *result = (struct negotiated){0};
    harness_negotiated(session, result);
    same(role, pair, "protocol", result->protocol, run.suite.protocol);
    same(role, pair, "cipher", result->cipher, run.suite.cipher);
    if (result->group)
        same(role, pair, "group", result->group, run.suite.group);
    result->group = result->group ? run.suite.group : NULL; /* in the suite's spelling: "x25519" is OpenSSL's */
    if (result->resumed) /* without certificates; those of the session that it goes back to were verified */
        return;
    if (result->peer_verified != verifies)
        die("%s %zu %s its peer, the suite asks for auth=%s", role_name(role), pair,
            verifies ? "did not verify" : "verified", run.suite.auth);
}

static size_t asked, resumed; /* sessions, in the verification that goes on */

static void session_verify(size_t pair, enum role role, void *results)
{
    struct negotiated *result = &((struct negotiated *)results)[role];
    session_agrees(pair, role, session_of(pair, role), result);
    retry_agrees(pair, role, wire_end(pair, role));
    if (role == ROLE_SERVER && result->peer_verified)
        client_verified(pair, result);
    if (result->resumed && !run.suite.resume)
        die("%s %zu resumed a session, the suite asks for a full handshake", role_name(role), pair);
    asked++;
    resumed += result->resumed;
}

void sessions_verify(struct pairs pairs, struct negotiated result[2])
{
    asked = resumed = 0;
    each(pairs, session_verify, result);
    if (run.suite.resume && resumed < asked)
        die("resumed %zu of %zu sessions, the suite asks for all; a store that is full has dropped what was not yet "
            "offered again, so let fewer pairs wait for it: window=, or fewer sessions",
            resumed, asked);
}
