/* Mbed TLS 2.28 and 3.x behind the driver interface. */
#include "mbedtls_setup.h"
#include "sealer.h"

#include <stdlib.h>
#include <string.h>

static const char *version(void)
{
    static char text[32];
    mbedtls_version_get_string_full(text);
    return text;
}

static int wire_send(void *wire, const unsigned char *bytes, size_t size)
{
    size_t taken = wire_write(wire, bytes, size);
    return taken ? (int)taken : MBEDTLS_ERR_SSL_WANT_WRITE;
}

static int wire_receive(void *wire, unsigned char *bytes, size_t size)
{
    size_t given = wire_read(wire, bytes, size);
    return given ? (int)given : MBEDTLS_ERR_SSL_WANT_READ;
}

static void *context_new(enum role role, const struct suite *suite)
{
    return context_open(role, suite);
}

static void name_add(void *context, const char *server_name, const struct suite *suite)
{
    named_add(context, server_name, suite);
}

/* The caller's own block is the session: a program would have it too. */
static void *session_new(void *opaque, struct wire *wire)
{
    struct context *context = opaque;
    mbedtls_ssl_context *ssl = malloc(sizeof *ssl);
    if (!ssl)
        die("out of memory");
    mbedtls_ssl_init(ssl);
    check(mbedtls_ssl_setup(ssl, &context->config), "mbedtls_ssl_setup");
    if (context->role == ROLE_CLIENT)
        check(mbedtls_ssl_set_hostname(ssl, wire_server_name(wire)), "host name"); /* to ask for, and to verify */
    mbedtls_ssl_set_bio(ssl, wire, wire_send, wire_receive, NULL);
    return ssl;
}

/* Ends the run unless the library only waits for the other end. */
static void must_wait(mbedtls_ssl_context *ssl, int result, const char *what)
{
    char reason[256];
    if (result == MBEDTLS_ERR_SSL_WANT_READ || result == MBEDTLS_ERR_SSL_WANT_WRITE)
        return;
    if (result == MBEDTLS_ERR_X509_CERT_VERIFY_FAILED &&
        mbedtls_x509_crt_verify_info(reason, sizeof reason, "", mbedtls_ssl_get_verify_result(ssl)) > 0)
        die("%s: the peer's chain: %.*s", what, (int)strcspn(reason, "\n"), reason);
    check(result, what);
    die("%s: the peer has closed", what);
}

/* What a call that moves bytes says: how many, and 0 where it waits. */
static size_t bytes_moved(mbedtls_ssl_context *ssl, int result, const char *what)
{
    if (result > 0)
        return (size_t)result;
    must_wait(ssl, result, what);
    return 0;
}

static void resume(void *ssl, void *from)
{
    mbedtls_ssl_session session;
    mbedtls_ssl_session_init(&session);
    check(mbedtls_ssl_get_session(from, &session), "mbedtls_ssl_get_session");
    check(mbedtls_ssl_set_session(ssl, &session), "mbedtls_ssl_set_session");
    mbedtls_ssl_session_free(&session);
}

/* What a step of the handshake may only do alone, or NULL. Of TLS 1.3 all but certificates is PSA's. */
static pthread_mutex_t *lock_of(struct context *context, int state)
{
    bool certificate = state == MBEDTLS_SSL_SERVER_CERTIFICATE || state == MBEDTLS_SSL_CERTIFICATE_VERIFY ||
                       state == MBEDTLS_SSL_CLIENT_CERTIFICATE || state == MBEDTLS_SSL_CLIENT_CERTIFICATE_VERIFY;
    if (!context->tls13)
        return NULL;
    if (context->role == ROLE_SERVER && state == MBEDTLS_SSL_CERTIFICATE_VERIFY)
        return &context->key_lock;
    return certificate ? NULL : &psa_lock;
}

/* As mbedtls_ssl_handshake does. No call tells that a session was resumed: it is if the state of the server's
 * certificate was never come to. */
static int step(mbedtls_ssl_context *ssl)
{
    if (STATE(ssl) == MBEDTLS_SSL_SERVER_CERTIFICATE)
        mbedtls_ssl_set_user_data_p(ssl, ssl);
    return STATE(ssl) == MBEDTLS_SSL_HANDSHAKE_OVER ? mbedtls_ssl_read(ssl, NULL, 0) : mbedtls_ssl_handshake_step(ssl);
}

static _Atomic size_t tickets;

static size_t tickets_told(void)
{
    return tickets;
}

static int step_alone(mbedtls_ssl_context *ssl)
{
    struct context *context = (struct context *)mbedtls_ssl_context_get_config(ssl);
    const bool ticket = context->role == ROLE_CLIENT && STATE(ssl) == MBEDTLS_SSL_NEW_SESSION_TICKET;
    pthread_mutex_t *lock = lock_of(context, STATE(ssl));
    if (lock)
        pthread_mutex_lock(lock);
    int result = step(ssl);
    tickets += result == MBEDTLS_ERR_SSL_RECEIVED_NEW_SESSION_TICKET || (ticket && result == 0);
    if (lock)
        pthread_mutex_unlock(lock);
    return result;
}

/* A ticket is a step of the handshake again. */
static bool tickets_read(mbedtls_ssl_context *ssl)
{
    int result;
    do
        result = step_alone(ssl);
    while (result == MBEDTLS_ERR_SSL_RECEIVED_NEW_SESSION_TICKET ||
           (result == MBEDTLS_ERR_SSL_WANT_READ && STATE(ssl) != MBEDTLS_SSL_HANDSHAKE_OVER));
    if (result != 0)
        must_wait(ssl, result, "read");
    return true;
}

static bool handshake(void *opaque)
{
    mbedtls_ssl_context *ssl = opaque;
    int result = 0;
    if (STATE(ssl) == MBEDTLS_SSL_HANDSHAKE_OVER)
        return tickets_read(ssl);
    while (result == 0 && STATE(ssl) != MBEDTLS_SSL_HANDSHAKE_OVER)
        result = step_alone(ssl);
    if (result != 0)
        must_wait(ssl, result, "handshake");
    return result == 0;
}

static size_t write(void *ssl, const void *bytes, size_t size)
{
    return bytes_moved(ssl, mbedtls_ssl_write(ssl, bytes, size), "write");
}

static size_t read(void *ssl, void *bytes, size_t size)
{
    return bytes_moved(ssl, mbedtls_ssl_read(ssl, bytes, size), "read");
}

/* The peer's certificate, or its digest where the library is built to keep no more. False where there was none. */
static bool peer_told(mbedtls_ssl_context *ssl, struct negotiated *result)
{
#ifdef MBEDTLS_SSL_KEEP_PEER_CERTIFICATE
    const mbedtls_x509_crt *peer = mbedtls_ssl_get_peer_cert(ssl);
    result->peer.bytes = peer ? peer->raw.p : NULL;
    result->peer.size = peer ? peer->raw.len : 0;
#else
    result->peer.bytes = PEER_DIGEST(ssl);
    result->peer.size = result->peer.bytes ? PEER_DIGEST_SIZE(ssl) : 0;
#endif
    return result->peer.bytes != NULL;
}

/* The library has no word for the group that was agreed.
 * After TLS 1.3 it keeps what its handshake needed as long as the connection, and has no call that would free it. */
static void negotiated(void *opaque, struct negotiated *result)
{
    mbedtls_ssl_context *ssl = opaque;
    result->protocol = mbedtls_ssl_get_version(ssl);
    result->cipher = cipher_name(mbedtls_ssl_get_ciphersuite(ssl));
    result->resumed = !mbedtls_ssl_get_user_data_p(ssl);
    result->peer_verified = peer_told(ssl, result) && VERIFY_MODE(ssl) != MBEDTLS_SSL_VERIFY_NONE &&
                            mbedtls_ssl_get_verify_result(ssl) == 0; /* 0 also of a chain that nobody looked at */
}

static void session_free(void *ssl)
{
    bool psa = ((const struct context *)mbedtls_ssl_context_get_config((mbedtls_ssl_context *)ssl))->tls13;
    if (psa)
        pthread_mutex_lock(&psa_lock);
    mbedtls_ssl_free(ssl);
    if (psa)
        pthread_mutex_unlock(&psa_lock);
    free(ssl);
}

static void context_free(void *context)
{
    context_close(context);
}

const struct driver driver = {
    .name = "mbedtls",
    .version = version,
    .supports = lacks,
    .context_new = context_new,
    .session_new = session_new,
    .name_add = name_add,
    .resume = resume,
    .tickets = tickets_told,
    .handshake = handshake,
    .write = write,
    .read = read,
    .negotiated = negotiated,
    .session_free = session_free,
    .context_free = context_free,
    .sealer_new = sealer_new,
    .seal = seal,
    .sealer_free = sealer_free,
};
