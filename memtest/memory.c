/* Scenario `memory`: what N sessions hold at the end of every phase, from contexts to closed. */
#include "core.h"

static void *contexts[2];
static bool quiet; /* windows before the last are not recorded */
static bool complete, verified;
static struct negotiated result[2];

/* All pairs, with what is left of them when their windows are done. */
static struct pairs kept_pairs(void)
{
    bool client = run.holds[ROLE_CLIENT] && run.memory.keeps[ROLE_CLIENT];
    bool server = run.holds[ROLE_SERVER] && run.memory.keeps[ROLE_SERVER];
    return (struct pairs){.count = run.sessions / 2, .has = {client, server}};
}

static bool keeps_both(void)
{
    return run.memory.keeps[ROLE_CLIENT] && run.memory.keeps[ROLE_SERVER];
}

/* No measurement without it. */
static const struct negotiated *verify(void)
{
    if (complete && !verified) {
        sessions_verify(kept_pairs(), result);
        tickets_verify(run.sessions / 2);
    }
    verified = complete;
    return verified ? result : NULL;
}

static void begin(const char *name)
{
    if (!quiet)
        phase_begin(name);
}

static void end(void)
{
    if (!quiet)
        phase_end();
}

static void open_contexts(void)
{
    begin("contexts");
    contexts_open(contexts, result);
    meter_trim();
    end();
}

/* keep=: of a window that is done one role stays. Its peers were verified first, since nobody can tell later; with
 * data=full it was used, since later there is nobody to send to. */
static void free_peers(struct pairs window)
{
    if (run.memory.full_records)
        sessions_use(window, unheard, unseen);
    sessions_verify(window, result);
    for (enum role role = ROLE_CLIENT; role <= ROLE_SERVER; role++)
        window.has[role] = !run.memory.keeps[role];
    sessions_free(window);
}

/* Admits a window of pairs at a time. The first takes the remainder, so that the last, which is recorded, is full. */
static void open_sessions(void)
{
    const size_t count = run.sessions / 2;
    struct pairs window = pairs_held(0, count % run.memory.window ? count % run.memory.window : run.memory.window);
    for (; window.first < count; window.first += window.count, window.count = run.memory.window) {
        quiet = window.first + window.count < count;
        begin("sessions");
        sessions_new(contexts, window);
        end();
        handshake(window, begin, end);
        if (quiet || !keeps_both())
            established(window); /* as a server that goes on to read: the next window meets sessions at rest */
        if (!keeps_both())
            free_peers(window);
    }
}

/* Those that stayed when their peers were freed, all at rest or, with data=full, all in use. */
static void rest_without_peers(void)
{
    begin(run.memory.full_records ? "blocked" : "established");
    (run.memory.full_records ? wait_in_read : established)(kept_pairs());
    complete = true;
    end();
}

static void use_sessions(void)
{
    begin("established");
    established(kept_pairs());
    complete = true;
    end();
    sessions_use(kept_pairs(), begin, end);
}

static void release_sessions(void)
{
    begin("idle");
    sessions_release(kept_pairs());
    end();
}

static void close_sessions(void)
{
    verify();
    begin("closed");
    sessions_free(kept_pairs());
    end();
    begin("trimmed");
    meter_trim();
    end();
    begin("freed");
    contexts_free(contexts);
    end();
}

void memory(void)
{
    phases_open(verify);
    open_contexts();
    open_sessions();
    if (keeps_both())
        use_sessions();
    else
        rest_without_peers();
    release_sessions();
    close_sessions();
    phases_close(result);
}
