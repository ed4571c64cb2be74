/* What BoringSSL and AWS-LC, which began as BoringSSL, have in common beyond OpenSSL's family.
 *
 * Both free a record buffer as soon as it is empty and the handshake's state when it is complete: there is nothing to
 * release. Nor have they sessions of TLS 1.3 but in tickets. */
#ifndef MEMTEST_BORINGSSL_H
#define MEMTEST_BORINGSSL_H

#include "openssl.h"

void *boringssl_context_new(enum role role, const struct suite *suite, openssl_configure *configure);
void *boringssl_session_new(void *context, struct wire *wire);
void boringssl_resume(void *ssl, void *from);
bool boringssl_handshake(void *ssl);

/* Where no call says which key shares to send: beside that of the first group there is one of a hybrid. */
const char *boringssl_share_lacks(const struct suite *suite);
const char *boringssl_lacks(const struct suite *suite);

#endif
