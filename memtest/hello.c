/* A ClientHello taken apart and put together: RFC 8446, 4.1.2 and 5.1; its form is that of TLS 1.2 too. */
#include "hello.h"
#include "driver.h"
#include "tls_bytes.h"

#include <string.h>

enum { CLIENT_HELLO = 1, PRE_SHARED_KEY = 41 };

static unsigned char before[HELLO_BYTES], after[HELLO_BYTES]; /* messages */

/* The message in these records. */
static size_t message_of(const unsigned char *records, size_t size, unsigned char *message)
{
    size_t taken = 0;
    for (size_t at = 0; at < size;) {
        if (size - at < RECORD_HEADER || records[at] != HANDSHAKE_RECORD)
            die("the client's first flight is not a ClientHello alone");
        size_t length = number(records + at + 3, 2);
        if (length > size - at - RECORD_HEADER || taken + length > HELLO_BYTES)
            die("the client's first flight ends within a record");
        memcpy(message + taken, records + at + RECORD_HEADER, length);
        taken += length;
        at += RECORD_HEADER + length;
    }
    if (taken < MESSAGE_HEADER || message[0] != CLIENT_HELLO || number(message + 1, 3) != taken - MESSAGE_HEADER)
        die("the client's first flight is not one ClientHello");
    return taken;
}

void hello_capture(struct hello *hello, const unsigned char *flight, size_t size)
{
    static unsigned char message[HELLO_BYTES];
    if (size > HELLO_BYTES)
        die("the client's first flight has %zu bytes, and there is room for %d", size, HELLO_BYTES);
    message_of(flight, size, message);
    memcpy(hello->records, flight, size);
    hello->size = size;
}

/* Where the extensions' length stands: behind version, random, session id, cipher suites and compression methods. */
static size_t extensions_at(const unsigned char *message)
{
    size_t at = MESSAGE_HEADER + 2 + 32;
    at += 1 + message[at];
    at += 2 + number(message + at, 2);
    return at + 1 + message[at];
}

static size_t extension_put(unsigned char *to, size_t type, const unsigned char *body, size_t size)
{
    number_put(to, 2, type);
    number_put(to + 2, 2, size);
    memcpy(to + 4, body, size);
    return 4 + size;
}

/* The extensions of `from` without that type, and with its new body: their bytes, in `to`. */
static size_t extensions_with(unsigned char *to, const unsigned char *from, size_t from_size, uint16_t type,
                              const unsigned char *body, size_t size)
{
    size_t made = 0;
    bool put = false;
    for (size_t at = 0, length; at < from_size; at += length) {
        size_t known = number(from + at, 2);
        length = 4 + number(from + at + 2, 2);
        if (known == PRE_SHARED_KEY && !put) {
            made += extension_put(to + made, type, body, size);
            put = true;
        }
        if (known != type) {
            memcpy(to + made, from + at, length);
            made += length;
        }
    }
    return put ? made : made + extension_put(to + made, type, body, size);
}

/* The message in `before`, its length, and where the length of its extensions stands. */
static size_t extensions_take(const struct hello *hello, size_t *length)
{
    *length = message_of(hello->records, hello->size, before);
    const size_t at = extensions_at(before);
    if (at + 2 > *length || at + 2 + number(before + at, 2) != *length)
        die("the client's ClientHello has no extensions");
    return at;
}

size_t hello_extension(const struct hello *hello, uint16_t type, const unsigned char **body)
{
    size_t length, at = extensions_take(hello, &length) + 2;
    while (at < length && number(before + at, 2) != type)
        at += 4 + number(before + at + 2, 2);
    if (at >= length)
        die("the client's ClientHello has no extension %u", type);
    *body = before + at + 4;
    return number(before + at + 2, 2);
}

void hello_extend(struct hello *hello, uint16_t type, const unsigned char *body, size_t size)
{
    size_t length, at = extensions_take(hello, &length);
    if (length - at + 4 + size > UINT16_MAX)
        die("no ClientHello has room for an extension of %zu bytes beside its others", size);
    memcpy(after, before, at);
    size_t made = extensions_with(after + at + 2, before + at + 2, length - at - 2, type, body, size);
    number_put(after + at, 2, made);
    number_put(after + 1, 3, at + 2 + made - MESSAGE_HEADER);
    hello->size = records_put(hello->records, 1, after, at + 2 + made);
}
