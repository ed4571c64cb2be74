/* For the libraries that choose TLS 1.3's ciphers by their names: OpenSSL from 1.1.1 on, and AWS-LC. */
#ifndef MEMTEST_OPENSSL_CIPHERSUITES_H
#define MEMTEST_OPENSSL_CIPHERSUITES_H

#include "openssl.h"

static inline const char *openssl_ciphersuites(SSL_CTX *ctx, const struct suite *suite)
{
    const char *lacks = openssl_offers(ctx, suite);
    if (!lacks && openssl_is_tls13(suite) && !SSL_CTX_set_ciphersuites(ctx, suite->cipher))
        return "does not have this cipher";
    return lacks;
}

#endif
