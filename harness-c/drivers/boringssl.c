/* BoringSSL behind the driver interface. */
#include "boringssl.h"
#include "certs_kind.h"
#include "group_names.h"
#include "sealer.h"

#define TEXT_(number) #number
#define TEXT(number) TEXT_(number)

/* It has no releases: an interface's number, and the crate that packs the tree. */
static const char *version(void)
{
    return "BoringSSL API " TEXT(BORINGSSL_API_VERSION) " (" SOURCE ")";
}

#ifdef SSL_CIPHER_FLAG_EQUAL_PREFERENCE_WITH_NEXT /* TLS 1.3's ciphers can be chosen */

static const char *tls13_cipher_set(SSL_CTX *ctx, const char *cipher)
{
    for (uint16_t id = 0x1301; id <= 0x1305; id++) { /* RFC 8446, B.4 */
        const SSL_CIPHER *known = SSL_get_cipher_by_value(id);
        if (known && !strcmp(SSL_CIPHER_standard_name(known), cipher))
            return SSL_CTX_set1_tls13_ciphers(ctx, &id, NULL, 1) ? NULL : "does not take this cipher";
    }
    return "does not have this cipher";
}

#else

/* All three are offered always; of its clients' a server takes the first, and AES where there are instructions. */
static const char *tls13_cipher_set(SSL_CTX *ctx, const char *cipher)
{
    (void)ctx;
    if (strcmp(cipher, "TLS_AES_128_GCM_SHA256") != 0)
        return "cannot choose the cipher of TLSv1.3, and itself takes TLS_AES_128_GCM_SHA256";
    return EVP_has_aes_hardware() ? NULL
                                  : "cannot choose the cipher of TLSv1.3, and without AES instructions takes ChaCha20";
}

#endif

/* By itself its client sends a key share of the first hybrid too, and accepts no signatures of ML-DSA. */
#if BORINGSSL_API_VERSION >= 44

static uint16_t first_share; /* of a client with several groups, else 0 */

static const char *share_choose(const struct suite *suite)
{
    static const struct {
        const char *name;
        uint16_t id;
    } known[] = {{"X25519", SSL_GROUP_X25519},
                 {"P-256", SSL_GROUP_SECP256R1},
                 {"P-384", SSL_GROUP_SECP384R1},
                 {"X25519MLKEM768", SSL_GROUP_X25519_MLKEM768}};
    const char *list = role_groups(ROLE_CLIENT, suite);
    char name[GROUP_NAME_BYTES];
    if (!list || !group_next(list, name))
        return NULL;
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        if (!strcasecmp(known[i].name, name))
            first_share = known[i].id;
    return first_share ? NULL : "does not have this group";
}

static void share_set(SSL *ssl)
{
    if (first_share && !SSL_is_server(ssl))
        openssl_check(SSL_set1_client_key_shares(ssl, &first_share, 1), "SSL_set1_client_key_shares");
}

static void mldsa_accept(SSL_CTX *ctx)
{
    static const uint16_t accepted[] = {
        SSL_SIGN_ML_DSA_44,
        SSL_SIGN_ML_DSA_65,
        SSL_SIGN_ML_DSA_87,
        SSL_SIGN_ECDSA_SECP256R1_SHA256,
        SSL_SIGN_RSA_PSS_RSAE_SHA256,
        SSL_SIGN_RSA_PKCS1_SHA256,
        SSL_SIGN_ECDSA_SECP384R1_SHA384,
        SSL_SIGN_RSA_PSS_RSAE_SHA384,
        SSL_SIGN_RSA_PKCS1_SHA384,
        SSL_SIGN_RSA_PSS_RSAE_SHA512,
        SSL_SIGN_RSA_PKCS1_SHA512,
    };
    openssl_check(SSL_CTX_set_verify_algorithm_prefs(ctx, accepted, sizeof accepted / sizeof *accepted),
                  "SSL_CTX_set_verify_algorithm_prefs");
}

#else

static const char *share_choose(const struct suite *suite)
{
    return boringssl_share_lacks(suite);
}

static void share_set(SSL *ssl)
{
    (void)ssl;
}

static void mldsa_accept(SSL_CTX *ctx)
{
    (void)ctx;
}

#endif

static const char *configure(SSL_CTX *ctx, const struct suite *suite)
{
    const char *lacks = openssl_offers(ctx, suite);
    if (!lacks && openssl_is_tls13(suite))
        lacks = tls13_cipher_set(ctx, suite->cipher);
    if (!lacks)
        lacks = share_choose(suite);
    return lacks ? lacks : boringssl_lacks(suite);
}

static const char *supports(const struct suite *suite)
{
    return openssl_supports(suite, configure);
}

static void *context_new(enum role role, const struct suite *suite)
{
    struct openssl_context *context = boringssl_context_new(role, suite, configure);
    if (certs_are_mldsa(suite))
        mldsa_accept(context->ctx);
    return context;
}

static void *session_new(void *context, struct wire *wire)
{
    SSL *ssl = boringssl_session_new(context, wire);
    share_set(ssl);
    return ssl;
}

static void name_add(void *context, const char *server_name, const struct suite *suite)
{
    openssl_name_put(context, server_name, context_new(ROLE_SERVER, suite));
}

const struct driver driver = {
    .name = "boringssl",
    .version = version,
    .supports = supports,
    .context_new = context_new,
    .session_new = session_new,
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
