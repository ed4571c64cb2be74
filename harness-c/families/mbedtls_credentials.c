/* What Mbed TLS holds of its own, and whom it trusts. */
#include "mbedtls_credentials.h"

#include "mbedtls_alone.h"

/* By a signature, after which the key's numbers for blinding have nearly the room that they come to have: the first two
 * signatures of an RSA key enlarge them, and sessions would not be alike. */
static void key_check(struct context *context, const char *path)
{
    unsigned char hash[32] = {0}, signature[MBEDTLS_PK_SIGNATURE_MAX_SIZE];
    size_t size;
    check(mbedtls_pk_sign(&context->key, MBEDTLS_MD_SHA256, hash, sizeof hash, signature, sizeof signature, &size,
                          random_alone, context),
          path);
    if (mbedtls_pk_verify(&context->own.pk, MBEDTLS_MD_SHA256, hash, sizeof hash, signature, size) != 0)
        die("%s: is not the key of %s", path, context->role == ROLE_CLIENT ? "client-chain.pem" : "chain.pem");
}

/* A leaf, its key and the intermediate. */
static void own_load(struct context *context, const struct suite *suite, const char *chain, const char *key)
{
    char path[PATH_BYTES];
    bool shared = context->role == ROLE_SERVER && !context->tls13;
    suite_path(path, suite, chain);
    check(mbedtls_x509_crt_parse_file(&context->own, path), path);
    suite_path(path, suite, key);
    check(mbedtls_pk_parse_keyfile(&context->key, path, NULL, random_alone, context), path);
    key_check(context, path);
    shared = shared && mbedtls_pk_can_do(&context->key, MBEDTLS_PK_RSA);
    if (shared)
        check(mbedtls_pk_setup_rsa_alt(&context->signer, context, NULL, sign_alone, key_size), path);
    check(mbedtls_ssl_conf_own_cert(&context->config, &context->own, shared ? &context->signer : &context->key), path);
}

/* A key keeps numbers of its first use, which several threads may not make at once. No key has made this signature; of
 * an elliptic curve it is r = 1, s = 1. */
static void key_use(mbedtls_pk_context *key)
{
    static const unsigned char hash[32], ec[] = {0x30, 6, 2, 1, 1, 2, 1, 1}, rsa[1024] = {2};
    if (mbedtls_pk_can_do(key, MBEDTLS_PK_RSA))
        mbedtls_pk_verify(key, MBEDTLS_MD_SHA256, hash, sizeof hash, rsa, mbedtls_pk_get_len(key));
    else
        mbedtls_pk_verify(key, MBEDTLS_MD_SHA256, hash, sizeof hash, ec, sizeof ec);
}

static void root_load(struct context *context, const struct suite *suite, const char *name)
{
    char path[PATH_BYTES];
    suite_path(path, suite, name);
    check(mbedtls_x509_crt_parse_file(&context->trusted, path), path);
    if (context->role == ROLE_SERVER)
        key_use(&context->trusted.pk);
    mbedtls_ssl_conf_ca_chain(&context->config, &context->trusted, NULL);
    mbedtls_ssl_conf_authmode(&context->config, MBEDTLS_SSL_VERIFY_REQUIRED);
}

void credentials_load(struct context *context, const struct suite *suite)
{
    if (context->role == ROLE_CLIENT)
        root_load(context, suite, "root.pem");
    else
        own_load(context, suite, "chain.pem", "key.pem");
    if (!is_mutual(suite))
        return;
    if (context->role == ROLE_CLIENT)
        own_load(context, suite, "client-chain.pem", "client-key.pem");
    else
        root_load(context, suite, "client-root.pem");
}
