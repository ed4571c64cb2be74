/* What the libraries of OpenSSL's family call differently, or lack: the one place that asks which of them it is. */
#ifndef MEMTEST_OPENSSL_NAMES_H
#define MEMTEST_OPENSSL_NAMES_H

#include "driver.h"
#include "group_names.h"

#include <openssl/ssl.h>
#include <openssl/x509.h>

#if defined(OPENSSL_IS_BORINGSSL) || defined(OPENSSL_IS_AWSLC)

/* By the names that all their releases have. */
static inline const char *group_name(SSL *ssl)
{
    return group_as_suite(SSL_get_curve_name(SSL_get_curve_id(ssl)));
}

#elif OPENSSL_VERSION_NUMBER >= 0x30000000L && !defined(LIBRESSL_VERSION_NUMBER)

static inline const char *group_name(SSL *ssl)
{
    return group_as_suite(SSL_group_to_name(ssl, SSL_get_negotiated_group(ssl)));
}

#else /* OpenSSL 1.1.1 and LibreSSL know it by the server's key share alone, which the client has. */

static inline const char *group_name(SSL *ssl)
{
    EVP_PKEY *share = NULL;
    if (SSL_is_server(ssl) || !SSL_get_server_tmp_key(ssl, &share))
        return NULL;
    const EC_KEY *key = EVP_PKEY_base_id(share) == EVP_PKEY_EC ? EVP_PKEY_get0_EC_KEY(share) : NULL;
    int group = key ? EC_GROUP_get_curve_name(EC_KEY_get0_group(key)) : EVP_PKEY_base_id(share);
    EVP_PKEY_free(share);
    return group_as_suite(OBJ_nid2sn(group));
}

#endif

/* A server is to keep no more than a hash of its clients' certificates; false where the library has no such option. */
static inline bool peer_chains_drop(SSL_CTX *ctx)
{
#if defined(OPENSSL_IS_BORINGSSL) || defined(OPENSSL_IS_AWSLC)
    SSL_CTX_set_retain_only_sha256_of_client_certs(ctx, 1);
    return true;
#else
    (void)ctx;
    return false;
#endif
}

/* The peer's certificate, or all that is kept of it: its hash, by two libraries' option. False where there was none. */
static inline bool peer_told(SSL *ssl, struct negotiated *result)
{
    X509 *peer = SSL_get_peer_certificate(ssl);
    if (peer) { /* which the session keeps */
        const ASN1_BIT_STRING *signature;
        X509_get0_signature(&signature, NULL, peer);
        result->peer.bytes = ASN1_STRING_get0_data(signature);
        result->peer.size = (size_t)ASN1_STRING_length(signature);
        X509_free(peer);
        return true;
    }
#if defined(OPENSSL_IS_BORINGSSL) || defined(OPENSSL_IS_AWSLC)
    if (SSL_get_session(ssl) && SSL_SESSION_has_peer_sha256(SSL_get_session(ssl))) {
        const uint8_t *hash;
        SSL_SESSION_get0_peer_sha256(SSL_get_session(ssl), &hash, &result->peer.size);
        result->peer.bytes = hash;
        return true;
    }
#endif
    return false;
}

/* Whether the host name matched. Those that do not tell fail the handshake where the name of SSL_set1_host does not. */
static inline bool host_matched(SSL *ssl)
{
#if defined(OPENSSL_IS_BORINGSSL) || defined(OPENSSL_IS_AWSLC) || defined(LIBRESSL_VERSION_NUMBER)
    return SSL_get_verify_result(ssl) == X509_V_OK;
#else
    return SSL_get0_peername(ssl);
#endif
}

#if OPENSSL_VERSION_NUMBER >= 0x40000000L
#define SSL_set1_host SSL_set1_dnsname
#endif

#ifndef TLS1_3_VERSION /* LibreSSL 3.1, whose OpenSSL interface has nothing of TLS 1.3 */
#define TLS1_3_VERSION 0x0304
#define SSL_CTX_set_num_tickets(ctx, count) ((void)(ctx), (void)(count), 1)
#endif

#endif
