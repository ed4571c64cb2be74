/* A sealer by GnuTLS's own AEAD interface, in place. (Its records of TLS 1.3 go by the same, gathered from pieces.) */
#include "gnutls.h"
#include "sealer.h"
#include "sealing.h"

#include <gnutls/crypto.h>

struct sealer {
    gnutls_aead_cipher_hd_t cipher;
    unsigned char nonce[SEAL_NONCE_BYTES];
};

static gnutls_cipher_algorithm_t sealer_algorithm(const struct suite *suite)
{
    if (seals_chacha20(suite))
        return GNUTLS_CIPHER_CHACHA20_POLY1305;
    return seals_aes128(suite) ? GNUTLS_CIPHER_AES_128_GCM : GNUTLS_CIPHER_AES_256_GCM;
}

void *sealer_new(const struct suite *suite)
{
    gnutls_cipher_algorithm_t algorithm = sealer_algorithm(suite);
    unsigned char bytes[SEALING_KEY_BYTES];
    struct sealer *sealer = gnutls_calloc(1, sizeof *sealer);
    if (!sealer)
        die("gnutls_calloc failed");
    sealing_key(bytes);
    const gnutls_datum_t key = {bytes, (unsigned)gnutls_cipher_get_key_size(algorithm)};
    check(gnutls_aead_cipher_init(&sealer->cipher, algorithm, &key), "gnutls_aead_cipher_init");
    return sealer;
}

void seal(void *opaque, unsigned char *bytes, size_t size)
{
    struct sealer *sealer = opaque;
    size_t sealed = size + SEAL_TAG_BYTES;
    check(gnutls_aead_cipher_encrypt(sealer->cipher, sealer->nonce, SEAL_NONCE_BYTES, sealing_aad, SEAL_AAD_BYTES,
                                     SEAL_TAG_BYTES, bytes, size, bytes, &sealed),
          "gnutls_aead_cipher_encrypt");
    sealing_count(sealer->nonce);
}

void sealer_free(void *opaque)
{
    struct sealer *sealer = opaque;
    gnutls_aead_cipher_deinit(sealer->cipher);
    gnutls_free(sealer);
}
