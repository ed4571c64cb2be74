/* What a library's own AEAD is given, alike of every stack: see `seal` in memtest/driver.h. */
#ifndef MEMTEST_SEALING_H
#define MEMTEST_SEALING_H

#include "driver.h"

#include <string.h>

enum { SEALING_KEY_BYTES = 32 }; /* of the longest key: AES-128 takes the first half */

static const unsigned char sealing_aad[SEAL_AAD_BYTES];

static inline bool seals_chacha20(const struct suite *suite)
{
    return strstr(suite->cipher, "CHACHA20");
}

static inline bool seals_aes128(const struct suite *suite)
{
    return strstr(suite->cipher, "AES128") || strstr(suite->cipher, "AES_128");
}

static inline void sealing_key(unsigned char key[SEALING_KEY_BYTES])
{
    for (int i = 0; i < SEALING_KEY_BYTES; i++)
        key[i] = (unsigned char)i;
}

/* The nonce of the next record. */
static inline void sealing_count(unsigned char nonce[SEAL_NONCE_BYTES])
{
    for (int i = SEAL_NONCE_BYTES - 1; i >= 0 && ++nonce[i] == 0; i--)
        continue;
}

#endif
