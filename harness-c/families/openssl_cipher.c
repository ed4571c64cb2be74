/* A sealer by EVP_CIPHER, as OpenSSL's own records are sealed: the key is set once, and each record sets its nonce. */
#include "openssl.h"
#include "sealer.h"
#include "sealing.h"

#include <openssl/evp.h>
#include <stdlib.h>

struct sealer {
    EVP_CIPHER_CTX *cipher;
    unsigned char nonce[SEAL_NONCE_BYTES];
};

void *sealer_new(const struct suite *suite)
{
    const EVP_CIPHER *cipher = seals_chacha20(suite) ? EVP_chacha20_poly1305()
                               : seals_aes128(suite) ? EVP_aes_128_gcm()
                                                     : EVP_aes_256_gcm();
    unsigned char key[SEALING_KEY_BYTES];
    struct sealer *sealer = malloc(sizeof *sealer);
    openssl_check(sealer, "malloc");
    *sealer = (struct sealer){.cipher = EVP_CIPHER_CTX_new()};
    sealing_key(key);
    openssl_check(sealer->cipher && EVP_EncryptInit_ex(sealer->cipher, cipher, NULL, key, NULL), "EVP_EncryptInit_ex");
    return sealer;
}

void seal(void *opaque, unsigned char *bytes, size_t size)
{
    struct sealer *sealer = opaque;
    EVP_CIPHER_CTX *cipher = sealer->cipher;
    int none;
    openssl_check(EVP_EncryptInit_ex(cipher, NULL, NULL, NULL, sealer->nonce) &&
                      EVP_EncryptUpdate(cipher, NULL, &none, sealing_aad, SEAL_AAD_BYTES) &&
                      EVP_EncryptUpdate(cipher, bytes, &none, bytes, (int)size) &&
                      EVP_EncryptFinal_ex(cipher, bytes + size, &none) &&
                      EVP_CIPHER_CTX_ctrl(cipher, EVP_CTRL_AEAD_GET_TAG, SEAL_TAG_BYTES, bytes + size),
                  "seal");
    sealing_count(sealer->nonce);
}

void sealer_free(void *opaque)
{
    struct sealer *sealer = opaque;
    EVP_CIPHER_CTX_free(sealer->cipher);
    free(sealer);
}
