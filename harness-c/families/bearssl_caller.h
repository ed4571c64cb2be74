/* What BearSSL leaves to its caller: memory, files, and words for its errors. */
#ifndef MEMTEST_BEARSSL_CALLER_H
#define MEMTEST_BEARSSL_CALLER_H

#include "driver.h"

#include <bearssl.h>

enum { CHAIN_ROOM = 4 };

/* A client holds the root only; a server the leaf, its key and the intermediate. BearSSL refers to what is here. */
struct credentials {
    br_x509_trust_anchor root;
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
br_ssl_engine_context *server_engine_new(const struct credentials *own);
unsigned char *record_buffer_new(size_t size);

/* The library has codes only. */
const char *error_text(int code);

#endif
