/* A sealer by the EVP_AEAD of s2n-tls' libcrypto, AWS-LC, through the call that its records take. */
#ifndef MEMTEST_S2N_SEALER_H
#define MEMTEST_S2N_SEALER_H

#include "sealing.h"

#include <openssl/aead.h>
#include <openssl/mem.h>

struct sealer {
    EVP_AEAD_CTX *aead;
    unsigned char nonce[SEAL_NONCE_BYTES];
};

static const EVP_AEAD *sealer_algorithm(const struct suite *suite)
{
    if (seals_chacha20(suite))
        return EVP_aead_chacha20_poly1305();
    return seals_aes128(suite) ? EVP_aead_aes_128_gcm() : EVP_aead_aes_256_gcm();
}

static void *sealer_new(const struct suite *suite)
{
    const EVP_AEAD *algorithm = sealer_algorithm(suite);
    unsigned char key[SEALING_KEY_BYTES];
    struct sealer *sealer = OPENSSL_zalloc(sizeof *sealer);
    sealing_key(key);
    if (sealer)
        sealer->aead = EVP_AEAD_CTX_new(algorithm, key, EVP_AEAD_key_length(algorithm), SEAL_TAG_BYTES);
    if (!sealer || !sealer->aead)
        die("EVP_AEAD_CTX_new failed");
    return sealer;
}

static void seal(void *opaque, unsigned char *bytes, size_t size)
{
    struct sealer *sealer = opaque;
    size_t sealed;
    if (!EVP_AEAD_CTX_seal(sealer->aead, bytes, &sealed, size + SEAL_TAG_BYTES, sealer->nonce, SEAL_NONCE_BYTES, bytes,
                           size, sealing_aad, SEAL_AAD_BYTES))
        die("EVP_AEAD_CTX_seal failed");
    sealing_count(sealer->nonce);
}

static void sealer_free(void *opaque)
{
    struct sealer *sealer = opaque;
    EVP_AEAD_CTX_free(sealer->aead);
    OPENSSL_free(sealer);
}

#endif
