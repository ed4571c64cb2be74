/* OpenSSL between two memory BIOs a session, as programs with an event loop of their own have it: what arrives is
 * copied into one, what leaves out of the other, and each keeps the buffer that its largest flight needed. */
#include "openssl_ciphersuites.h"
#include "sealer.h"

#include <stdlib.h>

enum { TRANSFER_BYTES = 16384 };

/* What such a program has of its own for a connection. */
struct session {
    SSL *ssl;
    struct wire *wire;
};

static _Thread_local unsigned char transfer[TRANSFER_BYTES]; /* all sessions' */

static const char *version(void)
{
    return OpenSSL_version(OPENSSL_VERSION);
}

static const char *supports(const struct suite *suite)
{
    return openssl_supports(suite, openssl_ciphersuites);
}

static void *context_new(enum role role, const struct suite *suite)
{
    return openssl_context_new(role, suite, openssl_ciphersuites);
}

static void name_add(void *context, const char *server_name, const struct suite *suite)
{
    openssl_name_put(context, server_name, context_new(ROLE_SERVER, suite));
}

static void *session_new(void *context, struct wire *wire)
{
    struct session *session = malloc(sizeof *session);
    openssl_check(session, "malloc");
    *session = (struct session){
        openssl_session_over(context, BIO_new(BIO_s_mem()), BIO_new(BIO_s_mem()), wire_server_name(wire)), wire};
    return session;
}

static void resume(void *session, void *from)
{
    openssl_resume(((struct session *)session)->ssl, ((struct session *)from)->ssl);
}

static void arrive(struct session *session)
{
    size_t size;
    while ((size = wire_read(session->wire, transfer, TRANSFER_BYTES)) > 0)
        openssl_check(BIO_write(SSL_get_rbio(session->ssl), transfer, (int)size) == (int)size, "BIO_write");
}

static void leave(struct session *session)
{
    int size;
    while ((size = BIO_read(SSL_get_wbio(session->ssl), transfer, TRANSFER_BYTES)) > 0)
        if (wire_write(session->wire, transfer, (size_t)size) == 0)
            die("the wire is full");
}

static bool handshake(void *opaque)
{
    struct session *session = opaque;
    arrive(session);
    bool complete = openssl_handshake(session->ssl);
    leave(session);
    return complete;
}

static size_t write(void *opaque, const void *bytes, size_t size)
{
    struct session *session = opaque;
    size_t taken = openssl_write(session->ssl, bytes, size);
    leave(session);
    return taken;
}

static size_t read(void *opaque, void *bytes, size_t size)
{
    struct session *session = opaque;
    arrive(session);
    return openssl_read(session->ssl, bytes, size);
}

static void negotiated(void *session, struct negotiated *result)
{
    openssl_negotiated(((struct session *)session)->ssl, result);
}

static void release(void *session)
{
    SSL_free_buffers(((struct session *)session)->ssl);
}

static void session_free(void *session)
{
    openssl_session_free(((struct session *)session)->ssl);
    free(session);
}

const struct driver driver = {
    .name = "openssl",
    .version = version,
    .supports = supports,
    .context_new = context_new,
    .session_new = session_new,
    .name_add = name_add,
    .resume = resume,
    .tickets = openssl_tickets,
    .handshake = handshake,
    .write = write,
    .read = read,
    .negotiated = negotiated,
    .release = release,
    .session_free = session_free,
    .context_free = openssl_context_free,
    .sealer_new = sealer_new,
    .seal = seal,
    .sealer_free = sealer_free,
};
