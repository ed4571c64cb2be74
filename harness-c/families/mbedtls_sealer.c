/* Mbed TLS's AEAD called directly, as its records call it. */
#include "mbedtls_setup.h"
#include "sealer.h"
#include "sealing.h"

#include <mbedtls/cipher.h>
#include <stdlib.h>

struct sealer {
    mbedtls_cipher_context_t cipher;
    unsigned char nonce[SEAL_NONCE_BYTES];
};

void *sealer_new(const struct suite *suite)
{
    const mbedtls_cipher_info_t *info = mbedtls_cipher_info_from_type(cipher_type(suite->cipher));
    struct sealer *sealer = calloc(1, sizeof *sealer);
    unsigned char key[SEALING_KEY_BYTES];
    if (!sealer)
        die("out of memory");
    sealing_key(key);
    mbedtls_cipher_init(&sealer->cipher);
    check(mbedtls_cipher_setup(&sealer->cipher, info), "mbedtls_cipher_setup");
    check(mbedtls_cipher_setkey(&sealer->cipher, key, mbedtls_cipher_get_key_bitlen(&sealer->cipher), MBEDTLS_ENCRYPT),
          "mbedtls_cipher_setkey");
    return sealer;
}

void seal(void *opaque, unsigned char *bytes, size_t size)
{
    struct sealer *sealer = opaque;
    size_t sealed;
    check(mbedtls_cipher_auth_encrypt_ext(&sealer->cipher, sealer->nonce, SEAL_NONCE_BYTES, sealing_aad, SEAL_AAD_BYTES,
                                          bytes, size, bytes, size + SEAL_TAG_BYTES, &sealed, SEAL_TAG_BYTES),
          "mbedtls_cipher_auth_encrypt_ext");
    sealing_count(sealer->nonce);
}

void sealer_free(void *opaque)
{
    mbedtls_cipher_free(&((struct sealer *)opaque)->cipher);
    free(opaque);
}
