/* Whether a handshake began with a HelloRetryRequest, as the wire has it: no library is asked. */
#ifndef MEMTEST_HELLO_RETRY_H
#define MEMTEST_HELLO_RETRY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { RETRY_BYTES = 43 }; /* up to the end of a ServerHello's random, with the headers of its record and message */

/* The first bytes that a server sent: how many were compared, and whether one of them is no HelloRetryRequest's. */
struct retry_watch {
    uint8_t compared;
    bool differs;
};

void retry_compare(struct retry_watch *, const unsigned char *bytes, size_t size);

/* What the server sent next. */
static inline void retry_watch(struct retry_watch *watch, const void *bytes, size_t size)
{
    if (watch->compared < RETRY_BYTES && !watch->differs)
        retry_compare(watch, bytes, size);
}

static inline bool retry_is_seen(const struct retry_watch *watch)
{
    return watch->compared == RETRY_BYTES && !watch->differs;
}

#endif
