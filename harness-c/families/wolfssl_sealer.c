/* A sealer by wolfCrypt, through the calls that wolfSSL's records take. Under the GPL, as the library is. */
#include "sealer.h"
#include "sealing.h"
#include "wolfssl_setup.h"

#include <stdlib.h>

#include <wolfssl/wolfcrypt/aes.h>
#include <wolfssl/wolfcrypt/chacha20_poly1305.h>

struct sealer {
    Aes aes;
    bool chacha20; /* whose call takes the key each time */
    unsigned char key[SEALING_KEY_BYTES];
    unsigned char nonce[SEAL_NONCE_BYTES];
};

void *sealer_new(const struct suite *suite)
{
    struct sealer *sealer = calloc(1, sizeof *sealer);
    if (!sealer)
        die("sealer: out of memory");
    sealer->chacha20 = seals_chacha20(suite);
    sealing_key(sealer->key);
    unsigned key_bytes = seals_aes128(suite) ? AES_128_KEY_SIZE : AES_256_KEY_SIZE;
    if (wc_AesInit(&sealer->aes, NULL, INVALID_DEVID) || wc_AesGcmSetKey(&sealer->aes, sealer->key, key_bytes))
        die("wc_AesGcmSetKey failed");
    return sealer;
}

void seal(void *opaque, unsigned char *bytes, size_t size)
{
    struct sealer *sealer = opaque;
    unsigned char *tag = bytes + size;
    int failed = sealer->chacha20
                     ? wc_ChaCha20Poly1305_Encrypt(sealer->key, sealer->nonce, sealing_aad, SEAL_AAD_BYTES, bytes,
                                                   (word32)size, bytes, tag)
                     : wc_AesGcmEncrypt(&sealer->aes, bytes, bytes, (word32)size, sealer->nonce, SEAL_NONCE_BYTES, tag,
                                        SEAL_TAG_BYTES, sealing_aad, SEAL_AAD_BYTES);
    if (failed)
        die("seal: code %d", failed);
    sealing_count(sealer->nonce);
}

void sealer_free(void *opaque)
{
    struct sealer *sealer = opaque;
    wc_AesFree(&sealer->aes);
    free(sealer);
}
