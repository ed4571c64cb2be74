/* A library's own AEAD, as struct driver has it: a family has a file for each interface that its libraries offer. */
#ifndef MEMTEST_SEALER_H
#define MEMTEST_SEALER_H

#include "driver.h"

void *sealer_new(const struct suite *suite);
void seal(void *sealer, unsigned char *bytes, size_t size);
void sealer_free(void *sealer);

#endif
