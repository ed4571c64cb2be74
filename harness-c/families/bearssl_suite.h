/* A suite in BearSSL's terms. */
#ifndef MEMTEST_BEARSSL_SUITE_H
#define MEMTEST_BEARSSL_SUITE_H

#include "driver.h"

#include <stdint.h>

/* A cipher by OpenSSL's name, and by IANA's number: 0 and "another" where the driver does not know it. */
uint16_t cipher_named(const char *name);
const char *cipher_name(uint16_t number);

/* NULL, or what the library, or the driver, does not have. */
const char *lacks(const struct suite *suite);

#endif
