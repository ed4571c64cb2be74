/* What Mbed TLS is told before its first session: what to offer, and whom to trust. */
#include "mbedtls_setup.h"

#include <mbedtls/error.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const struct cipher {
    const char *name; /* OpenSSL's; the library has names of its own */
    int number;       /* IANA's */
} ciphers[] = {{"TLS_AES_128_GCM_SHA256", 0x1301},
               {"TLS_AES_256_GCM_SHA384", 0x1302},
               {"ECDHE-RSA-AES256-GCM-SHA384", MBEDTLS_TLS_ECDHE_RSA_WITH_AES_256_GCM_SHA384},
               {"ECDHE-ECDSA-AES256-GCM-SHA384", MBEDTLS_TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384}};

void check(int result, const char *what)
{
    char reason[160];
    if (result == 0)
        return;
    mbedtls_strerror(result, reason, sizeof reason);
    die("%s: %s", what, reason);
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

const char *cipher_name(const char *own)
{
    for (size_t i = 0; own && i < sizeof ciphers / sizeof *ciphers; i++)
        if (mbedtls_ssl_get_ciphersuite_id(own) == ciphers[i].number)
            return ciphers[i].name;
    return own;
}

const char *lacks(const struct suite *suite)
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

/* Offers just what the suite asks. But in TLS 1.2 a client has one list for key exchange and for the curves of
 * certificates, so a P-256 chain needs P-256 in it too: the server does not, so that both have X25519 alone. */
static void configure(struct context *context, const struct suite *suite)
{
    bool client = context->role == ROLE_CLIENT;
    mbedtls_ssl_config *config = &context->config;
    bool both = !is_tls13(suite) && client && strstr(suite->cipher, "ECDSA");
    context->ciphers[0] = cipher_named(suite->cipher)->number;
    context->groups[0] = GROUP_X25519;
    context->groups[1] = both ? GROUP_P256 : 0;
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
static void credentials_load(struct context *context, const struct suite *suite)
{
    bool client = context->role == ROLE_CLIENT;
    char path[PATH_BYTES];
    suite_path(path, suite, client ? "root.pem" : "chain.pem");
    check(mbedtls_x509_crt_parse_file(&context->certificates, path), path);
    if (client) {
        mbedtls_ssl_conf_ca_chain(&context->config, &context->certificates, NULL);
        mbedtls_ssl_conf_authmode(&context->config, MBEDTLS_SSL_VERIFY_REQUIRED);
        return;
    }
    suite_path(path, suite, "key.pem");
    check(mbedtls_pk_parse_keyfile(&context->key, path, NULL, mbedtls_ctr_drbg_random, &context->random), path);
    key_check(context, path);
    check(mbedtls_ssl_conf_own_cert(&context->config, &context->certificates, &context->key), path);
}

/* TLS 1.3 stands on it. A client's key share has a slot in its table of keys, one for the process: it doubles with the
 * handshakes that are under way at once, and keeps its size until this is undone. */
static void psa_use(int more)
{
    static int contexts;
    if (contexts == 0 && psa_crypto_init() != PSA_SUCCESS)
        die("psa_crypto_init: failed");
    contexts += more;
    if (contexts == 0)
        mbedtls_psa_crypto_free();
}

struct context *context_open(enum role role, const struct suite *suite)
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
    psa_use(1);
    check(mbedtls_ctr_drbg_seed(&context->random, mbedtls_entropy_func, &context->entropy, NULL, 0), "random numbers");
    configure(context, suite);
    credentials_load(context, suite);
    return context;
}

void context_close(struct context *context)
{
    mbedtls_ssl_config_free(&context->config);
    mbedtls_ssl_cache_free(&context->cache);
    mbedtls_pk_free(&context->key);
    mbedtls_x509_crt_free(&context->certificates);
    mbedtls_ctr_drbg_free(&context->random);
    mbedtls_entropy_free(&context->entropy);
    free(context);
    psa_use(-1);
}
