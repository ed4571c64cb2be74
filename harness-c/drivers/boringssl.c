/* BoringSSL behind the driver interface. */
#include "boringssl.h"
#include "openssl_aead.h"

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

static const char *configure(SSL_CTX *ctx, const struct suite *suite)
{
    const char *lacks = openssl_offers(ctx, suite);
    if (!lacks && openssl_is_tls13(suite))
        lacks = tls13_cipher_set(ctx, suite->cipher);
    return lacks ? lacks : boringssl_lacks(suite);
}

static const char *supports(const struct suite *suite)
{
    return openssl_supports(suite, configure);
}

static void *context_new(enum role role, const struct suite *suite)
{
    return boringssl_context_new(role, suite, configure);
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
    .session_new = boringssl_session_new,
    .name_add = name_add,
    .resume = boringssl_resume,
    .handshake = boringssl_handshake,
    .write = openssl_write,
    .read = openssl_read,
    .negotiated = openssl_negotiated,
    .session_free = openssl_session_free,
    .context_free = openssl_context_free,
    .sealer_new = openssl_sealer_new,
    .seal = openssl_seal,
    .sealer_free = openssl_sealer_free,
};
