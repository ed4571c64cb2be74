/* The points at which a peer may stop: what it has sent until then. */
#ifndef MEMTEST_STALL_H
#define MEMTEST_STALL_H

#include "core.h"

/* One table of memtest/stall_points.toml. */
struct stall_point {
    const char *name;
    enum role role;       /* of the sessions that are left waiting */
    bool answers;         /* they have written when they are left */
    bool completes;       /* all that the peer sends arrives, so they may be complete */
    bool large_chain;     /* the suite's own certificates may be too large for the stack */
    const char *protocol; /* that it is of, or NULL; and "mutual", or NULL */
    const char *auth;
    bool ticket;                                              /* the suite's servers issue tickets */
    void (*prepare)(const struct stall_point *);              /* or NULL: once, before the first session */
    void (*deliver)(size_t pair, const struct stall_point *); /* or NULL: nothing is sent */
    size_t bytes; /* that are announced, or that an extension or a ticket has */
    size_t names; /* of authorities in a certificate request */
    uint16_t extension;
};

/* The point of this name, or NULL; the last of the list has no name. */
extern const struct stall_point stall_points[];
const struct stall_point *stall_point_find(const char *name);

/* stall.c, for the core. */
const char *stall_lacks(void);       /* NULL, or why the suite has no such point, in a few words */
uint64_t stall_received_bytes(void); /* that the sessions which count have been sent so far */

/* stall.c, for the points. The contexts of the run, by role. */
extern void *stall_contexts[2];
void stall_send(size_t pair, const void *bytes, size_t size); /* to the session that waits, which then takes a step */
size_t stall_intercept(size_t pair, unsigned char *bytes,
                       size_t room); /* what its peer has written, before it is read */

#endif
