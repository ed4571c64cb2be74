/* What Mbed TLS is told before its first session: what to offer, and whom to trust. */
#ifndef MEMTEST_MBEDTLS_SETUP_H
#define MEMTEST_MBEDTLS_SETUP_H

#include "driver.h"
#include "mbedtls_versions.h"

#include <mbedtls/ctr_drbg.h>
#include <mbedtls/entropy.h>
#include <mbedtls/ssl_cache.h>
#include <mbedtls/ssl_ticket.h>
#include <pthread.h>

enum { GROUPS = 6 }; /* of a role, with P-256 for certificates and the list's end */

/* A configuration, and what it only refers to. */
struct context {
    mbedtls_ssl_config config; /* the first: what a session's configuration is a part of */
    enum role role;
    bool tls13;
    mbedtls_entropy_context entropy;
    mbedtls_ctr_drbg_context random;
    mbedtls_x509_crt own, trusted;
    mbedtls_pk_context key, signer;    /* the signer is the key under its lock */
    mbedtls_ssl_cache_context cache;   /* sessions under their ids */
    mbedtls_ssl_ticket_context ticket; /* what seals tickets */
    struct named *named;               /* of a server with several names: a list */
    pthread_mutex_t random_lock, key_lock, kept_lock;
    int ciphers[2];
    group groups[GROUPS];
};

/* PSA has one table of keys for the process, and TLS 1.3 all of its ephemeral keys in it. */
extern pthread_mutex_t psa_lock;

/* NULL, or what this build of the library, or the driver, does not have. */
const char *lacks(const struct suite *suite);

/* OpenSSL's name of a cipher that the library names in its own way; that one where it is not known. */
const char *cipher_name(const char *own);
mbedtls_cipher_type_t cipher_type(const char *name); /* what it encrypts with */

/* The certificate of one name more, that the library is given when a client asks for it. */
struct named {
    mbedtls_x509_crt own;
    mbedtls_pk_context key;
    struct named *next;
};
void named_add(struct context *context, const char *server_name, const struct suite *suite);

struct context *context_open(enum role role, const struct suite *suite);
void context_close(struct context *context);

/* Ends the run with what the library says, unless `result` is 0. */
void check(int result, const char *what);

#endif
