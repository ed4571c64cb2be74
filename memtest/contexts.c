/* Contexts, and what is done before anything counts: sessions are used and freed, so that what a library allocates once
 * does not look like a session's. */
#include "core.h"

#include <string.h>
#include <unistd.h>

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
    for (size_t i = 0; i < (run.memory.full_records ? 4 : 2); i++) {
        begin_phase(payloads[i].phase);
        payload(payloads[i].from, pairs, payloads[i].size);
        end_phase();
    }
    if (!run.memory.full_records)
        return;
    begin_phase("blocked");
    wait_in_read(pairs);
    end_phase();
}

/* Of kinds that not every stack takes: what a driver says of them is then a refusal. */
static bool certs_may_be_refused(void)
{
    char path[PATH_BYTES];
    return access(suite_path(path, &run.suite, "may-be-refused"), F_OK) == 0;
}

/* NULL, or what a driver says then that it does not do. */
static const char *refusable(void)
{
    if (certs_may_be_refused())
        return "does not take the suite's certificates";
    return !strcmp(run.suite.client_groups, GROUPS_LIBRARY) ? "does not offer this group of itself" : NULL;
}

static void contexts_new(void *contexts[2])
{
    for (enum role role = ROLE_CLIENT; role <= ROLE_SERVER; role++)
        if (run.holds[role] && !(run.memory.each_client && role == ROLE_CLIENT))
            contexts[role] = frames[role].context_new(&run.suite, 0);
    if (run.memory.each_client)
        clients_open();
}

/* One pair of each thread, used and freed; where each client has a context of its own, one of each context. */
static size_t warm_up_count(void)
{
    const size_t all = run.sessions / 2;
    return run.threads < all && !run.memory.each_client ? run.threads : all;
}

void contexts_open(void *contexts[2], struct negotiated result[2])
{
    const struct pairs first = pairs_held(0, warm_up_count());
    const char *refused = refusable();
    if (refused)
        refusals_begin(refused);
    contexts_new(contexts);
    sessions_new(contexts, first);
    handshake(first, unheard, unseen);
    established(first);
    if (refused)
        refusals_end();
    sessions_use(first, unheard, unseen);
    sessions_verify(first, result);
    tickets_verify(first.count);
    sessions_release(first);
    sessions_free(first);
    wires_reset(first);
    tickets_begin();
}

void contexts_free(void *contexts[2])
{
    for (enum role role = ROLE_CLIENT; role <= ROLE_SERVER; role++)
        if (run.holds[role] && !(run.memory.each_client && role == ROLE_CLIENT))
            frames[role].context_free(contexts[role]);
    clients_free();
}
