/* Where Mbed TLS 2.28 and 3.x differ, said in the words of 3.x. */
#ifndef MEMTEST_MBEDTLS_VERSIONS_H
#define MEMTEST_MBEDTLS_VERSIONS_H

#include <mbedtls/ssl.h>
#include <mbedtls/version.h>

#if MBEDTLS_VERSION_MAJOR >= 3
#include <psa/crypto.h>
typedef uint16_t group; /* IANA's number */
#define GROUP_X25519 MBEDTLS_SSL_IANA_TLS_GROUP_X25519
#define GROUP_P256 MBEDTLS_SSL_IANA_TLS_GROUP_SECP256R1
/* No call tells it. */
#define VERIFY_MODE(ssl) ((ssl)->MBEDTLS_PRIVATE(conf)->MBEDTLS_PRIVATE(authmode))
#else /* its TLS stands on no PSA */
typedef mbedtls_ecp_group_id group;
#define GROUP_X25519 MBEDTLS_ECP_DP_CURVE25519
#define GROUP_P256 MBEDTLS_ECP_DP_SECP256R1
#define VERIFY_MODE(ssl) ((ssl)->conf->authmode)
#define PSA_SUCCESS 0
#define psa_crypto_init() PSA_SUCCESS
#define mbedtls_psa_crypto_free() ((void)0)
#define mbedtls_ssl_conf_groups mbedtls_ssl_conf_curves
#define mbedtls_ssl_is_handshake_over(ssl) ((ssl)->state == MBEDTLS_SSL_HANDSHAKE_OVER)
#define mbedtls_pk_parse_keyfile(key, path, word, random, source) mbedtls_pk_parse_keyfile(key, path, word)
#define mbedtls_pk_sign(key, by, hash, bytes, signature, room, size, random, source)                                   \
    mbedtls_pk_sign(key, by, hash, bytes, signature, size, random, source)
#endif

#endif
