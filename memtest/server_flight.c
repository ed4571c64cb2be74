/* A server's flight of TLS 1.2 taken apart and put together: RFC 5246, 6.2.1, 7.4 and 7.4.4; RFC 5077, 3.3. */
#include "server_flight.h"
#include "driver.h"
#include "tls_bytes.h"

#include <stdint.h>
#include <string.h>

enum { NEW_SESSION_TICKET = 4, CERTIFICATE_REQUEST = 13 };

static unsigned char messages[FLIGHT_BYTES], body[FLIGHT_BYTES / 2];

/* The bytes of all messages of a flight, without their records. */
static size_t messages_take(const unsigned char *records, size_t size)
{
    size_t taken = 0;
    for (size_t at = 0, length; at + RECORD_HEADER <= size && records[at] == HANDSHAKE_RECORD; at += length) {
        length = RECORD_HEADER + number(records + at + 3, 2);
        if (length > size - at)
            die("the server's flight ends within a record");
        memcpy(messages + taken, records + at + RECORD_HEADER, length - RECORD_HEADER);
        taken += length - RECORD_HEADER;
    }
    return taken;
}

/* Where the message of a type begins among `size` bytes of messages. */
static size_t message_find(size_t size, unsigned char type, const char *name)
{
    for (size_t at = 0, length; at + MESSAGE_HEADER <= size; at += length) {
        length = MESSAGE_HEADER + number(messages + at + 1, 3);
        if (length > size - at)
            die("the server's flight ends within a message");
        if (messages[at] == type)
            return at;
    }
    die("the server's flight has no %s", name);
}

/* The message at that place has another body; records are made anew. */
static void message_replace(struct server_flight *flight, size_t size, size_t at, size_t body_size)
{
    const size_t from = at + MESSAGE_HEADER + number(messages + at + 1, 3), to = at + MESSAGE_HEADER + body_size;
    memmove(messages + to, messages + from, size - from);
    memcpy(messages + at + MESSAGE_HEADER, body, body_size);
    number_put(messages + at + 1, 3, body_size);
    flight->size = records_put(flight->records, 3, messages, size - from + to);
}

void server_flight_capture(struct server_flight *flight, const unsigned char *bytes, size_t size)
{
    const size_t taken = messages_take(bytes, size);
    if (!taken)
        die("the server's flight has no message in the clear");
    flight->size = records_put(flight->records, 3, messages, taken);
}

/* Behind the types of certificates, the algorithms of signatures: RFC 5246, 7.4.4. */
void server_flight_request(struct server_flight *flight, const unsigned char *names, size_t names_size, size_t count)
{
    const size_t size = messages_take(flight->records, flight->size);
    const size_t at = message_find(size, CERTIFICATE_REQUEST, "CertificateRequest");
    const unsigned char *old = messages + at + MESSAGE_HEADER;
    size_t kept = 1 + old[0], length = 0;
    kept += 2 + number(old + kept, 2);
    memcpy(body, old, kept);
    for (size_t i = 0; i < count; i++) {
        if (length + 2 > names_size || length + 2 + number(names + length, 2) > names_size)
            die("memtest/certs/ca-names.der has fewer than %zu names", count);
        length += 2 + number(names + length, 2);
    }
    number_put(body + kept, 2, length);
    memcpy(body + kept + 2, names, length);
    message_replace(flight, size, at, kept + 2 + length);
}

/* Behind its lifetime, which stays. */
void server_flight_ticket(struct server_flight *flight, size_t bytes)
{
    const size_t size = messages_take(flight->records, flight->size);
    const size_t at = message_find(size, NEW_SESSION_TICKET, "NewSessionTicket");
    memcpy(body, messages + at + MESSAGE_HEADER, 4);
    number_put(body + 4, 2, bytes);
    memset(body + 6, 'x', bytes);
    message_replace(flight, size, at, 6 + bytes);
}
