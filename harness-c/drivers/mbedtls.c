/* Mbed TLS 2.28 and 3.x behind the driver interface. */
#include "mbedtls_setup.h"

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
        check(mbedtls_ssl_set_hostname(ssl, SERVER_NAME), "host name"); /* to ask for, and to verify */
    mbedtls_ssl_set_bio(ssl, wire, wire_send, wire_receive, NULL);
    return ssl;
}

/* Ends the run unless the library only waits for the other end. */
static bool waits(mbedtls_ssl_context *ssl, int result, const char *what)
{
    char reason[256];
    if (result == MBEDTLS_ERR_SSL_WANT_READ || result == MBEDTLS_ERR_SSL_WANT_WRITE)
        return true;
    if (result == MBEDTLS_ERR_X509_CERT_VERIFY_FAILED &&
        mbedtls_x509_crt_verify_info(reason, sizeof reason, "", mbedtls_ssl_get_verify_result(ssl)) > 0)
        die("%s: the peer's chain: %.*s", what, (int)strcspn(reason, "\n"), reason);
    check(result, what);
    return true;
}

static bool handshake(void *ssl)
{
    int result;
    if (!mbedtls_ssl_is_handshake_over((mbedtls_ssl_context *)ssl)) {
        result = mbedtls_ssl_handshake(ssl);
        return result == 0 || !waits(ssl, result, "handshake");
    }
    result = mbedtls_ssl_read(ssl, NULL, 0); /* reads a record, and gives nothing of it */
    return result == 0 || waits(ssl, result, "read");
}

static size_t write(void *ssl, const void *bytes, size_t size)
{
    int taken = mbedtls_ssl_write(ssl, bytes, size);
    return taken > 0 ? (size_t)taken : !waits(ssl, taken, "write");
}

static size_t read(void *ssl, void *bytes, size_t size)
{
    int given = mbedtls_ssl_read(ssl, bytes, size);
    return given > 0 ? (size_t)given : !waits(ssl, given, "read");
}

/* The library has no word for the group that was agreed, and none for a session that was resumed: none is offered.
 * After TLS 1.3 it keeps what its handshake needed as long as the connection, and has no call that would free it. */
static void negotiated(void *opaque, struct negotiated *result)
{
    mbedtls_ssl_context *ssl = opaque;
    result->protocol = mbedtls_ssl_get_version(ssl);
    result->cipher = cipher_name(mbedtls_ssl_get_ciphersuite(ssl));
    result->peer_verified = mbedtls_ssl_get_peer_cert(ssl) && VERIFY_MODE(ssl) != MBEDTLS_SSL_VERIFY_NONE &&
                            mbedtls_ssl_get_verify_result(ssl) == 0; /* 0 also of a chain that nobody looked at */
}

static void session_free(void *ssl)
{
    mbedtls_ssl_free(ssl);
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
    .handshake = handshake,
    .write = write,
    .read = read,
    .negotiated = negotiated,
    .session_free = session_free,
    .context_free = context_free,
};
