/* What Mbed TLS holds of its own, and whom it trusts. */
#ifndef MEMTEST_MBEDTLS_CREDENTIALS_H
#define MEMTEST_MBEDTLS_CREDENTIALS_H

#include "mbedtls_setup.h"

#include <string.h>

static inline bool is_mutual(const struct suite *suite)
{
    return !strcmp(suite->auth, "mutual");
}

/* Who verifies holds the root only. */
void credentials_load(struct context *context, const struct suite *suite);

#endif
