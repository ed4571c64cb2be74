/* What kind of keys a suite's certificates have, where a library must be told: by the name of their directory. */
#ifndef MEMTEST_CERTS_KIND_H
#define MEMTEST_CERTS_KIND_H

#include "driver.h"

#include <string.h>

static inline bool certs_are_mldsa(const struct suite *suite)
{
    const char *slash = strrchr(suite->certs, '/');
    return !strncmp(slash ? slash + 1 : suite->certs, "mldsa", 5);
}

#endif
