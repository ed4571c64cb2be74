/* Scenario `throughput`: a server writes, a client reads, round after round over one established pair a thread. */
#include "timing.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { LEAST_ROUND_BYTES = 64 * 1024 };

char sealed[2 * SEAL_TAG_BYTES + 1];

static size_t writes(void)
{
    return run.timing.size < LEAST_ROUND_BYTES ? LEAST_ROUND_BYTES / run.timing.size : 1;
}

size_t round_bytes(void)
{
    return writes() * run.timing.size;
}

static void send_all(struct worker *worker)
{
    for (size_t i = 0; i < writes(); i++)
        for (size_t taken = 0, more; taken < run.timing.size; taken += more) {
            more = frames[ROLE_SERVER].write(worker->sessions[ROLE_SERVER], worker->index, worker->source + taken,
                                             run.timing.size - taken);
            if (more == 0)
                die("server %zu took %zu bytes of a write of %zu, and no more", worker->index, taken, run.timing.size);
        }
}

static void receive_all(struct worker *worker)
{
    for (size_t given = 0, more; given < round_bytes(); given += more) {
        more = frames[ROLE_CLIENT].read(worker->sessions[ROLE_CLIENT], worker->index, worker->target + given,
                                        round_bytes() - given);
        if (more == 0)
            die("client %zu received %zu bytes of %zu", worker->index, given, round_bytes());
    }
}

/* Each round sends other bytes than the one before. */
static void stamp(struct worker *worker)
{
    memcpy(worker->source, &worker->round,
           run.timing.size < sizeof worker->round ? run.timing.size : sizeof worker->round);
}

static void compare(const struct worker *worker)
{
    for (size_t at = 0; at < round_bytes(); at += run.timing.size)
        if (memcmp(worker->target + at, worker->source, run.timing.size) != 0)
            die("client %zu received other bytes than were sent", worker->index);
}

static void one_round(struct worker *worker)
{
    stamp(worker);
    uint64_t began = worker->now();
    send_all(worker);
    uint64_t sent = worker->now();
    receive_all(worker);
    uint64_t received = worker->now();
    lap_end(worker, SEND, began, sent);
    lap_end(worker, RECEIVE, sent, received);
    compare(worker);
}

static unsigned char *buffer(size_t size)
{
    unsigned char *bytes = malloc(size);
    if (!bytes)
        die("out of memory");
    for (size_t i = 0; i < size; i++)
        bytes[i] = (unsigned char)i;
    return bytes;
}

static void establish(struct worker *worker)
{
    void **sessions = worker->sessions;
    bool complete = false;
    sessions[ROLE_CLIENT] =
        frames[ROLE_CLIENT].session_new(worker->client_context, worker->ends[ROLE_CLIENT], worker->index);
    sessions[ROLE_SERVER] = frames[ROLE_SERVER].session_new(server_context, worker->ends[ROLE_SERVER], worker->index);
    for (int k = 1; !complete || wire_mapped_unread(worker->ends[ROLE_CLIENT]); k++) {
        if (k > MAX_STEPS)
            die("the handshake of thread %zu is incomplete after %d steps", worker->index, MAX_STEPS);
        complete = frames[ROLE_CLIENT].handshake(sessions[ROLE_CLIENT], worker->index);
        complete &= frames[ROLE_SERVER].handshake(sessions[ROLE_SERVER], worker->index);
    }
    for (enum role role = ROLE_CLIENT; role <= ROLE_SERVER; role++) {
        session_agrees(worker->index, role, sessions[role], &worker->agreed[role]);
        retry_agrees(worker->index, role, worker->ends[role]);
        if (worker->agreed[role].resumed)
            die("thread %zu resumed a session, the suite asks for a full handshake", worker->index);
    }
}

static void open_worker(struct worker *worker)
{
    worker->source = buffer(run.timing.size);
    worker->target = buffer(round_bytes());
    if (run.driver->sealer_new)
        worker->sealer = run.driver->sealer_new(&run.suite);
    establish(worker);
}

/* What all libraries with this cipher make of the same record. */
static void tell_tag(struct worker *worker, unsigned char *record)
{
    harness_seal(worker->sealer, record, RECORD_BYTES);
    for (size_t i = 0; worker->index == 0 && i < SEAL_TAG_BYTES; i++)
        snprintf(sealed + 2 * i, 3, "%02x", record[RECORD_BYTES + i]);
}

/* As many bytes as a round has, in records of a size that the session's would have. */
static void seal_rounds(struct worker *worker)
{
    if (!worker->sealer)
        return;
    unsigned char *record = buffer(RECORD_BYTES + SEAL_TAG_BYTES);
    size_t size = run.timing.size < RECORD_BYTES ? run.timing.size : RECORD_BYTES, count = round_bytes() / size;
    tell_tag(worker, record);
    for (size_t round = 0; round < worker->warmed + worker->rounds; round++) {
        uint64_t began = clock_ns();
        for (size_t i = 0; i < count; i++)
            harness_seal(worker->sealer, record, size);
        if (round >= worker->warmed)
            timing_add(worker, SEAL, clock_ns() - began, count * size);
    }
    free(record);
}

static void close_worker(struct worker *worker)
{
    for (enum role role = ROLE_CLIENT; role <= ROLE_SERVER; role++)
        frames[role].session_free(worker->sessions[role], worker->index);
    if (worker->sealer)
        run.driver->sealer_free(worker->sealer);
    free(worker->source);
    free(worker->target);
}

void time_transfers(void)
{
    const struct timed scenario = {
        .open = open_worker,
        .round = one_round,
        .after = seal_rounds,
        .close = close_worker,
        .room = 2 * round_bytes() + writes() * 256 + (1 << 20), /* however small the records that a stack makes */
        .first = SEND,
        .last = RECEIVE,
    };
    work(&scenario);
}
