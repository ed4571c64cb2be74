/* Mbed TLS 2.28 and 3.x behind the driver interface. */
#include "driver.h"

#include <mbedtls/ctr_drbg.h>
#include <mbedtls/entropy.h>
#include <mbedtls/error.h>
#include <mbedtls/ssl.h>
#include <mbedtls/ssl_cache.h>
#include <mbedtls/version.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#if MBEDTLS_VERSION_MAJOR >= 3
#include <psa/crypto.h>
typedef uint16_t group; /* IANA's number */
static const group x25519 = MBEDTLS_SSL_IANA_TLS_GROUP_X25519, p256 = MBEDTLS_SSL_IANA_TLS_GROUP_SECP256R1;
#else
typedef mbedtls_ecp_group_id group;
static const group x25519 = MBEDTLS_ECP_DP_CURVE25519, p256 = MBEDTLS_ECP_DP_SECP256R1;
#define mbedtls_ssl_conf_groups mbedtls_ssl_conf_curves
#define mbedtls_ssl_is_handshake_over(ssl) ((ssl)->state == MBEDTLS_SSL_HANDSHAKE_OVER)
#define mbedtls_pk_parse_keyfile(key, path, word, random, source) mbedtls_pk_parse_keyfile(key, path, word)
#define mbedtls_pk_sign(key, by, hash, bytes, signature, room, size, random, source)                                   \
    mbedtls_pk_sign(key, by, hash, bytes, signature, size, random, source)
#endif

/* A configuration, and what it only refers to. */
struct context {
    enum role role;
    mbedtls_ssl_config config;
    mbedtls_entropy_context entropy;
    mbedtls_ctr_drbg_context random;
    mbedtls_x509_crt certificates;
    mbedtls_pk_context key;
    mbedtls_ssl_cache_context cache;
    int ciphers[2];
    group groups[3];
};

static const struct cipher {
    const char *name; /* OpenSSL's; the library has names of its own */
    int number;       /* IANA's */
} ciphers[] = {{"TLS_AES_128_GCM_SHA256", 0x1301},
               {"TLS_AES_256_GCM_SHA384", 0x1302},
               {"ECDHE-RSA-AES256-GCM-SHA384", MBEDTLS_TLS_ECDHE_RSA_WITH_AES_256_GCM_SHA384},
               {"ECDHE-ECDSA-AES256-GCM-SHA384", MBEDTLS_TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384}};

/* `result` is 0, or the library's code. */
static void check(int result, const char *what)
{
    char reason[160];
    if (result == 0)
        return;
    mbedtls_strerror(result, reason, sizeof reason);
    die("%s: %s", what, reason);
}

static const char *version(void)
{
    static char text[32];
    mbedtls_version_get_string_full(text);
    return text;
}

static int wire_send(void *wire, const unsigned char *bytes, size_t size)
{
    size_t taken = wire_write(wire, bytes, size);
    return taken ? (int)taken : MBEDTLS_ERR_SSL_WANT_WRITE;
}

static int wire_receive(void *wire, unsigned char *bytes, size_t size)
{
    size_t given = wire_read(wire, bytes, size);
    return given ? (int)given : MBEDTLS_ERR_SSL_WANT_READ;
}

static const struct cipher *cipher_named(const char *name)
{
    for (size_t i = 0; i < sizeof ciphers / sizeof *ciphers; i++)
        if (!strcmp(ciphers[i].name, name) && mbedtls_ssl_ciphersuite_from_id(ciphers[i].number))
            return &ciphers[i];
    return NULL;
}

static bool is_tls13(const struct suite *suite)
{
    return !strcmp(suite->protocol, "TLSv1.3");
}

/* NULL, or what this build of the library does not have. */
static const char *lacks(const struct suite *suite)
{
    if (!is_tls13(suite) && strcmp(suite->protocol, "TLSv1.2") != 0)
        return "does TLSv1.2 and TLSv1.3 only";
#ifndef MBEDTLS_SSL_PROTO_TLS1_3
    if (is_tls13(suite))
        return "does not have TLSv1.3 as its own defaults build it";
#endif
    if (!strcmp(suite->auth, "mutual"))
        return "this driver does not do mutual authentication yet";
    if (suite->tickets > 0)
        return "this driver does not do tickets yet";
    if (!strcmp(suite->knobs, "best"))
        return "saves memory by how it is built, not by a setting at run time";
    if (!cipher_named(suite->cipher))
        return "does not have this cipher";
    return strcmp(suite->group, "X25519") ? "does not have this group" : NULL;
}

static const char *supports(const struct suite *suite)
{
    static char sentence[160];
    const char *reason = lacks(suite);
    if (!reason)
        return NULL;
    snprintf(sentence, sizeof sentence, "%s: %s (%s, %s, %s)", version(), reason, suite->protocol, suite->cipher,
             suite->group);
    return sentence;
}

/* Offers just what the suite asks. But in TLS 1.2 a client has one list for key exchange and for the curves of
 * certificates, so a P-256 chain needs P-256 in it too: the server does not, so that both have X25519 alone. */
static void configure(struct context *context, const struct suite *suite)
{
    bool client = context->role == ROLE_CLIENT;
    mbedtls_ssl_config *config = &context->config;
    bool both = !is_tls13(suite) && client && strstr(suite->cipher, "ECDSA");
    context->ciphers[0] = cipher_named(suite->cipher)->number;
    context->groups[0] = x25519;
    context->groups[1] = both ? p256 : 0;
    check(mbedtls_ssl_config_defaults(config, client ? MBEDTLS_SSL_IS_CLIENT : MBEDTLS_SSL_IS_SERVER,
                                      MBEDTLS_SSL_TRANSPORT_STREAM, MBEDTLS_SSL_PRESET_DEFAULT),
          "mbedtls_ssl_config_defaults");
    mbedtls_ssl_conf_min_version(config, MBEDTLS_SSL_MAJOR_VERSION_3, is_tls13(suite) ? 4 : 3);
    mbedtls_ssl_conf_max_version(config, MBEDTLS_SSL_MAJOR_VERSION_3, is_tls13(suite) ? 4 : 3);
    mbedtls_ssl_conf_ciphersuites(config, context->ciphers);
    mbedtls_ssl_conf_groups(config, context->groups);
    mbedtls_ssl_conf_rng(config, mbedtls_ctr_drbg_random, &context->random);
    if (client)
        mbedtls_ssl_conf_session_tickets(config, MBEDTLS_SSL_SESSION_TICKETS_DISABLED);
    else if (suite->store)
        mbedtls_ssl_conf_session_cache(config, &context->cache, mbedtls_ssl_cache_get, mbedtls_ssl_cache_set);
}

/* By a signature, after which the key's numbers for blinding have nearly the room that they come to have: the first two
 * signatures of an RSA key enlarge them, and sessions would not be alike. */
static void key_check(struct context *context, const char *path)
{
    unsigned char hash[32] = {0}, signature[MBEDTLS_PK_SIGNATURE_MAX_SIZE];
    size_t size;
    check(mbedtls_pk_sign(&context->key, MBEDTLS_MD_SHA256, hash, sizeof hash, signature, sizeof signature, &size,
                          mbedtls_ctr_drbg_random, &context->random),
          path);
    if (mbedtls_pk_verify(&context->certificates.pk, MBEDTLS_MD_SHA256, hash, sizeof hash, signature, size) != 0)
        die("%s: is not the key of chain.pem", path);
}

/* A client holds the root only; a server the leaf, its key and the intermediate. */
static void credentials_load(struct context *context, const char *certs)
{
    bool client = context->role == ROLE_CLIENT;
    char path[4096];
    snprintf(path, sizeof path, "%s/%s", certs, client ? "root.pem" : "chain.pem");
    check(mbedtls_x509_crt_parse_file(&context->certificates, path), path);
    if (client) {
        mbedtls_ssl_conf_ca_chain(&context->config, &context->certificates, NULL);
        mbedtls_ssl_conf_authmode(&context->config, MBEDTLS_SSL_VERIFY_REQUIRED);
        return;
    }
    snprintf(path, sizeof path, "%s/key.pem", certs);
    check(mbedtls_pk_parse_keyfile(&context->key, path, NULL, mbedtls_ctr_drbg_random, &context->random), path);
    key_check(context, path);
    check(mbedtls_ssl_conf_own_cert(&context->config, &context->certificates, &context->key), path);
}

static void *context_new(enum role role, const struct suite *suite)
{
    struct context *context = calloc(1, sizeof *context);
    if (!context)
        die("out of memory");
    context->role = role;
    mbedtls_ssl_config_init(&context->config);
    mbedtls_entropy_init(&context->entropy);
    mbedtls_ctr_drbg_init(&context->random);
    mbedtls_x509_crt_init(&context->certificates);
    mbedtls_pk_init(&context->key);
    mbedtls_ssl_cache_init(&context->cache);
#if MBEDTLS_VERSION_MAJOR >= 3
    /* TLS 1.3 stands on it. A client's key share has a slot in its table of keys, one for the process: it doubles with
     * the handshakes that are under way at once, and never shrinks. */
    if (psa_crypto_init() != PSA_SUCCESS)
        die("psa_crypto_init: failed");
#endif
    check(mbedtls_ctr_drbg_seed(&context->random, mbedtls_entropy_func, &context->entropy, NULL, 0), "random numbers");
    configure(context, suite);
    credentials_load(context, suite->certs);
    return context;
}

/* The caller's own block is the session: a program would have it too. */
static void *session_new(void *opaque, struct wire *wire)
{
    struct context *context = opaque;
    mbedtls_ssl_context *ssl = malloc(sizeof *ssl);
    if (!ssl)
        die("out of memory");
    mbedtls_ssl_init(ssl);
    check(mbedtls_ssl_setup(ssl, &context->config), "mbedtls_ssl_setup");
    if (context->role == ROLE_CLIENT)
        check(mbedtls_ssl_set_hostname(ssl, SERVER_NAME), "host name"); /* to ask for, and to verify */
    mbedtls_ssl_set_bio(ssl, wire, wire_send, wire_receive, NULL);
    return ssl;
}

/* Ends the run unless the library only waits for the other end. */
static bool waits(mbedtls_ssl_context *ssl, int result, const char *what)
{
    char reason[256];
    if (result == MBEDTLS_ERR_SSL_WANT_READ || result == MBEDTLS_ERR_SSL_WANT_WRITE)
        return true;
    if (result == MBEDTLS_ERR_X509_CERT_VERIFY_FAILED &&
        mbedtls_x509_crt_verify_info(reason, sizeof reason, "", mbedtls_ssl_get_verify_result(ssl)) > 0)
        die("%s: the peer's chain: %.*s", what, (int)strcspn(reason, "\n"), reason);
    check(result, what);
    return true;
}

static bool handshake(void *ssl)
{
    int result;
    if (!mbedtls_ssl_is_handshake_over((mbedtls_ssl_context *)ssl)) {
        result = mbedtls_ssl_handshake(ssl);
        return result == 0 || !waits(ssl, result, "handshake");
    }
    result = mbedtls_ssl_read(ssl, NULL, 0); /* reads a record, and gives nothing of it */
    return result == 0 || waits(ssl, result, "read");
}

static size_t write(void *ssl, const void *bytes, size_t size)
{
    int taken = mbedtls_ssl_write(ssl, bytes, size);
    return taken > 0 ? (size_t)taken : !waits(ssl, taken, "write");
}

static size_t read(void *ssl, void *bytes, size_t size)
{
    int given = mbedtls_ssl_read(ssl, bytes, size);
    return given > 0 ? (size_t)given : !waits(ssl, given, "read");
}

/* The library has no word for the group that was agreed, and none for a session that was resumed: none is offered.
 * After TLS 1.3 it keeps what its handshake needed as long as the connection, and has no call that would free it. */
static void negotiated(void *ssl, struct negotiated *result)
{
    const char *cipher = mbedtls_ssl_get_ciphersuite(ssl);
    result->protocol = mbedtls_ssl_get_version(ssl);
    result->cipher = cipher;
    for (size_t i = 0; cipher && i < sizeof ciphers / sizeof *ciphers; i++)
        if (mbedtls_ssl_get_ciphersuite_id(cipher) == ciphers[i].number)
            result->cipher = ciphers[i].name;
    result->peer_verified = mbedtls_ssl_get_peer_cert(ssl) && mbedtls_ssl_get_verify_result(ssl) == 0;
}

static void session_free(void *ssl)
{
    mbedtls_ssl_free(ssl);
    free(ssl);
}

static void context_free(void *opaque)
{
    struct context *context = opaque;
    mbedtls_ssl_config_free(&context->config);
    mbedtls_ssl_cache_free(&context->cache);
    mbedtls_pk_free(&context->key);
    mbedtls_x509_crt_free(&context->certificates);
    mbedtls_ctr_drbg_free(&context->random);
    mbedtls_entropy_free(&context->entropy);
    free(context);
}

const struct driver driver = {
    .name = "mbedtls",
    .version = version,
    .supports = supports,
    .context_new = context_new,
    .session_new = session_new,
    .handshake = handshake,
    .write = write,
    .read = read,
    .negotiated = negotiated,
    .session_free = session_free,
    .context_free = context_free,
};
