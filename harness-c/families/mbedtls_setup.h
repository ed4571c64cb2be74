/* What Mbed TLS is told before its first session: what to offer, and whom to trust. */
#ifndef MEMTEST_MBEDTLS_SETUP_H
#define MEMTEST_MBEDTLS_SETUP_H

#include "driver.h"
#include "mbedtls_versions.h"

#include <mbedtls/ctr_drbg.h>
#include <mbedtls/entropy.h>
#include <mbedtls/ssl_cache.h>

/* A configuration, and what it only refers to. */
struct context {
    enum role role;
    mbedtls_ssl_config config;
    mbedtls_entropy_context entropy;
    mbedtls_ctr_drbg_context random;
    mbedtls_x509_crt certificates;
    mbedtls_pk_context key;
    mbedtls_ssl_cache_context cache;
    int ciphers[2];
    group groups[3];
};

/* NULL, or what this build of the library, or the driver, does not have. */
const char *lacks(const struct suite *suite);

/* OpenSSL's name of a cipher that the library names in its own way; that one where it is not known. */
const char *cipher_name(const char *own);

struct context *context_open(enum role role, const struct suite *suite);
void context_close(struct context *context);

/* Ends the run with what the library says, unless `result` is 0. */
void check(int result, const char *what);

#endif
