/* What wolfSSL is told before its first session: what to offer, and whom to trust. Under the GPL, as the library is. */
#ifndef MEMTEST_WOLFSSL_SETUP_H
#define MEMTEST_WOLFSSL_SETUP_H

#include "driver.h"

#include <wolfssl/options.h> /* how the library was built: before its other headers */

#include <wolfssl/ssl.h>

bool is_tls13(const struct suite *suite);

/* Of the suite's protocol alone. */
WOLFSSL_METHOD *method(enum role role, const struct suite *suite);

/* Offers just what the suite asks of a role; NULL, or what this build of the library does not have. */
const char *configure(WOLFSSL_CTX *ctx, enum role role, const struct suite *suite);

/* What this build of the library lacks of the suite's tickets, or NULL; and the suite's tickets, just as many. */
const char *tickets_lacking(const struct suite *suite);
void tickets_set(WOLFSSL_CTX *ctx, enum role role, const struct suite *suite);
void tickets_count(WOLFSSL *ssl); /* those that this client receives */
size_t tickets_told(void);

/* A client holds the root only; a server the leaf, its key and the intermediate. With auth=mutual each has both. That
 * the key is another's is said when a peer refuses what it signed. */
void credentials_load(WOLFSSL_CTX *ctx, enum role role, const struct suite *suite);

/* Ends the run with what the library says. `result` is its code, or WOLFSSL_SUCCESS. */
void check(int result, const char *what);

#endif
