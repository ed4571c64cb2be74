/* OCSP responses that servers staple and clients check (RFC 8446, 4.4.2.1), in stacks that are built for it. */
#include "openssl_parts.h"

#ifdef OCSP_STAPLING

/* What a server staples: staple.der of the suite's certificates, if there is one. */
static int staple(SSL *ssl, void *suite)
{
    char path[PATH_BYTES];
    BIO *file = BIO_new_file(suite_path(path, suite, "staple.der"), "rb");
    if (!file)
        return SSL_TLSEXT_ERR_NOACK;
    enum { MOST = 64 * 1024 };
    unsigned char *der = OPENSSL_malloc(MOST); /* becomes the session's */
    const int size = der ? BIO_read(file, der, MOST) : 0;
    BIO_free(file);
    openssl_check(size > 0 && SSL_set_tlsext_status_ocsp_resp(ssl, der, size), path);
    return SSL_TLSEXT_ERR_OK;
}

/* As a browser does it: a server is verified whose staple says nothing of its certificate. */
static int staple_forgive(int verified, X509_STORE_CTX *chain)
{
    const int error = X509_STORE_CTX_get_error(chain);
    if (verified || (error != X509_V_ERR_OCSP_NO_RESPONSE && error != X509_V_ERR_OCSP_VERIFY_FAILED))
        return verified;
    X509_STORE_CTX_set_error(chain, X509_V_OK);
    return 1;
}

void stapling_set(SSL_CTX *ctx, enum role role, const struct suite *suite)
{
    if (role == ROLE_SERVER) {
        SSL_CTX_set_tlsext_status_cb(ctx, staple);
        SSL_CTX_set_tlsext_status_arg(ctx, (void *)suite);
        return;
    }
    SSL_CTX_set_tlsext_status_type(ctx, TLSEXT_STATUSTYPE_ocsp);
    X509_VERIFY_PARAM_set_flags(SSL_CTX_get0_param(ctx), X509_V_FLAG_OCSP_RESP_CHECK);
    SSL_CTX_set_verify(ctx, SSL_VERIFY_PEER, staple_forgive);
}

#else

void stapling_set(SSL_CTX *ctx, enum role role, const struct suite *suite)
{
    (void)ctx, (void)role, (void)suite;
}

#endif