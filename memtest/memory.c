/* Scenario `memory`: what N sessions hold at the end of every phase, from contexts to closed. */
#include "core.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void *contexts[2];
static char phase[16];
static bool quiet; /* windows before the last are not recorded */
static bool complete, verified;
static struct negotiated result[2];

static struct pairs all_pairs(void)
{
    return (struct pairs){0, run.sessions / 2};
}

/* No measurement without it. */
static void verify(void)
{
    if (complete && !verified)
        sessions_verify(all_pairs(), result);
    verified = complete;
}

static void begin(const char *name)
{
    if (quiet)
        return;
    snprintf(phase, sizeof phase, "%s", name);
    meter_reset(phase);
}

static void end(void)
{
    struct reading reading;
    if (quiet)
        return;
    meter_read(&reading);
    record_phase(phase, &reading);
    if (run.marks)
        meter_mark(phase);
    if (run.until && !strcmp(run.until, phase)) {
        verify();
        record_end(verified ? result : NULL);
        exit(0); /* frees nothing: a profiler then sees what is live here */
    }
}

static void unheard(const char *name)
{
    (void)name;
}

static void unseen(void)
{
}

/* One pair, used and freed: what a library allocates once does not look like a session's. */
static void warm_up(void)
{
    const struct pairs first = {0, 1};
    sessions_new(contexts, first);
    handshake(first, unheard, unseen);
    established(first);
    payload(ROLE_CLIENT, first);
    payload(ROLE_SERVER, first);
    sessions_verify(first, result);
    sessions_release(first);
    sessions_free(first);
    wires_reset(0);
}

static void open_contexts(void)
{
    begin("contexts");
    for (enum role role = ROLE_CLIENT; role <= ROLE_SERVER; role++)
        contexts[role] = frames[role].context_new(&run.suite);
    warm_up();
    meter_trim();
    end();
}

/* Admits a window of pairs at a time. The first takes the remainder, so that the last, which is recorded, is full. */
static void open_sessions(void)
{
    struct pairs window = {0, all_pairs().count % run.window};
    if (window.count == 0)
        window.count = run.window;
    for (; window.first < all_pairs().count; window.first += window.count, window.count = run.window) {
        quiet = window.first + window.count < all_pairs().count;
        begin("sessions");
        sessions_new(contexts, window);
        end();
        handshake(window, begin, end);
        if (quiet)
            established(window); /* as a server that goes on to read: the next window meets sessions at rest */
    }
}

static void use_sessions(void)
{
    begin("established");
    established(all_pairs());
    complete = true;
    end();
    begin("payload");
    payload(ROLE_CLIENT, all_pairs());
    end();
    begin("reply");
    payload(ROLE_SERVER, all_pairs());
    end();
    begin("idle");
    sessions_release(all_pairs());
    end();
}

static void close_sessions(void)
{
    verify();
    begin("closed");
    sessions_free(all_pairs());
    end();
    begin("trimmed");
    meter_trim();
    end();
    begin("freed");
    for (enum role role = ROLE_CLIENT; role <= ROLE_SERVER; role++)
        frames[role].context_free(contexts[role]);
    end();
}

void memory(void)
{
    open_contexts();
    open_sessions();
    use_sessions();
    close_sessions();
    if (run.until)
        die("until=%s: no such phase in this run", run.until);
    record_end(result);
}
