/* Mbed TLS's AEAD called directly, as its records call it; included by its driver alone. */
#ifndef MEMTEST_MBEDTLS_SEALER_H
#define MEMTEST_MBEDTLS_SEALER_H

#include "mbedtls_setup.h"

#include <mbedtls/cipher.h>
#include <stdlib.h>

struct sealer {
    mbedtls_cipher_context_t cipher;
    unsigned char nonce[SEAL_NONCE_BYTES];
};

static void *sealer_new(const struct suite *suite)
{
    const mbedtls_cipher_info_t *info = mbedtls_cipher_info_from_type(cipher_type(suite->cipher));
    struct sealer *sealer = calloc(1, sizeof *sealer);
    unsigned char key[MBEDTLS_MAX_KEY_LENGTH];
    if (!sealer)
        die("out of memory");
    for (size_t i = 0; i < sizeof key; i++)
        key[i] = (unsigned char)i;
    mbedtls_cipher_init(&sealer->cipher);
    check(mbedtls_cipher_setup(&sealer->cipher, info), "mbedtls_cipher_setup");
    check(mbedtls_cipher_setkey(&sealer->cipher, key, mbedtls_cipher_get_key_bitlen(&sealer->cipher), MBEDTLS_ENCRYPT),
          "mbedtls_cipher_setkey");
    return sealer;
}

static void seal(void *opaque, unsigned char *bytes, size_t size)
{
    static const unsigned char aad[SEAL_AAD_BYTES];
    struct sealer *sealer = opaque;
    size_t sealed;
    check(mbedtls_cipher_auth_encrypt_ext(&sealer->cipher, sealer->nonce, sizeof sealer->nonce, aad, sizeof aad, bytes,
                                          size, bytes, size + SEAL_TAG_BYTES, &sealed, SEAL_TAG_BYTES),
          "mbedtls_cipher_auth_encrypt_ext");
    for (int i = SEAL_NONCE_BYTES; i > 0 && ++sealer->nonce[i - 1] == 0; i--)
        ;
}

static void sealer_free(void *opaque)
{
    mbedtls_cipher_free(&((struct sealer *)opaque)->cipher);
    free(opaque);
}

#endif
