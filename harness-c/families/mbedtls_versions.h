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
#define GROUP_P384 MBEDTLS_SSL_IANA_TLS_GROUP_SECP384R1
/* No call tells them. */
#define VERIFY_MODE(ssl) ((ssl)->MBEDTLS_PRIVATE(conf)->MBEDTLS_PRIVATE(authmode))
#define STATE(ssl) ((ssl)->MBEDTLS_PRIVATE(state))
#define PEER_DIGEST(ssl) ((ssl)->MBEDTLS_PRIVATE(session)->MBEDTLS_PRIVATE(peer_cert_digest))
#define PEER_DIGEST_SIZE(ssl) ((ssl)->MBEDTLS_PRIVATE(session)->MBEDTLS_PRIVATE(peer_cert_digest_len))
#define CACHE_ID unsigned char const *id, size_t id_size,
#define CACHE_ID_GIVEN id, id_size,
#define RSA_MODE(mode)
#else /* its TLS stands on no PSA */
typedef mbedtls_ecp_group_id group;
#define GROUP_X25519 MBEDTLS_ECP_DP_CURVE25519
#define GROUP_P256 MBEDTLS_ECP_DP_SECP256R1
#define GROUP_P384 MBEDTLS_ECP_DP_SECP384R1
#define VERIFY_MODE(ssl) ((ssl)->conf->authmode)
#define STATE(ssl) ((ssl)->state)
#define PEER_DIGEST(ssl) ((ssl)->session->peer_cert_digest)
#define PEER_DIGEST_SIZE(ssl) ((ssl)->session->peer_cert_digest_len)
#define CACHE_ID
#define CACHE_ID_GIVEN
#define RSA_MODE(mode) mode,
#define PSA_SUCCESS 0
#define MBEDTLS_SSL_CLIENT_CERTIFICATE_VERIFY MBEDTLS_SSL_CERTIFICATE_VERIFY
#define MBEDTLS_SSL_NEW_SESSION_TICKET MBEDTLS_SSL_SERVER_NEW_SESSION_TICKET
#define psa_crypto_init() PSA_SUCCESS
#define mbedtls_psa_crypto_free() ((void)0)
#define mbedtls_ssl_context_get_config(ssl) ((ssl)->conf)
/* A pointer that the library only keeps: for functions of a timer, of which a stream has none. */
#define mbedtls_ssl_set_user_data_p(ssl, pointer) ((ssl)->p_timer = (pointer))
#define mbedtls_ssl_get_user_data_p(ssl) ((ssl)->p_timer)
#define mbedtls_ssl_conf_groups mbedtls_ssl_conf_curves
#define mbedtls_pk_parse_keyfile(key, path, word, random, source) mbedtls_pk_parse_keyfile(key, path, word)
#define mbedtls_pk_sign(key, by, hash, bytes, signature, room, size, random, source)                                   \
    mbedtls_pk_sign(key, by, hash, bytes, signature, size, random, source)
#endif

#ifndef MBEDTLS_SSL_PROTO_TLS1_3 /* what only its suites come to, which are then refused */
#define mbedtls_ssl_conf_tls13_key_exchange_modes(config, modes) ((void)(config))
#define mbedtls_ssl_conf_new_session_tickets(config, count) ((void)(config))
#endif
#if !defined(MBEDTLS_SSL_PROTO_TLS1_3) || !defined(MBEDTLS_SSL_TLS1_3_SIGNAL_NEW_SESSION_TICKETS_ENABLED)
#define mbedtls_ssl_conf_tls13_enable_signal_new_session_tickets(config, signal) ((void)(config))
#endif
#ifndef MBEDTLS_ERR_SSL_RECEIVED_NEW_SESSION_TICKET
#define MBEDTLS_ERR_SSL_RECEIVED_NEW_SESSION_TICKET 1 /* no error is positive */
#endif

#endif
