/* What the drivers of OpenSSL's family share; compiled with each against that library's own headers.
 *
 * A driver adds what is its own: how it names itself, its TLS 1.3 ciphers, what it lacks, its ways to save memory. */
#ifndef MEMTEST_OPENSSL_H
#define MEMTEST_OPENSSL_H

#include "driver.h"

#include <openssl/ssl.h>
#include <string.h>

/* What all sessions of a role share. Not every library can tell a client's SSL_CTX from a server's. */
struct openssl_context {
    SSL_CTX *ctx;
    enum role role;
    bool low_memory;
    struct openssl_context *named; /* of a server with several names: a list */
};

/* Offers just what the suite asks; NULL, or what this build of the library does not have. */
typedef const char *openssl_configure(SSL_CTX *ctx, const struct suite *suite);

/* Ends the run unless it is done, with the library's first reason. */
void openssl_check(bool done, const char *what);

/* A driver's `configure` begins with it: the protocol, and in TLS 1.2 the cipher. Groups are each role's own. */
const char *openssl_offers(SSL_CTX *ctx, const struct suite *suite);
static inline bool openssl_is_tls13(const struct suite *suite)
{
    return !strcmp(suite->protocol, "TLSv1.3");
}

/* A driver's `supports`: what `configure` says on a context made for it. */
const char *openssl_supports(const struct suite *suite, openssl_configure *configure);

struct openssl_context *openssl_context_new(enum role role, const struct suite *suite, openssl_configure *configure);

/* An SSL_CTX for each name, which the servername callback chooses: as nginx and HAProxy have it. */
void openssl_name_put(struct openssl_context *context, const char *server_name, struct openssl_context *named);

/* A session over the wire. */
void *openssl_session_new(void *context, struct wire *wire);
/* The same over BIOs of the caller's, which it takes, for a server of this name. */
SSL *openssl_session_over(const struct openssl_context *context, BIO *in, BIO *out, const char *server_name);

/* The rest of struct driver as it stands; sessions are SSLs. */
void openssl_resume(void *ssl, void *from);
size_t openssl_tickets(void);
bool openssl_handshake(void *ssl);
size_t openssl_write(void *ssl, const void *bytes, size_t size);
size_t openssl_read(void *ssl, void *bytes, size_t size);
void openssl_negotiated(void *ssl, struct negotiated *result);
void openssl_session_free(void *ssl);
void openssl_context_free(void *context);

#endif
