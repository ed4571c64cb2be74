/* Which of s2n's named security policies a suite comes out of. */
#ifndef MEMTEST_S2N_POLICIES_H
#define MEMTEST_S2N_POLICIES_H

#include "driver.h"

/* NULL when none is known. */
const char *policy_for(const struct suite *suite, enum role role);

#endif
