/* Scenario `handshake`: pairs are made, complete their handshakes and are freed, one after the other. */
#include "timing.h"

/* In turn, until both are complete and nothing is left unread. Reads the clock at every change of roles: what is
 * between two readings is one role's. */
static void step_until_complete(struct worker *worker)
{
    bool complete[2] = {false, false};
    uint64_t at = worker->now();
    enum role role = ROLE_CLIENT;
    for (int turn = 0; !complete[ROLE_CLIENT] || !complete[ROLE_SERVER] ||
                       wire_mapped_unread(worker->ends[ROLE_CLIENT]) || wire_mapped_unread(worker->ends[ROLE_SERVER]);
         turn++, role = !role) {
        if (turn == 2 * MAX_STEPS)
            die("handshake %zu of thread %zu incomplete after %d steps", (size_t)worker->round, worker->index,
                MAX_STEPS);
        complete[role] = frames[role].handshake(worker->sessions[role], worker->index);
        uint64_t end = worker->now();
        lap_end(worker, role == ROLE_CLIENT ? CLIENT : SERVER, at, end);
        at = end;
    }
}

static void client_new(struct worker *worker)
{
    uint64_t began = worker->now();
    void *session = frames[ROLE_CLIENT].session_new(worker->client_context, worker->ends[ROLE_CLIENT], worker->index);
    if (worker->previous)
        client_resume(session, worker->previous, worker->index);
    lap_end(worker, CLIENT_NEW, began, worker->now());
    worker->sessions[ROLE_CLIENT] = session;
}

static void server_new(struct worker *worker)
{
    uint64_t began = worker->now();
    void *session = frames[ROLE_SERVER].session_new(server_context, worker->ends[ROLE_SERVER], worker->index);
    lap_end(worker, SERVER_NEW, began, worker->now());
    worker->sessions[ROLE_SERVER] = session;
}

static void session_free(struct worker *worker, enum role role, void *session)
{
    uint64_t began = worker->now();
    frames[role].session_free(session, worker->index);
    lap_end(worker, role == ROLE_CLIENT ? CLIENT_FREE : SERVER_FREE, began, worker->now());
}

/* `offered`: whether the client had something to resume. */
static void verify(struct worker *worker, bool offered)
{
    struct negotiated *agreed = worker->agreed;
    for (enum role role = ROLE_CLIENT; role <= ROLE_SERVER; role++) {
        session_agrees(worker->index, role, worker->sessions[role], &agreed[role]);
        retry_agrees(worker->index, role, worker->ends[role]);
    }
    if (agreed[ROLE_CLIENT].resumed != agreed[ROLE_SERVER].resumed)
        die("handshake %zu of thread %zu: one end says that it was resumed, the other that it was not",
            (size_t)worker->round, worker->index);
    if (agreed[ROLE_CLIENT].resumed && !offered)
        die("handshake %zu of thread %zu resumed a session, %s", (size_t)worker->round, worker->index,
            run.suite.resume ? "and none was offered" : "the suite asks for a full handshake");
    worker->resumed += agreed[ROLE_CLIENT].resumed;
}

/* A client that is to be resumed stays until the next has what it got. */
static void one_round(struct worker *worker)
{
    const bool offers = worker->previous != NULL;
    for (enum role role = ROLE_CLIENT; role <= ROLE_SERVER; role++)
        wire_mapped_begin(worker->ends[role]);
    client_new(worker);
    if (offers)
        session_free(worker, ROLE_CLIENT, worker->previous);
    server_new(worker);
    step_until_complete(worker);
    verify(worker, offers);
    session_free(worker, ROLE_SERVER, worker->sessions[ROLE_SERVER]);
    if (run.suite.resume)
        worker->previous = worker->sessions[ROLE_CLIENT];
    else
        session_free(worker, ROLE_CLIENT, worker->sessions[ROLE_CLIENT]);
}

/* The one full handshake that all resumed ones go back to. */
static void open_worker(struct worker *worker)
{
    if (run.suite.resume)
        one_round(worker);
}

static void nothing(struct worker *worker)
{
    (void)worker;
}

static void close_worker(struct worker *worker)
{
    if (worker->previous)
        frames[ROLE_CLIENT].session_free(worker->previous, worker->index);
}

void time_handshakes(void)
{
    static const struct timed scenario = {
        .open = open_worker,
        .round = one_round,
        .after = nothing,
        .close = close_worker,
        .room = 256 * 1024,
        .first = CLIENT_NEW,
        .last = SERVER_FREE,
    };
    work(&scenario);
}
