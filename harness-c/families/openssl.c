/* What the drivers of OpenSSL's family share. */
#define _GNU_SOURCE
#include "openssl_names.h"
#include "openssl_parts.h"

#include <limits.h>
#include <openssl/err.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void openssl_check(bool done, const char *what)
{
    char reason[256];
    if (done)
        return;
    ERR_error_string_n(ERR_peek_error(), reason, sizeof reason); /* the first: others only say who passed it on */
    die("%s: %s", what, ERR_peek_error() ? reason : "failed");
}

/* Just the suite's. But TLS 1.2 has one list for key exchange and for the curves of certificates, so a P-256 chain
 * needs P-256 in it too: last, and what was negotiated is checked. */
static bool groups_set(SSL_CTX *ctx, enum role role, const struct suite *suite)
{
    char groups[256];
    const char *list = role_groups(role, suite);
    if (!list)
        return true;
    bool p256 = !openssl_is_tls13(suite) && strstr(suite->cipher, "ECDSA") && !strcasestr(list, "P-256");
    return snprintf(groups, sizeof groups, "%s%s", list, p256 ? ":P-256" : "") < (int)sizeof groups &&
           SSL_CTX_set1_groups_list(ctx, groups);
}

const char *openssl_offers(SSL_CTX *ctx, const struct suite *suite)
{
    bool tls13 = openssl_is_tls13(suite);
    int protocol = tls13 ? TLS1_3_VERSION : TLS1_2_VERSION;
    if (!tls13 && strcmp(suite->protocol, "TLSv1.2") != 0)
        return "does TLSv1.2 and TLSv1.3 only";
    if (!SSL_CTX_set_min_proto_version(ctx, protocol) || !SSL_CTX_set_max_proto_version(ctx, protocol))
        return "does not have this protocol";
    if (!strcmp(suite->options, "drop-peer-chain") && !peer_chains_drop(ctx))
        return "options=drop-peer-chain: has no option for it";
    if (!tls13 && !SSL_CTX_set_cipher_list(ctx, suite->cipher))
        return "does not have this cipher";
    return NULL;
}

const char *openssl_supports(const struct suite *suite, openssl_configure *configure)
{
    SSL_CTX *ctx = SSL_CTX_new(TLS_method());
    openssl_check(ctx, "SSL_CTX_new");
    const char *lacks = configure(ctx, suite);
    for (enum role role = ROLE_CLIENT; !lacks && role <= ROLE_SERVER; role++)
        lacks = groups_set(ctx, role, suite) ? NULL : "does not have this group";
    SSL_CTX_free(ctx);
    ERR_clear_error();
    return lacks;
}

/* A server keeps its sessions in the library's own store, as large as the library has it: 20,480 of them. Each
 * resumption in TLS 1.3 puts one more into it, and once it is full each drops the oldest, never the one just made. */
static void resumption_set(SSL_CTX *ctx, enum role role, const struct suite *suite)
{
    bool keeps = suite->store && role == ROLE_SERVER;
    if (suite->tickets != TICKETS_LIBRARY)
        openssl_check(SSL_CTX_set_num_tickets(ctx, suite->tickets), "SSL_CTX_set_num_tickets");
    if (suite->store || suite->tickets == 0)
        SSL_CTX_set_options(ctx, SSL_OP_NO_TICKET); /* in TLS 1.3 they are then ids */
    SSL_CTX_set_session_cache_mode(ctx, keeps ? SSL_SESS_CACHE_SERVER : SSL_SESS_CACHE_OFF);
}

static _Atomic size_t tickets;

static void ticket_count(int written, int version, int type, const void *message, size_t size, SSL *ssl, void *unused)
{
    enum { HANDSHAKE = 22, NEW_SESSION_TICKET = 4 };
    (void)version, (void)ssl, (void)unused;
    tickets += !written && type == HANDSHAKE && size > 0 && *(const unsigned char *)message == NEW_SESSION_TICKET;
}

size_t openssl_tickets(void)
{
    return tickets;
}

struct openssl_context *openssl_context_new(enum role role, const struct suite *suite, openssl_configure *configure)
{
    struct openssl_context *context = malloc(sizeof *context);
    SSL_CTX *ctx = SSL_CTX_new(role == ROLE_CLIENT ? TLS_client_method() : TLS_server_method());
    openssl_check(context && ctx && !configure(ctx, suite) && groups_set(ctx, role, suite), "SSL_CTX_new");
    wire_bio_prepare();
    credentials_load(ctx, role, suite);
    resumption_set(ctx, role, suite);
    if (role == ROLE_CLIENT && suite->tickets != 0)
        SSL_CTX_set_msg_callback(ctx, ticket_count);
    *context = (struct openssl_context){ctx, role, !strcmp(suite->options, "low-memory"), NULL};
    if (context->low_memory)
        SSL_CTX_set_mode(ctx, SSL_MODE_RELEASE_BUFFERS); /* BoringSSL and AWS-LC release them always */
    return context;
}

static int name_choose(SSL *ssl, int *alert, void *unused)
{
    const char *asked = SSL_get_servername(ssl, TLSEXT_NAMETYPE_host_name);
    const struct openssl_context *named = asked ? name_get(asked) : NULL;
    (void)alert, (void)unused;
    if (named)
        openssl_check(SSL_set_SSL_CTX(ssl, named->ctx), "SSL_set_SSL_CTX");
    return SSL_TLSEXT_ERR_OK;
}

void openssl_name_put(struct openssl_context *context, const char *server_name, struct openssl_context *named)
{
    SSL_CTX_set_tlsext_servername_callback(context->ctx, name_choose);
    name_put(server_name, named);
    named->named = context->named;
    context->named = named;
}

SSL *openssl_session_over(const struct openssl_context *context, BIO *in, BIO *out, const char *server_name)
{
    SSL *ssl = SSL_new(context->ctx);
    openssl_check(ssl && in && out, "SSL_new");
    SSL_set_bio(ssl, in, out);
    if (context->role == ROLE_SERVER) {
        SSL_set_accept_state(ssl);
        return ssl;
    }
    SSL_set_connect_state(ssl);
    openssl_check(SSL_set_tlsext_host_name(ssl, server_name) && SSL_set1_host(ssl, server_name), "host name");
    return ssl;
}

void *openssl_session_new(void *context, struct wire *wire)
{
    BIO *bio = wire_bio_new(wire);
    return openssl_session_over(context, bio, bio, wire_server_name(wire));
}

void openssl_resume(void *ssl, void *from)
{
    openssl_check(SSL_set_session(ssl, SSL_get_session(from)), "SSL_set_session");
}

/* Why the peer was not verified. Verification that gets no memory ends without a verdict. */
static const char *chain_fault(SSL *ssl)
{
    long verdict = SSL_get_verify_result(ssl);
    return verdict == X509_V_OK ? "no verdict, as when memory is out" : X509_verify_cert_error_string(verdict);
}

/* Ends the run unless the library only waits for the other end. */
static void must_wait(SSL *ssl, int result, const char *what)
{
    int error = SSL_get_error(ssl, result);
    if (error == SSL_ERROR_WANT_READ || error == SSL_ERROR_WANT_WRITE)
        return;
    if (ERR_GET_REASON(ERR_peek_error()) == SSL_R_CERTIFICATE_VERIFY_FAILED)
        die("%s: the peer's chain: %s", what, chain_fault(ssl));
    openssl_check(false, what);
}

/* What a call that moves bytes says: how many, and 0 where it waits. */
static size_t bytes_moved(SSL *ssl, int result, const char *what)
{
    if (result > 0)
        return (size_t)result;
    must_wait(ssl, result, what);
    return 0;
}

bool openssl_handshake(void *ssl)
{
    unsigned char byte;
    int result;
    if (!SSL_is_init_finished(ssl)) {
        result = SSL_do_handshake(ssl);
        if (result != 1)
            must_wait(ssl, result, "handshake");
        return result == 1;
    }
    bytes_moved(ssl, SSL_peek(ssl, &byte, 1), "read"); /* reads tickets, where there are any */
    return true;
}

size_t openssl_write(void *ssl, const void *bytes, size_t size)
{
    return bytes_moved(ssl, SSL_write(ssl, bytes, size < INT_MAX ? (int)size : INT_MAX), "write");
}

size_t openssl_read(void *ssl, void *bytes, size_t size)
{
    return bytes_moved(ssl, SSL_read(ssl, bytes, size < INT_MAX ? (int)size : INT_MAX), "read");
}

void openssl_negotiated(void *ssl, struct negotiated *result)
{
    result->protocol = SSL_get_version(ssl);
    result->cipher = SSL_get_cipher_name(ssl);
    result->group = group_name(ssl);
    result->resumed = SSL_session_reused(ssl);
    result->peer_verified = peer_told(ssl, result) && SSL_CTX_get_verify_mode(SSL_get_SSL_CTX(ssl)) & SSL_VERIFY_PEER &&
                            SSL_get_verify_result(ssl) == X509_V_OK && (SSL_is_server(ssl) || host_matched(ssl));
}

void openssl_session_free(void *ssl)
{
    SSL_set_shutdown(ssl, SSL_SENT_SHUTDOWN | SSL_RECEIVED_SHUTDOWN); /* else it may not be resumed */
    SSL_free(ssl);
}

void openssl_context_free(void *opaque)
{
    for (struct openssl_context *context = opaque, *next; context; context = next) {
        next = context->named;
        SSL_CTX_free(context->ctx);
        free(context);
    }
}
