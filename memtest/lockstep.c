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

static void session_new(size_t pair, enum role role, void *contexts)
{
    struct wire *end = wire_end(pair, role);
    wire_session_set(end, frames[role].session_new(((void **)contexts)[role], end, pair));
}

void sessions_new(void *contexts[2], struct pairs pairs)
{
    each(pairs, session_new, contexts);
}

static void session_step(size_t pair, enum role role, void *complete)
{
    *(size_t *)complete += frames[role].handshake(session_of(pair, role), pair);
}

/* Steps every session of a role once, here or in the other process; true when all of them are complete. */
static bool step(enum role role, struct pairs pairs)
{
    size_t complete = 0;
    each(only(role, pairs), session_step, &complete);
    return meet(role, complete == pairs.count || !pairs.has[role]);
}

void handshake(struct pairs pairs, void (*begin)(const char *phase), void (*end)(void))
{
    bool complete[2] = {false, false};
    for (int k = 1; !complete[ROLE_CLIENT] || !complete[ROLE_SERVER]; k++) {
        if (k > MAX_STEPS)
            die("handshakes incomplete after %d steps", MAX_STEPS);
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

/* A payload that no other pair or direction has. */
static const unsigned char *payload_of(enum role from, size_t pair)
{
    static unsigned char bytes[PAYLOAD_BYTES];
    for (size_t i = 0; i < PAYLOAD_BYTES; i++)
        bytes[i] = (unsigned char)((i ^ (pair >> (8 * (i % 4)))) + 101 * from);
    return bytes;
}

static void payload_write(size_t pair, enum role from, void *unused)
{
    (void)unused;
    size_t taken = frames[from].write(session_of(pair, from), pair, payload_of(from, pair), PAYLOAD_BYTES);
    if (taken != PAYLOAD_BYTES)
        die("%s %zu took %zu bytes of a payload of %d", role_name(from), pair, taken, PAYLOAD_BYTES);
}

static void payload_read(size_t pair, enum role to, void *unused)
{
    static unsigned char bytes[PAYLOAD_BYTES + 1];
    size_t size = 0, given;
    (void)unused;
    while (size < sizeof bytes &&
           (given = frames[to].read(session_of(pair, to), pair, bytes + size, sizeof bytes - size)) > 0)
        size += given;
    if (size != PAYLOAD_BYTES)
        die("%s %zu received %zu bytes of a payload of %d", role_name(to), pair, size, PAYLOAD_BYTES);
    if (memcmp(bytes, payload_of(!to, pair), PAYLOAD_BYTES) != 0)
        die("%s %zu received other bytes than were sent", role_name(to), pair);
}

void payload(enum role from, struct pairs pairs)
{
    each(only(from, pairs), payload_write, NULL);
    meet(from, true);
    each(only(!from, pairs), payload_read, NULL);
    meet(!from, true);
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

static void session_verify(size_t pair, enum role role, void *results)
{
    struct negotiated *result = &((struct negotiated *)results)[role];
    session_agrees(pair, role, session_of(pair, role), result);
    if (result->resumed)
        die("%s %zu resumed a session, the suite asks for a full handshake", role_name(role), pair);
}

void sessions_verify(struct pairs pairs, struct negotiated result[2])
{
    each(pairs, session_verify, result);
}
