/* A sealer by EVP_AEAD, as records of BoringSSL, AWS-LC, LibreSSL, and s2n-tls over AWS-LC are sealed. */
#include "sealer.h"
#include "sealing.h"

#include <openssl/evp.h>
#ifdef OPENSSL_IS_BORINGSSL
#include <openssl/aead.h> /* LibreSSL has it in evp.h */
#endif
#include <stdlib.h>

struct sealer {
    EVP_AEAD_CTX aead;
    unsigned char nonce[SEAL_NONCE_BYTES];
};

void *sealer_new(const struct suite *suite)
{
    const EVP_AEAD *aead = seals_chacha20(suite) ? EVP_aead_chacha20_poly1305()
                           : seals_aes128(suite) ? EVP_aead_aes_128_gcm()
                                                 : EVP_aead_aes_256_gcm();
    unsigned char key[SEALING_KEY_BYTES];
    struct sealer *sealer = calloc(1, sizeof *sealer);
    sealing_key(key);
    if (!sealer || !EVP_AEAD_CTX_init(&sealer->aead, aead, key, EVP_AEAD_key_length(aead), SEAL_TAG_BYTES, NULL))
        die("EVP_AEAD_CTX_init failed");
    return sealer;
}

void seal(void *opaque, unsigned char *bytes, size_t size)
{
    struct sealer *sealer = opaque;
    size_t sealed;
    if (!EVP_AEAD_CTX_seal(&sealer->aead, bytes, &sealed, size + SEAL_TAG_BYTES, sealer->nonce, SEAL_NONCE_BYTES, bytes,
                           size, sealing_aad, SEAL_AAD_BYTES))
        die("EVP_AEAD_CTX_seal failed");
    sealing_count(sealer->nonce);
}

void sealer_free(void *opaque)
{
    struct sealer *sealer = opaque;
    EVP_AEAD_CTX_cleanup(&sealer->aead);
    free(sealer);
}
