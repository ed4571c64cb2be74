/* Calls of the library that the threads of a context make one after the other; their arguments are the library's. */
#ifndef MEMTEST_MBEDTLS_ALONE_H
#define MEMTEST_MBEDTLS_ALONE_H

#include "mbedtls_setup.h"

int random_alone(void *opaque, unsigned char *bytes, size_t size);
int sign_alone(void *opaque, int (*random)(void *, unsigned char *, size_t), void *source,
               RSA_MODE(int mode) mbedtls_md_type_t by, unsigned size, const unsigned char *hash,
               unsigned char *signature);
size_t key_size(void *context);
int cache_get_alone(void *opaque, CACHE_ID mbedtls_ssl_session *session);
int cache_set_alone(void *opaque, CACHE_ID const mbedtls_ssl_session *session);
int ticket_write_alone(void *opaque, const mbedtls_ssl_session *session, unsigned char *start, const unsigned char *end,
                       size_t *size, uint32_t *lifetime);
int ticket_parse_alone(void *opaque, mbedtls_ssl_session *session, unsigned char *ticket, size_t size);

#endif
