/* Contexts, and what is done before anything counts: sessions are used and freed, so that what a library allocates once
 * does not look like a session's. */
#include "core.h"

void unheard(const char *name)
{
    (void)name;
}

void unseen(void)
{
}

void sessions_use(struct pairs pairs, void (*begin_phase)(const char *), void (*end_phase)(void))
{
    static const struct {
        const char *phase;
        enum role from;
        size_t size;
    } payloads[] = {
        {"payload", ROLE_CLIENT, SHORT_BYTES},
        {"reply", ROLE_SERVER, SHORT_BYTES},
        {"full payload", ROLE_CLIENT, RECORD_BYTES},
        {"full reply", ROLE_SERVER, RECORD_BYTES},
    };
    for (size_t i = 0; i < (run.full_records ? 4 : 2); i++) {
        begin_phase(payloads[i].phase);
        payload(payloads[i].from, pairs, payloads[i].size);
        end_phase();
    }
    if (!run.full_records)
        return;
    begin_phase("blocked");
    wait_in_read(pairs);
    end_phase();
}

/* One pair of each thread, used and freed. */
static void warm_up(void *contexts[2], struct negotiated result[2])
{
    const size_t count = run.threads < run.sessions / 2 ? run.threads : run.sessions / 2;
    const struct pairs first = pairs_held(0, count);
    sessions_new(contexts, first);
    handshake(first, unheard, unseen);
    established(first);
    sessions_use(first, unheard, unseen);
    sessions_verify(first, result);
    sessions_release(first);
    sessions_free(first);
    wires_reset(first);
}

void contexts_open(void *contexts[2], struct negotiated result[2])
{
    for (enum role role = ROLE_CLIENT; role <= ROLE_SERVER; role++)
        if (run.holds[role])
            contexts[role] = frames[role].context_new(&run.suite, 0);
    warm_up(contexts, result);
}

void contexts_free(void *contexts[2])
{
    for (enum role role = ROLE_CLIENT; role <= ROLE_SERVER; role++)
        if (run.holds[role])
            frames[role].context_free(contexts[role]);
}
