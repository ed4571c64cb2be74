/* The null stack: no TLS, three blocks a session, flights of known sizes. What the meters say of it is known exactly.
 */
#include "driver.h"

#include <stdlib.h>
#include <string.h>

enum { FIRST_BYTES = 1000, SECOND_BYTES = 3032, STEPS = 2 };
static const size_t client_flight[STEPS] = {1500, 100}, server_flight[STEPS] = {8000, 0};

/* 40 + 1,000 + 3,032 bytes: under glibc their three chunks fill one page. */
struct session {
    struct wire *wire;
    unsigned char *first, *second;
    unsigned step;
    enum role role;
    unsigned long unused;
};
_Static_assert(sizeof(struct session) == 40, "the design's first block");

static const enum role roles[] = {ROLE_CLIENT, ROLE_SERVER};

static const char *version(void)
{
    return "null 1 (no TLS: three blocks of 40, 1,000 and 3,032 bytes a session)";
}

static const char *supports(const struct suite *suite)
{
    return strcmp(suite->protocol, "none") == 0 ? NULL : "has no TLS; its suite is \"none\"";
}

static void *context_new(enum role role, const struct suite *suite)
{
    (void)suite;
    return (void *)&roles[role];
}

static void *session_new(void *context, struct wire *wire)
{
    struct session *session = malloc(sizeof *session);
    unsigned char *first = malloc(FIRST_BYTES), *second = malloc(SECOND_BYTES);
    if (!session || !first || !second)
        die("out of memory");
    memset(first, 1, FIRST_BYTES);
    memset(second, 2, SECOND_BYTES);
    *session = (struct session){wire, first, second, 0, *(enum role *)context, 0};
    return session;
}

static void flight_write(struct wire *wire, size_t size)
{
    unsigned char flight[8000];
    for (size_t i = 0; i < size; i++)
        flight[i] = (unsigned char)i;
    if (size > 0 && wire_write(wire, flight, size) != size)
        die("the wire is full");
}

/* True when a whole flight was there. */
static bool flight_read(struct wire *wire, size_t size)
{
    unsigned char flight[8001];
    size_t got = wire_read(wire, flight, sizeof flight);
    if (got == 0)
        return false;
    if (got != size)
        die("a flight of %zu bytes, %zu were sent", got, size);
    for (size_t i = 0; i < size; i++)
        if (flight[i] != (unsigned char)i)
            die("byte %zu of a flight of %zu is wrong", i, size);
    return true;
}

/* Client 1,500 -> server 8,000 -> client 100 -> server. */
static bool handshake(void *opaque)
{
    struct session *session = opaque;
    bool client = session->role == ROLE_CLIENT;
    if (session->step == STEPS)
        return true;
    if (client && session->step == 1 && !flight_read(session->wire, server_flight[0]))
        return false;
    if (!client && !flight_read(session->wire, client_flight[session->step]))
        return false;
    flight_write(session->wire, (client ? client_flight : server_flight)[session->step]);
    return ++session->step == STEPS;
}

static size_t write(void *session, const void *bytes, size_t size)
{
    return wire_write(((struct session *)session)->wire, bytes, size);
}

static size_t read(void *session, void *bytes, size_t size)
{
    return wire_read(((struct session *)session)->wire, bytes, size);
}

static void negotiated(void *session, struct negotiated *result)
{
    (void)session;
    *result = (struct negotiated){.protocol = "none", .cipher = "none", .group = "none"};
}

static void session_free(void *opaque)
{
    struct session *session = opaque;
    free(session->first);
    free(session->second);
    free(session);
}

static void context_free(void *context)
{
    (void)context;
}

const struct driver driver = {
    .name = "null",
    .version = version,
    .supports = supports,
    .context_new = context_new,
    .session_new = session_new,
    .handshake = handshake,
    .write = write,
    .read = read,
    .negotiated = negotiated,
    .session_free = session_free,
    .context_free = context_free,
};
