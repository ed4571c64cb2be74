/* A minimal hand-written loop around OpenSSL's own interface, without core and driver: what a harness may cost is told
 * by comparing the two. The same work as the timed scenarios of docs/reference/records.md, on one thread, two buffers
 * as wires.
 *
 *     openssl_loop handshake rounds=512 protocol=TLSv1.3 cipher=TLS_AES_256_GCM_SHA384 group=X25519
 *         certs=memtest/certs/rsa-2048 resume=on tickets=1 store=off cpus=0
 *     openssl_loop throughput rounds=64 size=1048576 protocol=... cipher=... group=... certs=... cpus=0
 *
 * It prints {"client_ns":..,"server_ns":..,"count":..}, of the construction, all steps and the freeing of both ends, or
 * {"send_ns":..,"receive_ns":..,"bytes":..}; an eighth of the rounds before are not in it. */
#define _GNU_SOURCE
#include "openssl_flow.h"

#include <openssl/err.h>
#include <openssl/ssl.h>
#include <sched.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { CLIENT, SERVER, NOBODY }; /* whose time it is */

static char **words;
static SSL_CTX *contexts[2];
static uint64_t at_ns, spent_ns[3];

static void must(bool done, const char *what)
{
    if (done)
        return;
    fprintf(stderr, "openssl_loop: %s failed\n", what);
    ERR_print_errors_fp(stderr);
    exit(1);
}

static const char *get(const char *key, const char *otherwise)
{
    for (char **word = words; *word; word++)
        if (!strncmp(*word, key, strlen(key)) && (*word)[strlen(key)] == '=')
            return *word + strlen(key) + 1;
    must(otherwise, key);
    return otherwise;
}

static const char *file(const char *name)
{
    static char path[4096];
    snprintf(path, sizeof path, "%s/%s", get("certs", NULL), name);
    return path;
}

static size_t number(const char *key, const char *otherwise)
{
    return strtoull(get(key, otherwise), NULL, 10);
}

/* The time since the lap before was this one's. */
static void lap(int role)
{
    struct timespec now;
    uint64_t before_ns = at_ns;
    clock_gettime(CLOCK_MONOTONIC_RAW, &now);
    at_ns = (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
    spent_ns[role] += at_ns - before_ns;
}

static SSL_CTX *context_new(int role)
{
    const bool tls13 = !strcmp(get("protocol", NULL), "TLSv1.3"), store = !strcmp(get("store", "off"), "on");
    const int version = tls13 ? TLS1_3_VERSION : TLS1_2_VERSION;
    const char *cipher = get("cipher", NULL);
    const size_t tickets = number("tickets", "0");
    SSL_CTX *ctx = SSL_CTX_new(role == CLIENT ? TLS_client_method() : TLS_server_method());
    must(SSL_CTX_set_min_proto_version(ctx, version) && SSL_CTX_set_max_proto_version(ctx, version), "protocol");
    must(tls13 ? SSL_CTX_set_ciphersuites(ctx, cipher) : SSL_CTX_set_cipher_list(ctx, cipher), "cipher");
    must(SSL_CTX_set1_groups_list(ctx, get("group", NULL)) && SSL_CTX_set_num_tickets(ctx, tickets), "group");
    SSL_CTX_set_options(ctx, store || !tickets ? SSL_OP_NO_TICKET : 0);
    SSL_CTX_set_session_cache_mode(ctx, store && role == SERVER ? SSL_SESS_CACHE_SERVER : SSL_SESS_CACHE_OFF);
    if (role == CLIENT)
        SSL_CTX_set_verify(ctx, SSL_VERIFY_PEER, NULL);
    must(role == SERVER || SSL_CTX_load_verify_locations(ctx, file("root.pem"), NULL), "root.pem");
    must(role == CLIENT || SSL_CTX_use_certificate_chain_file(ctx, file("chain.pem")) == 1, "chain.pem");
    must(role == CLIENT || SSL_CTX_use_PrivateKey_file(ctx, file("key.pem"), SSL_FILETYPE_PEM) == 1, "key.pem");
    return ctx;
}

static SSL *session_new(int role)
{
    BIO *bio = flow_bio(role);
    SSL *ssl = SSL_new(contexts[role]);
    must(bio && ssl, "SSL_new");
    SSL_set_bio(ssl, bio, bio);
    role == CLIENT ? SSL_set_connect_state(ssl) : SSL_set_accept_state(ssl);
    must(role == SERVER || (SSL_set_tlsext_host_name(ssl, "localhost") && SSL_set1_host(ssl, "localhost")), "name");
    return ssl;
}

static void session_free(SSL *ssl)
{
    SSL_set_shutdown(ssl, SSL_SENT_SHUTDOWN | SSL_RECEIVED_SHUTDOWN);
    SSL_free(ssl);
}

/* In turn, until both are complete and nothing is left unread: a client that is complete reads its tickets. */
static void handshake(SSL *ssl[2])
{
    char byte;
    for (int role = CLIENT; SSL_in_init(ssl[0]) || SSL_in_init(ssl[1]) || flow_unread(SERVER); role = !role) {
        int result = SSL_in_init(ssl[role]) ? SSL_do_handshake(ssl[role]) : SSL_peek(ssl[role], &byte, 1);
        must(result == 1 || SSL_get_error(ssl[role], result) == SSL_ERROR_WANT_READ, "the handshake");
        lap(role);
    }
}

/* One after the other; a client that is resumed goes when the next is made. */
static void handshakes(size_t warmup, size_t rounds)
{
    const bool resume = !strcmp(get("resume", "off"), "on");
    SSL *ssl[2], *previous = NULL;
    for (size_t round = 0; round <= warmup + rounds; round++) {
        if (round == warmup + 1)
            memset(spent_ns, 0, sizeof spent_ns);
        lap(NOBODY);
        ssl[CLIENT] = session_new(CLIENT);
        if (previous) {
            must(SSL_set_session(ssl[CLIENT], SSL_get_session(previous)), "SSL_set_session");
            session_free(previous);
        }
        lap(CLIENT);
        ssl[SERVER] = session_new(SERVER);
        lap(SERVER);
        handshake(ssl);
        must(SSL_get_verify_result(ssl[CLIENT]) == X509_V_OK, "the certificate's verification");
        must(SSL_session_reused(ssl[CLIENT]) == (previous != NULL), "resumption, as it was asked for,");
        lap(NOBODY);
        session_free(ssl[SERVER]);
        lap(SERVER);
        if (!resume)
            session_free(ssl[CLIENT]);
        lap(CLIENT);
        previous = resume ? ssl[CLIENT] : NULL;
    }
    printf("{\"client_ns\":%lu,\"server_ns\":%lu,\"count\":%zu}\n", spent_ns[CLIENT], spent_ns[SERVER], rounds);
}

static void transfers(size_t warmup, size_t rounds, size_t size)
{
    const size_t writes = size < 65536 ? 65536 / size : 1, bytes = writes * size;
    char *source = malloc(size), *target = malloc(bytes);
    SSL *ssl[2] = {session_new(CLIENT), session_new(SERVER)};
    handshake(ssl);
    for (size_t i = 0; i < size; i++)
        source[i] = (char)i;
    for (size_t round = 0; round < warmup + rounds; round++) {
        source[0] = (char)round;
        if (round == warmup)
            memset(spent_ns, 0, sizeof spent_ns);
        lap(NOBODY);
        for (size_t i = 0; i < writes; i++)
            must(SSL_write(ssl[SERVER], source, (int)size) == (int)size, "SSL_write");
        lap(SERVER);
        for (int given = 0, more; given < (int)bytes; given += more)
            must((more = SSL_read(ssl[CLIENT], target + given, (int)bytes - given)) > 0, "SSL_read");
        lap(CLIENT);
        for (size_t i = 0; i < writes; i++)
            must(!memcmp(target + i * size, source, size), "the comparison of what was received");
    }
    printf("{\"send_ns\":%lu,\"receive_ns\":%lu,\"bytes\":%zu}\n", spent_ns[SERVER], spent_ns[CLIENT], rounds * bytes);
}

/* Instead of the harness's main: tools/dev/loop_cost.py links this file behind all that the harness is made of. So the
 * library's functions lie at the same distances in both. Which of them share lines of the instruction cache depends on
 * that alone, and made OpenSSL 3 % slower or faster. */
int __wrap_main(int argc, char **argv)
{
    const bool bulk = argc > 1 && !strcmp(argv[1], "throughput");
    cpu_set_t set;
    words = argv;
    must(bulk || (argc > 1 && !strcmp(argv[1], "handshake")), "openssl_loop handshake|throughput KEY=VALUE ...: usage");
    const size_t rounds = number("rounds", NULL), size = number("size", "1048576");
    CPU_ZERO(&set);
    CPU_SET(number("cpus", "0"), &set);
    must(size > 0 && sched_setaffinity(0, sizeof set, &set) == 0, "cpus");
    must(flows_open(2 * size + (32 << 20)), "malloc"); /* however small the records */
    for (int role = CLIENT; role <= SERVER; role++)
        contexts[role] = context_new(role);
    if (bulk)
        transfers(rounds / 8 + 1, rounds, size);
    else
        handshakes(rounds / 8 + 1, rounds);
    return 0;
}
