/* What GnuTLS is told before its first session: a suite in its own words, whom to trust, where sessions are kept. */
#ifndef MEMTEST_GNUTLS_H
#define MEMTEST_GNUTLS_H

#include "driver.h"

#include <gnutls/gnutls.h>

/* Offers just what the suite asks of a role, with the library's own signature algorithms; NULL, or what it does not
 * have. */
const char *priority_new(gnutls_priority_t *priority, enum role role, const struct suite *suite);

/* OpenSSL's name for what GnuTLS reports; a name that only GnuTLS has stands as it is. */
const char *openssl_name(const char *gnutls);

/* A client holds the root only; a server the leaf, its key and the intermediate. With auth=mutual each has both. */
gnutls_certificate_credentials_t credentials_new(enum role role, const struct suite *suite);

/* One more certificate: a server chooses among them by the names in them. */
void credentials_add(gnutls_certificate_credentials_t credentials, const struct suite *suite);

/* Of a server: GnuTLS itself keeps no session under its id, an application does, by callbacks. */
struct session_store *sessions_kept_new(void);
void sessions_kept_use(gnutls_session_t session, struct session_store *store);
void sessions_kept_free(struct session_store *store);

/* Ends the run when GnuTLS says that something failed. */
void check(int result, const char *what);

#endif
