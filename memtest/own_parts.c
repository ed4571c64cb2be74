/* What of a round is the harness's: the copying of the wire, and the clock. Measured apart, of rounds like the last. */
#include "timing.h"

#include <stdlib.h>

enum { ROUNDS = 256, MOST_BYTES = 64 << 20 };

/* Enough of them for a mean, and not for ever where one moves a gigabyte. */
static uint64_t rounds_of(uint64_t bytes)
{
    const uint64_t most = MOST_BYTES / (bytes + 1) + 1;
    return most < ROUNDS ? most : ROUNDS;
}

/* Moves `bytes` by calls of `io`, all but the last of which move `each`. */
static uint64_t move(struct wire *end, size_t (*io)(struct wire *, void *, size_t), unsigned char *at, uint64_t bytes,
                     uint64_t each)
{
    uint64_t began = clock_ns();
    for (uint64_t moved = 0; moved < bytes; moved += each)
        if (!io(end, at + moved, each < bytes - moved ? each : bytes - moved))
            die("wire: a round's %zu bytes did not go over it again", (size_t)bytes);
    return clock_ns() - began;
}

static size_t write_from(struct wire *end, void *bytes, size_t size)
{
    return wire_write(end, bytes, size);
}

static uint64_t mean(uint64_t bytes, uint64_t calls)
{
    return calls ? (bytes + calls - 1) / calls : bytes;
}

static void copy_again(struct worker *worker, const struct traffic *round)
{
    unsigned char *bytes = calloc(1, round->written);
    if (!bytes)
        die("out of memory");
    for (uint64_t i = 0; i < rounds_of(round->written); i++) {
        uint64_t each = mean(round->written, round->writes);
        timing_add(worker, WIRE_WRITE, move(worker->ends[ROLE_SERVER], write_from, bytes, round->written, each),
                   round->written);
        each = mean(round->read, round->reads);
        timing_add(worker, WIRE_READ, move(worker->ends[ROLE_CLIENT], wire_read, bytes, round->written, each),
                   round->written);
    }
    free(bytes);
}

static void read_clock(struct worker *worker)
{
    for (int i = 0; i < ROUNDS; i++) {
        uint64_t began = clock_ns();
        timing_add(worker, CLOCK, clock_ns() - began, 0);
    }
}

void own_parts(struct worker *worker)
{
    struct traffic now = worker_traffic(worker), before = worker->before;
    struct traffic round = {now.writes - before.writes, now.reads - before.reads, now.written - before.written,
                            now.read - before.read};
    copy_again(worker, &round);
    read_clock(worker);
}
