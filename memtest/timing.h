/* Timed scenarios: threads that make rounds, and what the clock says of each part of a round. */
#ifndef MEMTEST_TIMING_H
#define MEMTEST_TIMING_H

#include "core.h"
#include <stdatomic.h>

enum part {
    CLIENT_NEW,
    CLIENT,
    CLIENT_FREE,
    SERVER_NEW,
    SERVER,
    SERVER_FREE,
    SEND,
    RECEIVE,
    SEAL,
    WIRE_WRITE,
    WIRE_READ,
    CLOCK,
    PARTS
};

/* The intervals of one part, of one thread. */
struct intervals {
    uint64_t count, total_ns, bytes;
    uint64_t faults, faults_count;
    uint64_t *histogram; /* NULL: none is kept */
};

/* One thread with its pair of wires. All it writes to while it is timed is its own. */
struct worker {
    size_t index;
    struct wire *ends[2]; /* by role */
    void *client_context;
    void *sessions[2];      /* by role: those of the round, or of all rounds */
    void *previous;         /* a client's session that the next round resumes */
    uint64_t round, warmed; /* so far; of those, before the ones that count */
    struct negotiated agreed[2];
    unsigned char *source, *target; /* of a transfer: what is sent and what arrived */
    void *sealer;
    uint64_t (*now)(void);                           /* the clock, or the faults so far */
    uint64_t lap[PARTS];                             /* of this round, in the units of now() */
    struct traffic before;                           /* of both ends, when the round began */
    uint64_t rounds, resumed, elapsed_ns, preempted; /* of those that count */
    struct intervals parts[PARTS];
};

struct timed {
    void (*open)(struct worker *);  /* all that is not timed */
    void (*round)(struct worker *); /* adds to laps */
    void (*after)(struct worker *); /* what is measured once the rounds are done */
    void (*close)(struct worker *);
    size_t room; /* of a wire, each way */
    enum part first, last;
};

uint64_t clock_ns(void);
void lap_end(struct worker *, enum part, uint64_t since, uint64_t until);

/* workers.c: makes the server's context, all workers, and their rounds; prints them; dies where one was not as asked.
 */
void work(const struct timed *);
extern void *server_context;

/* timing.c */
void timing_open(struct worker *);
void timing_keep(struct worker *, const struct timed *);   /* a round's laps, as times */
void timing_faults(struct worker *, const struct timed *); /* the same, as faults */
void timing_add(struct worker *, enum part, uint64_t ns, uint64_t bytes);
void timing_declare(void); /* their part of the run line */
void timing_print(const struct worker *);

/* own_parts.c: those of the harness, of rounds like the last one. */
void own_parts(struct worker *);
struct traffic worker_traffic(const struct worker *); /* of both ends; workers.c */

size_t round_bytes(void);                   /* of application data; transfers.c */
extern char sealed[2 * SEAL_TAG_BYTES + 1]; /* hexadecimal; empty without a sealer */

#endif
