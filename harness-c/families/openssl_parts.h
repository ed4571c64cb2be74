/* What openssl.c is made of, in files of their own. Drivers see openssl.h only. */
#ifndef MEMTEST_OPENSSL_PARTS_H
#define MEMTEST_OPENSSL_PARTS_H

#include "openssl.h"

/* openssl_wire.c: the wire as a BIO. The kind is made by the first context, and once. */
void wire_bio_prepare(void);
BIO *wire_bio_new(struct wire *wire);

/* openssl_credentials.c: a client holds the root only; a server its identity only. With auth "mutual" each has both. */
void credentials_load(SSL_CTX *ctx, enum role role, const struct suite *suite);

/* openssl_compression.c and openssl_stapling.c: they do nothing but in stacks that are built for it. */
void certificates_compress(SSL_CTX *ctx, enum role role);
void stapling_set(SSL_CTX *ctx, enum role role, const struct suite *suite);

#endif
