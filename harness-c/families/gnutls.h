/* What a suite's names are to GnuTLS, and back. */
#ifndef MEMTEST_GNUTLS_H
#define MEMTEST_GNUTLS_H

#include "driver.h"

#include <gnutls/gnutls.h>

/* Offers just what the suite asks, with the library's own signature algorithms; NULL, or what it does not have. */
const char *priority_new(gnutls_priority_t *priority, const struct suite *suite);

/* OpenSSL's name for what GnuTLS reports; a name that only GnuTLS has stands as it is. */
const char *openssl_name(const char *gnutls);

#endif
