/* A sealer by EVP_AEAD, as records of BoringSSL, AWS-LC and LibreSSL are sealed. */
#ifndef MEMTEST_OPENSSL_AEAD_H
#define MEMTEST_OPENSSL_AEAD_H

#include "openssl_names.h"
#include "openssl_sealer.h"

#include <stdlib.h>

struct sealer {
    EVP_AEAD_CTX aead;
    unsigned char nonce[SEAL_NONCE_BYTES];
};

static void *openssl_sealer_new(const struct suite *suite)
{
    const EVP_AEAD *aead =
        sealer_choice(suite, EVP_aead_aes_128_gcm(), EVP_aead_aes_256_gcm(), EVP_aead_chacha20_poly1305());
    unsigned char key[SEALER_KEY_BYTES];
    struct sealer *sealer = calloc(1, sizeof *sealer);
    openssl_check(sealer, "calloc");
    sealer_key(key);
    openssl_check(EVP_AEAD_CTX_init(&sealer->aead, aead, key, EVP_AEAD_key_length(aead), SEAL_TAG_BYTES, NULL),
                  "EVP_AEAD_CTX_init");
    return sealer;
}

static void openssl_seal(void *opaque, unsigned char *bytes, size_t size)
{
    struct sealer *sealer = opaque;
    size_t sealed;
    openssl_check(EVP_AEAD_CTX_seal(&sealer->aead, bytes, &sealed, size + SEAL_TAG_BYTES, sealer->nonce,
                                    SEAL_NONCE_BYTES, bytes, size, sealer_aad, SEAL_AAD_BYTES),
                  "seal");
    sealer_count(sealer->nonce);
}

static void openssl_sealer_free(void *opaque)
{
    struct sealer *sealer = opaque;
    EVP_AEAD_CTX_cleanup(&sealer->aead);
    free(sealer);
}

#endif
