/* What the sealers of OpenSSL's family have in common, whichever interface seals for them. */
#ifndef MEMTEST_OPENSSL_SEALER_H
#define MEMTEST_OPENSSL_SEALER_H

#include "openssl.h"

enum { SEALER_KEY_BYTES = 32 };

static const unsigned char sealer_aad[SEAL_AAD_BYTES];

/* One of three, by the suite's cipher. */
static inline const void *sealer_choice(const struct suite *suite, const void *aes128, const void *aes256,
                                        const void *chacha20)
{
    if (strstr(suite->cipher, "CHACHA20"))
        return chacha20;
    return strstr(suite->cipher, "AES128") || strstr(suite->cipher, "AES_128") ? aes128 : aes256;
}

static inline void sealer_key(unsigned char key[SEALER_KEY_BYTES])
{
    for (int i = 0; i < SEALER_KEY_BYTES; i++)
        key[i] = (unsigned char)i;
}

/* The nonce of the next record. */
static inline void sealer_count(unsigned char nonce[SEAL_NONCE_BYTES])
{
    for (int i = SEAL_NONCE_BYTES - 1; i >= 0 && ++nonce[i] == 0; i--)
        continue;
}

#endif
