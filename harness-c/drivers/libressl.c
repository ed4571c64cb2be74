/* LibreSSL 3.1 behind the driver interface. */
#include "openssl.h"
#include "sealer.h"

#include <openssl/crypto.h>

static const char *version(void)
{
    return OpenSSL_version(OPENSSL_VERSION);
}

static const char *configure(SSL_CTX *ctx, const struct suite *suite)
{
    return openssl_is_tls13(suite) ? "has no server of TLSv1.3 yet" : openssl_offers(ctx, suite);
}

static const char *supports(const struct suite *suite)
{
    return openssl_supports(suite, configure);
}

static void *context_new(enum role role, const struct suite *suite)
{
    return openssl_context_new(role, suite, configure);
}

static void name_add(void *context, const char *server_name, const struct suite *suite)
{
    openssl_name_put(context, server_name, context_new(ROLE_SERVER, suite));
}

/* The method becomes that of the session's protocol, whose state begins anew. */
static void resume(void *ssl, void *from)
{
    openssl_resume(ssl, from);
    SSL_set_connect_state(ssl);
}

const struct driver driver = {
    .name = "libressl",
    .version = version,
    .supports = supports,
    .context_new = context_new,
    .session_new = openssl_session_new,
    .name_add = name_add,
    .resume = resume,
    .tickets = openssl_tickets,
    .handshake = openssl_handshake,
    .write = openssl_write,
    .read = openssl_read,
    .negotiated = openssl_negotiated,
    .session_free = openssl_session_free,
    .context_free = openssl_context_free,
    .sealer_new = sealer_new,
    .seal = seal,
    .sealer_free = sealer_free,
};
