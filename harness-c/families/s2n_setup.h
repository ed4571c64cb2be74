/* What s2n-tls is told before its first session. */
#ifndef MEMTEST_S2N_SETUP_H
#define MEMTEST_S2N_SETUP_H

#include "driver.h"

#include <s2n.h>

/* The named security policy that a suite comes out of; NULL when none is known. */
const char *policy_for(const struct suite *suite, enum role role);

/* s2n_init, once. By default s2n rounds every block up to pages and locks them into memory, of which a process may have
 * few. This has it do what it does with S2N_DONT_MLOCK in the environment, whose size would then be in the heap. */
bool s2n_setup(void);

/* A client holds the root only; a server the leaf, its key and the intermediate. With auth=mutual each has both. What
 * it sends is its caller's, or NULL. */
struct s2n_cert_chain_and_key *credentials_load(struct s2n_config *config, enum role role, const struct suite *suite);

/* One certificate more of a server, before `chains`, its caller's: s2n chooses among them by the names in them. */
struct s2n_cert_chain_and_key *chain_add(struct s2n_config *config, const struct suite *suite,
                                         struct s2n_cert_chain_and_key *chains);

/* When the configuration is freed. */
void chains_free(struct s2n_cert_chain_and_key *chains);

/* Ends the run with what s2n says unless it is done. */
void check(bool done, const char *what);

#endif
