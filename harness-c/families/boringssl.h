/* What BoringSSL and AWS-LC, which began as BoringSSL, have in common beyond OpenSSL's family.
 *
 * Both free a record buffer as soon as it is empty and the handshake's state when it is complete: there is nothing to
 * release. Nor have they sessions of TLS 1.3 but in tickets. */
#ifndef MEMTEST_BORINGSSL_H
#define MEMTEST_BORINGSSL_H

#include "openssl.h"

#include <openssl/pool.h>

/* The documented ways to save memory: sessions share equal certificates of their peers, and free with the handshake
 * what only configured it. A third, to keep no more than a hash of client certificates, is for mutual authentication.
 */
static inline void *boringssl_context_new(enum role role, const struct suite *suite, openssl_configure *configure)
{
    static CRYPTO_BUFFER_POOL *pool; /* outlives every context */
    struct openssl_context *context = openssl_context_new(role, suite, configure);
    if (!context->save)
        return context;
    if (!pool)
        openssl_check((pool = CRYPTO_BUFFER_POOL_new()) != NULL, "CRYPTO_BUFFER_POOL_new");
    SSL_CTX_set0_buffer_pool(context->ctx, pool);
    return context;
}

static inline void *boringssl_session_new(void *context, struct wire *wire)
{
    SSL *ssl = openssl_session_new(context, wire);
    SSL_set_shed_handshake_config(ssl, ((struct openssl_context *)context)->save);
    return ssl;
}

static inline const char *boringssl_lacks(const struct suite *suite)
{
    return suite->store && openssl_is_tls13(suite) ? "keeps no sessions of TLSv1.3 but in tickets" : NULL;
}

#endif
