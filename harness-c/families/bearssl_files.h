/* Certificates and keys from files, which BearSSL does not read. */
#ifndef MEMTEST_BEARSSL_FILES_H
#define MEMTEST_BEARSSL_FILES_H

#include "bearssl_caller.h"

void *found(void *memory); /* which is not NULL, or the run ends */
void root_load(struct credentials *credentials, const char *path);
void own_load(struct credentials *credentials, const struct suite *suite, const char *name, const char *key);

#endif
