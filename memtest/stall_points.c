/* Where a peer stops, and what it has sent: RFC 8446, 4 and 5.1. Every record that is sent is complete, for a library
 * may wait for the whole of one before it looks at what a message announces. */
#include "hello.h"
#include "server_flight.h"
#include "stall.h"
#include "tls_bytes.h"

#include <stdio.h>
#include <string.h>

enum { CLIENT_HELLO = 1, SERVER_HELLO = 2, CERTIFICATE = 11 };
enum { SERVER_NAME_EXTENSION = 0, ALPN = 16 };
enum { PRE_SHARED_KEY = 41, PSK_KEY_EXCHANGE_MODES = 45, KEY_SHARE = 51 };
enum { NAMES_BYTES = 64 * 1024 };

static struct hello hello;
static struct server_flight flight_of_server;
static unsigned char names[NAMES_BYTES];
static size_t names_size;

/* A client of the pair, up to its first flight; the pair's other end has not seen it. */
static void *client_begin(size_t pair)
{
    void *client = frames[ROLE_CLIENT].session_new(stall_contexts[ROLE_CLIENT], wire_end(pair, ROLE_CLIENT), pair);
    frames[ROLE_CLIENT].handshake(client, pair);
    return client;
}

/* What the stack's own client sends first. */
static void capture(const struct stall_point *point)
{
    static unsigned char flight[FLIGHT_BYTES];
    void *client = client_begin(0);
    (void)point;
    hello_capture(&hello, flight, stall_intercept(0, flight, sizeof flight));
    frames[ROLE_CLIENT].session_free(client, 0);
    wires_reset((struct pairs){.count = 1, .has = {true, true}});
}

/* A record of six bytes: the header of a message of that many, and its first two. */
static void announce(size_t pair, unsigned char type, size_t bytes, unsigned char minor)
{
    unsigned char record[] = {HANDSHAKE_RECORD, 3, minor, 0, 6, type, 0, 0, 0, 3, 3};
    number_put(record + RECORD_HEADER + 1, 3, bytes);
    stall_send(pair, record, sizeof record);
}

static void announce_hello(size_t pair, const struct stall_point *point)
{
    announce(pair, CLIENT_HELLO, point->bytes, 1);
}

static void announce_server_hello(size_t pair, const struct stall_point *point)
{
    announce(pair, SERVER_HELLO, point->bytes, 3);
}

static void send_hello(size_t pair, const struct stall_point *point)
{
    (void)point;
    stall_send(pair, hello.records, hello.size);
}

static void send_hello_by_bytes(size_t pair, const struct stall_point *point)
{
    (void)point;
    for (size_t at = 0; at + 1 < hello.size; at++)
        stall_send(pair, hello.records + at, 1);
}

/* In TLS 1.2 a client's Certificate is in the clear. */
static void announce_certificate(size_t pair, const struct stall_point *point)
{
    send_hello(pair, point);
    announce(pair, CERTIFICATE, point->bytes, 3);
}

/* ALPN is a list of names with their lengths; a host name has its length and that of its list before it. */
static void extend(const struct stall_point *point)
{
    static unsigned char body[UINT16_MAX];
    capture(point);
    memset(body, 'x', point->bytes);
    if (point->extension == ALPN) {
        number_put(body, 2, point->bytes - 2);
        for (size_t at = 2; at < point->bytes; at += 10)
            body[at] = point->bytes - at > 19 ? 9 : (unsigned char)(point->bytes - at - 1);
    }
    if (point->extension == SERVER_NAME_EXTENSION) {
        const size_t name = point->bytes - 5;
        number_put(body, 2, name + 3);
        body[2] = 0; /* a host name */
        number_put(body + 3, 2, name);
        for (size_t at = 5 + 63; at < point->bytes - 1; at += 64)
            body[at] = '.'; /* as no label is longer */
    }
    hello_extend(&hello, point->extension, body, point->bytes);
}

/* A ticket that the server has never issued, with its age, and one binder as long as the suite's hash: RFC
 * 8446, 4.2.11. A client that offers one says how it would use it, too. */
static void offer_ticket(const struct stall_point *point)
{
    static unsigned char body[UINT16_MAX];
    const size_t binder = strstr(run.suite.cipher, "SHA384") ? 48 : 32, identity = point->bytes;
    capture(point);
    hello_extend(&hello, PSK_KEY_EXCHANGE_MODES, (const unsigned char[]){1, 1}, 2);
    memset(body, 'x', sizeof body);
    number_put(body, 2, identity + 6);
    number_put(body + 2, 2, identity);
    number_put(body + 4 + identity + 4, 2, binder + 1);
    number_put(body + 4 + identity + 4 + 2, 1, binder);
    hello_extend(&hello, PRE_SHARED_KEY, body, 4 + identity + 4 + 3 + binder);
}

/* The client's own key share, as often as it fits: RFC 8446, 4.2.8, allows one of each group. */
static void repeat_share(const struct stall_point *point)
{
    static unsigned char body[UINT16_MAX];
    const unsigned char *shares;
    capture(point);
    size_t made = 2, size = hello_extension(&hello, KEY_SHARE, &shares) - 2;
    for (; made + size <= point->bytes; made += size)
        memcpy(body + made, shares + 2, size);
    number_put(body, 2, made - 2);
    hello_extend(&hello, KEY_SHARE, body, made);
}

/* Steps the server of a client that waits, and takes what it writes before the client reads it. */
static size_t server_step(void *server, size_t pair, unsigned char *flight)
{
    for (int k = 0; k < MAX_STEPS && wire_unread(wire_end(pair, ROLE_SERVER)); k++)
        frames[ROLE_SERVER].handshake(server, pair);
    return stall_intercept(pair, flight, FLIGHT_BYTES);
}

static void *server_begin(size_t pair)
{
    return frames[ROLE_SERVER].session_new(stall_contexts[ROLE_SERVER], wire_end(pair, ROLE_SERVER), pair);
}

/* The file of names stands beside the certificates of all kinds. */
static void read_names(const struct stall_point *point)
{
    char path[PATH_BYTES];
    (void)point;
    FILE *file = fopen(suite_path(path, &run.suite, "../ca-names.der"), "rb");
    if (!file)
        die("%s: there is no such file; memtest/certs/make_certs.sh makes it", path);
    names_size = fread(names, 1, sizeof names, file);
    fclose(file);
}

/* A real server's first flight, with other names in its certificate request. It is freed before the client has it. */
static void send_request(size_t pair, const struct stall_point *point)
{
    static unsigned char flight[FLIGHT_BYTES];
    void *server = server_begin(pair);
    server_flight_capture(&flight_of_server, flight, server_step(server, pair, flight));
    frames[ROLE_SERVER].session_free(server, pair);
    server_flight_request(&flight_of_server, names, names_size, point->names);
    stall_send(pair, flight_of_server.records, flight_of_server.size);
}

/* A real server goes as far as its ticket, which the client gets: its own, or one of as many bytes as the point has. */
static void send_ticket(size_t pair, const struct stall_point *point)
{
    static unsigned char flight[FLIGHT_BYTES];
    void *server = server_begin(pair);
    const size_t first = server_step(server, pair, flight);
    stall_send(pair, flight, first);
    server_flight_capture(&flight_of_server, flight, server_step(server, pair, flight));
    frames[ROLE_SERVER].session_free(server, pair);
    if (point->bytes)
        server_flight_ticket(&flight_of_server, point->bytes);
    stall_send(pair, flight_of_server.records, flight_of_server.size);
}

/* Up to the first record of application data, which in TLS 1.3 begins the client's Certificate. */
static size_t first_protected_record(const unsigned char *flight, size_t size)
{
    for (size_t at = 0, end; at + RECORD_HEADER <= size; at = end) {
        end = at + RECORD_HEADER + number(flight + at + 3, 2);
        if (end > size)
            die("the client's second flight ends within a record");
        if (flight[at] == APPLICATION_RECORD)
            return end;
    }
    die("the client's second flight has no protected record");
}

/* What a real client answers a server that has got its first flight. It is freed before the server has the answer. */
static size_t second_flight(size_t pair, unsigned char *flight)
{
    void *client = client_begin(pair);
    stall_send(pair, flight, stall_intercept(pair, flight, FLIGHT_BYTES));
    frames[ROLE_CLIENT].handshake(client, pair);
    const size_t size = stall_intercept(pair, flight, FLIGHT_BYTES);
    frames[ROLE_CLIENT].session_free(client, pair);
    return size;
}

static void send_client_flight(size_t pair, const struct stall_point *point)
{
    static unsigned char flight[FLIGHT_BYTES];
    (void)point;
    stall_send(pair, flight, second_flight(pair, flight));
}

/* A real server's first flight, whole. It is freed before the client has it. */
static void send_server_flight(size_t pair, const struct stall_point *point)
{
    static unsigned char flight[FLIGHT_BYTES];
    void *server = server_begin(pair);
    const size_t size = server_step(server, pair, flight);
    (void)point;
    frames[ROLE_SERVER].session_free(server, pair);
    stall_send(pair, flight, size);
}

/* Of the client's Certificate the first record arrives. */
static void send_first_of_certificate(size_t pair, const struct stall_point *point)
{
    static unsigned char flight[FLIGHT_BYTES];
    const size_t size = second_flight(pair, flight);
    if (size < point->bytes)
        die("the client's second flight has %zu bytes, too few for a certificate message of %zu", size, point->bytes);
    stall_send(pair, flight, first_protected_record(flight, size));
}

/* In the order of memtest/stall_points.toml. */
const struct stall_point stall_points[] = {
#include "stall_points.inc"
    {.name = NULL},
};

const struct stall_point *stall_point_find(const char *name)
{
    for (const struct stall_point *point = stall_points; point->name; point++)
        if (!strcmp(name, point->name))
            return point;
    return NULL;
}
