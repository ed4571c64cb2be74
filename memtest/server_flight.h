/* A server's flight of TLS 1.2 as bytes: messages in the clear, taken from a session of the stack's own, and changed.
 */
#ifndef MEMTEST_SERVER_FLIGHT_H
#define MEMTEST_SERVER_FLIGHT_H

#include <stddef.h>

enum { FLIGHT_BYTES = 256 * 1024 };

struct server_flight {
    size_t size;
    unsigned char records[FLIGHT_BYTES];
};

/* Takes the messages at the beginning of `flight`, up to the first record that has none. Dies where there are none. */
void server_flight_capture(struct server_flight *, const unsigned char *flight, size_t size);

/* Its CertificateRequest names the first `count` authorities of `names`: each behind its length, in two bytes. Dies
 * where there is no such message, or where `names` has fewer. */
void server_flight_request(struct server_flight *, const unsigned char *names, size_t size, size_t count);

/* Its NewSessionTicket has a ticket of so many bytes. Dies where there is no such message. */
void server_flight_ticket(struct server_flight *, size_t bytes);

#endif
