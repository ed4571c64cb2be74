/* Numbers and headers as TLS has them on the wire: RFC 8446, 3.3, 4 and 5.1. */
#ifndef MEMTEST_TLS_BYTES_H
#define MEMTEST_TLS_BYTES_H

#include <stddef.h>
#include <string.h>

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

/* Handshake records of version 3.MINOR around `size` bytes of messages, each as full as it can be; how many bytes. */
static inline size_t records_put(unsigned char *records, unsigned char minor, const unsigned char *messages,
                                 size_t size)
{
    unsigned char *record = records;
    for (size_t at = 0, part; at < size; at += part) {
        part = size - at < MOST_IN_RECORD ? size - at : MOST_IN_RECORD;
        record[0] = HANDSHAKE_RECORD;
        record[1] = 3;
        record[2] = minor;
        number_put(record + 3, 2, part);
        memcpy(record + RECORD_HEADER, messages + at, part);
        record += RECORD_HEADER + part;
    }
    return (size_t)(record - records);
}

#endif
