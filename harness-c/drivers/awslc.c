/* AWS-LC behind the driver interface. */
#include "boringssl.h"
#include "openssl_ciphersuites.h"
#include "sealer.h"

#include <openssl/crypto.h>

static const char *version(void)
{
    return "AWS-LC " AWSLC_VERSION_NUMBER_STRING;
}

static const char *configure(SSL_CTX *ctx, const struct suite *suite)
{
    const char *lacks = openssl_ciphersuites(ctx, suite);
    if (!lacks)
        lacks = boringssl_share_lacks(suite);
    return lacks ? lacks : boringssl_lacks(suite);
}

static const char *supports(const struct suite *suite)
{
    return openssl_supports(suite, configure);
}

static void *context_new(enum role role, const struct suite *suite)
{
    return boringssl_context_new(role, suite, configure);
}

static void name_add(void *context, const char *server_name, const struct suite *suite)
{
    openssl_name_put(context, server_name, context_new(ROLE_SERVER, suite));
}

const struct driver driver = {
    .name = "awslc",
    .version = version,
    .supports = supports,
    .context_new = context_new,
    .session_new = boringssl_session_new,
    .name_add = name_add,
    .resume = boringssl_resume,
    .tickets = openssl_tickets,
    .handshake = boringssl_handshake,
    .write = openssl_write,
    .read = openssl_read,
    .negotiated = openssl_negotiated,
    .session_free = openssl_session_free,
    .context_free = openssl_context_free,
    .sealer_new = sealer_new,
    .seal = seal,
    .sealer_free = sealer_free,
};
