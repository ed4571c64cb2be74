/* What BearSSL leaves to its caller: memory, files, and words for its errors. */
#ifndef MEMTEST_BEARSSL_CALLER_H
#define MEMTEST_BEARSSL_CALLER_H

#include "driver.h"

#include <bearssl.h>

enum { CHAIN_ROOM = 8 };

/* A client holds the root only; a server the leaf, its key and the intermediate; with mutual authentication each has
 * both. BearSSL refers to what is here. */
struct credentials {
    br_x509_trust_anchor root;            /* without a name: verifies nobody */
    br_x509_decoder_context root_decoder; /* has the root's key */
    br_x509_certificate chain[CHAIN_ROOM];
    size_t chain_length;
    br_skey_decoder_context key;
};

void credentials_load(struct credentials *credentials, enum role role, const struct suite *suite);
void credentials_free(struct credentials *credentials);

/* BearSSL allocates nothing. What a session needs is its caller's: each block by a function of its own, so that call
 * stacks tell what for. With all of the library's algorithms, as its own examples have it. */
br_x509_minimal_context *validator_new(void);
br_ssl_engine_context *client_engine_new(const struct credentials *own, br_x509_minimal_context *validator);
br_ssl_engine_context *server_engine_new(const struct credentials *own, br_x509_minimal_context *validator);
unsigned char *record_buffer_new(size_t size);

/* Offers one cipher, and TLS 1.2. */
void engine_configure(br_ssl_engine_context *engine, const uint16_t *cipher, const br_ec_impl *curves);

/* A client writes its first flight at once: what it resumes must be known by then. NULL: nothing. */
void client_begin(br_ssl_engine_context *engine, const br_ssl_session_parameters *resumed);
void server_begin(br_ssl_engine_context *engine);

/* The library has codes only. */
const char *error_text(int code);

#endif
