/* A suite in BearSSL's terms. */
#include "bearssl_suite.h"

#include <bearssl.h>
#include <string.h>

static const struct cipher {
    const char *name; /* OpenSSL's; the library has none */
    uint16_t number;  /* IANA's */
} ciphers[] = {{"ECDHE-RSA-AES128-GCM-SHA256", BR_TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256},
               {"ECDHE-RSA-AES256-GCM-SHA384", BR_TLS_ECDHE_RSA_WITH_AES_256_GCM_SHA384},
               {"ECDHE-RSA-CHACHA20-POLY1305", BR_TLS_ECDHE_RSA_WITH_CHACHA20_POLY1305_SHA256},
               {"ECDHE-ECDSA-AES128-GCM-SHA256", BR_TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256},
               {"ECDHE-ECDSA-AES256-GCM-SHA384", BR_TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384}};
enum { CIPHERS = sizeof ciphers / sizeof *ciphers };

uint16_t cipher_named(const char *name)
{
    for (int i = 0; i < CIPHERS; i++)
        if (!strcmp(ciphers[i].name, name))
            return ciphers[i].number;
    return 0;
}

const char *cipher_name(uint16_t number)
{
    for (int i = 0; i < CIPHERS; i++)
        if (ciphers[i].number == number)
            return ciphers[i].name;
    return "another";
}

const char *lacks(const struct suite *suite)
{
    if (strcmp(suite->protocol, "TLSv1.2") != 0)
        return "does TLSv1.2 only";
    if (!strcmp(suite->options, "drop-peer-chain"))
        return "keeps no certificates of its peers";
    if (suite->tickets > 0 && !suite->store)
        return "has no tickets";
    if (!cipher_named(suite->cipher))
        return "this driver does not know this cipher";
    const bool other = strcmp(suite->group, "X25519") != 0 || strcmp(suite->client_groups, "X25519") != 0;
    return other ? "this driver does not know these groups" : NULL;
}
