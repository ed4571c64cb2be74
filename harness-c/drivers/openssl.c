/* OpenSSL 1.1.1, 3.x and 4.x behind the driver interface. */
#include "openssl_ciphersuites.h"
#include "sealer.h"

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

static void release(void *ssl)
{
    SSL_free_buffers(ssl);
}

const struct driver driver = {
    .name = "openssl",
    .version = version,
    .supports = supports,
    .context_new = context_new,
    .session_new = openssl_session_new,
    .name_add = name_add,
    .resume = openssl_resume,
    .tickets = openssl_tickets,
    .handshake = openssl_handshake,
    .write = openssl_write,
    .read = openssl_read,
    .negotiated = openssl_negotiated,
    .release = release,
    .session_free = openssl_session_free,
    .context_free = openssl_context_free,
    .sealer_new = sealer_new,
    .seal = seal,
    .sealer_free = sealer_free,
};
