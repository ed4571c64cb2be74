/* Numbers and headers as TLS has them on the wire: RFC 8446, 3.3, 4 and 5.1. */
#ifndef MEMTEST_TLS_BYTES_H
#define MEMTEST_TLS_BYTES_H

#include <stddef.h>

enum { RECORD_HEADER = 5, MOST_IN_RECORD = 16384, MESSAGE_HEADER = 4 };
enum { HANDSHAKE_RECORD = 22, APPLICATION_RECORD = 23 }; /* types */

/* The number in so many bytes, the most significant first. */
static inline size_t number(const unsigned char *bytes, size_t width)
{
    size_t value = 0;
    for (size_t i = 0; i < width; i++)
        value = value << 8 | bytes[i];
    return value;
}

static inline void number_put(unsigned char *bytes, size_t width, size_t value)
{
    for (size_t i = width; i-- > 0; value >>= 8)
        bytes[i] = (unsigned char)value;
}

#endif
