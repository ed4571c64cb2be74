/* Lockstep: nobody takes a step before everybody has taken the previous one. */
#include "core.h"

#include <stdio.h>
#include <string.h>
#include <strings.h>

static const char *role_name(enum role role)
{
    return role == ROLE_CLIENT ? "client" : "server";
}

void sessions_new(void *contexts[2], struct pairs pairs)
{
    for (size_t pair = pairs.first; pair < pairs.first + pairs.count; pair++)
        for (enum role role = ROLE_CLIENT; role <= ROLE_SERVER; role++) {
            struct wire *end = wire_end(pair, role);
            wire_session_set(end, frames[role].session_new(contexts[role], end, pair));
        }
}

/* Steps every session of a role once; true when all of them are complete. */
static bool step(enum role role, struct pairs pairs)
{
    size_t complete = 0;
    for (size_t pair = pairs.first; pair < pairs.first + pairs.count; pair++)
        complete += frames[role].handshake(wire_session(wire_end(pair, role)), pair);
    return complete == pairs.count;
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

static void payload_write(enum role from, size_t pair)
{
    void *session = wire_session(wire_end(pair, from));
    size_t taken = frames[from].write(session, pair, payload_of(from, pair), PAYLOAD_BYTES);
    if (taken != PAYLOAD_BYTES)
        die("%s %zu took %zu bytes of a payload of %d", role_name(from), pair, taken, PAYLOAD_BYTES);
}

static void payload_read(enum role to, size_t pair)
{
    static unsigned char bytes[PAYLOAD_BYTES + 1];
    void *session = wire_session(wire_end(pair, to));
    size_t size = 0, given;
    while (size < sizeof bytes && (given = frames[to].read(session, pair, bytes + size, sizeof bytes - size)) > 0)
        size += given;
    if (size != PAYLOAD_BYTES)
        die("%s %zu received %zu bytes of a payload of %d", role_name(to), pair, size, PAYLOAD_BYTES);
    if (memcmp(bytes, payload_of(to == ROLE_CLIENT ? ROLE_SERVER : ROLE_CLIENT, pair), PAYLOAD_BYTES) != 0)
        die("%s %zu received other bytes than were sent", role_name(to), pair);
}

void payload(enum role from, struct pairs pairs)
{
    enum role to = from == ROLE_CLIENT ? ROLE_SERVER : ROLE_CLIENT;
    for (size_t pair = pairs.first; pair < pairs.first + pairs.count; pair++)
        payload_write(from, pair);
    for (size_t pair = pairs.first; pair < pairs.first + pairs.count; pair++)
        payload_read(to, pair);
}

void sessions_release(struct pairs pairs)
{
    for (size_t pair = pairs.first; run.driver->release && pair < pairs.first + pairs.count; pair++)
        for (enum role role = ROLE_CLIENT; role <= ROLE_SERVER; role++)
            frames[role].release(wire_session(wire_end(pair, role)), pair);
}

void sessions_free(struct pairs pairs)
{
    for (size_t pair = pairs.first; pair < pairs.first + pairs.count; pair++)
        for (enum role role = ROLE_CLIENT; role <= ROLE_SERVER; role++)
            frames[role].session_free(wire_session(wire_end(pair, role)), pair);
}

static void same(enum role role, size_t pair, const char *what, const char *negotiated, const char *asked)
{
    if (!negotiated)
        die("%s %zu did not tell its %s", role_name(role), pair, what);
    if (strcasecmp(negotiated, asked) != 0)
        die("%s %zu negotiated %s %s, the suite asks for %s", role_name(role), pair, what, negotiated, asked);
}

static void verify(enum role role, size_t pair, struct negotiated *result)
{
    bool verifies = !strcmp(run.suite.auth, "mutual") || (role == ROLE_CLIENT && strcmp(run.suite.auth, "none") != 0);
    *result = (struct negotiated){0};
    harness_negotiated(wire_session(wire_end(pair, role)), result);
    same(role, pair, "protocol", result->protocol, run.suite.protocol);
    same(role, pair, "cipher", result->cipher, run.suite.cipher);
    if (result->group)
        same(role, pair, "group", result->group, run.suite.group);
    result->group = result->group ? run.suite.group : NULL; /* in the suite's spelling: "x25519" is OpenSSL's */
    if (result->resumed)
        die("%s %zu resumed a session, the suite asks for a full handshake", role_name(role), pair);
    if (result->peer_verified != verifies)
        die("%s %zu %s its peer, the suite asks for auth=%s", role_name(role), pair,
            verifies ? "did not verify" : "verified", run.suite.auth);
}

void sessions_verify(struct pairs pairs, struct negotiated result[2])
{
    for (size_t pair = pairs.first; pair < pairs.first + pairs.count; pair++)
        for (enum role role = ROLE_CLIENT; role <= ROLE_SERVER; role++)
            verify(role, pair, &result[role]);
}
