/* Scenario `contexts`: what contexts hold, apart from sessions. One for all sessions of a role, or one each; of clients
 * with as many trusted roots, of servers with as many names, as argv has them.
 *
 * The files are beside those of the suite: cas-N/root.pem has N roots, the suite's among them; names/N/chain.pem and
 * key.pem are of one name. */
#include "core.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

static struct negotiated result[2];
static char paths[2][PATH_BYTES];
static struct suite suites[2]; /* by role */
static bool complete;

static struct pairs all_pairs(void)
{
    return (struct pairs){.count = run.sessions / 2, .has = {true, true}};
}

static const struct negotiated *verified(void)
{
    return complete ? result : NULL;
}

/* A directory beside the suite's files, which must have this file. */
static const char *beside(char path[PATH_BYTES], const char *what, size_t number, const char *file)
{
    char name[64];
    snprintf(name, sizeof name, what, number);
    suite_path(path, &run.suite, name);
    const size_t end = strlen(path);
    snprintf(path + end, PATH_BYTES - end, "/%s", file);
    if (access(path, R_OK) != 0)
        die("%s: there is no such file; memtest/certs/make_many.py makes those that there can be", path);
    path[end] = 0;
    return path;
}

static void suites_open(void)
{
    suites[ROLE_CLIENT] = suites[ROLE_SERVER] = run.suite;
    if (run.contexts.cas > 1)
        suites[ROLE_CLIENT].certs = beside(paths[ROLE_CLIENT], "cas-%zu", run.contexts.cas, "root.pem");
    if (run.contexts.names > 1)
        beside(paths[ROLE_SERVER], "names/%05zu", run.contexts.names - 1, "chain.pem");
}

static void *context_new(enum role role, size_t pair)
{
    return frames[role].context_new(&suites[role], pair);
}

/* The names from `first` on, each for the pair of its number: so are its blocks found in a sites run. */
static void names_add(void *context, size_t first)
{
    char path[PATH_BYTES];
    for (size_t name = first; name < run.contexts.names; name++) {
        struct suite suite = run.suite;
        suite.certs = beside(path, "names/%05zu", name, "chain.pem");
        server_name_add(context, name_of(name), &suite, name);
    }
}

static void session_new(size_t pair, enum role role, void *unused)
{
    struct wire *end = wire_end(pair, role);
    (void)unused;
    wire_session_set(end, frames[role].session_new(wire_context(end), end, pair));
}

static void establish(struct pairs pairs)
{
    each(pairs, session_new, NULL);
    handshake(pairs, unheard, unseen);
    established(pairs);
    sessions_verify(pairs, result);
}

/* A pair with contexts of its own, which asks for the last name. What the library takes once for the process, it takes
 * here; and what it refuses of a store or a name is a refusal. */
static void warm_up(void)
{
    const struct pairs first = {.count = 1, .has = {true, true}};
    void *contexts[2];
    if (run.contexts.cas > 1)
        refusals_begin("does not take this many trusted roots");
    contexts[ROLE_CLIENT] = context_new(ROLE_CLIENT, 0);
    refusals_end();
    contexts[ROLE_SERVER] = context_new(ROLE_SERVER, 0);
    if (run.contexts.names > 1) {
        refusals_begin("does not take a certificate for a name");
        names_add(contexts[ROLE_SERVER], run.contexts.names - 1);
        refusals_end();
    }
    for (enum role role = ROLE_CLIENT; role <= ROLE_SERVER; role++)
        wire_context_set(wire_end(0, role), contexts[role]);
    establish(first);
    sessions_use(first, unheard, unseen);
    sessions_release(first);
    sessions_free(first);
    wires_reset(first);
    for (enum role role = ROLE_CLIENT; role <= ROLE_SERVER; role++)
        frames[role].context_free(contexts[role]);
}

static void phase(const char *name, void (*act)(void))
{
    phase_begin(name);
    act();
    phase_end();
}

static void open_library(void)
{
    warm_up();
    meter_trim();
}

static void context_open(size_t pair, enum role role, void *unused)
{
    struct wire *end = wire_end(pair, role);
    (void)unused;
    if (run.contexts.shares[role] && pair > 0) {
        wire_context_set(end, wire_context(wire_end(0, role)));
        return;
    }
    void *context = context_new(role, pair);
    if (role == ROLE_SERVER)
        names_add(context, 1);
    wire_context_set(end, context);
}

static void open_contexts(void)
{
    each(all_pairs(), context_open, NULL);
}

static void establish_all(void)
{
    establish(all_pairs());
    complete = true;
}

static void close_all(void)
{
    sessions_free(all_pairs());
}

static void context_free(size_t pair, enum role role, void *unused)
{
    (void)unused;
    if (!run.contexts.shares[role] || pair == 0)
        frames[role].context_free(wire_context(wire_end(pair, role)));
}

static void free_contexts(void)
{
    each(all_pairs(), context_free, NULL);
}

void many_contexts(void)
{
    suites_open();
    names_open();
    phases_open(verified);
    phase("library", open_library);
    phase("opened", open_contexts);
    phase("established", establish_all);
    phase("closed", close_all);
    phase("freed", free_contexts);
    phase("trimmed", meter_trim);
    phases_close(result);
}
