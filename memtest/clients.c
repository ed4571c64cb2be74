/* Clients that each have a certificate of their own (client_certs=each): a context for each, from CERTS/clients/NNN;
 * and what servers say of whom they have verified, whether the clients have one certificate or many. */
#define _GNU_SOURCE
#include "core.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static void **contexts; /* by pair; of a process with clients */
static char **places;   /* of their certificates */
/* Of the certificate that a server verified, by pair; 0: not yet. Of a process with servers. */
static uint64_t *digests;
static uint64_t common; /* the same of all pairs, where all clients have one certificate */

static size_t pairs(void)
{
    return run.sessions / 2;
}

static size_t clients_there(void)
{
    size_t count = 0;
    char path[PATH_BYTES];
    do
        snprintf(path, sizeof path, "%s/clients/%03zu/client-chain.pem", run.suite.certs, count);
    while (access(path, R_OK) == 0 && ++count);
    return count;
}

static void clients_must_be_there(void)
{
    const size_t count = clients_there();
    if (count < pairs())
        die("client_certs=each: %s has certificates of %zu clients, and sessions=%zu needs %zu; "
            "memtest/certs/README.md says how to make more",
            run.suite.certs, count, run.sessions, pairs());
}

void clients_open(void)
{
    if (run.holds[ROLE_SERVER] && !(digests = calloc(pairs(), sizeof *digests)))
        die("out of memory");
    if (!run.holds[ROLE_CLIENT])
        return;
    clients_must_be_there();
    if (!(contexts = calloc(pairs(), sizeof *contexts)) || !(places = calloc(pairs(), sizeof *places)))
        die("out of memory");
    for (size_t pair = 0; pair < pairs(); pair++) {
        struct suite suite = run.suite;
        if (asprintf(&places[pair], "%s/clients/%03zu", run.suite.certs, pair) < 0)
            die("out of memory");
        suite.certs = places[pair]; /* drivers may keep it */
        contexts[pair] = frames[ROLE_CLIENT].context_new(&suite, 0);
    }
}

void *client_context(size_t pair)
{
    return contexts[pair];
}

void clients_free(void)
{
    for (size_t pair = 0; contexts && pair < pairs(); pair++) {
        frames[ROLE_CLIENT].context_free(contexts[pair]);
        free(places[pair]);
    }
    free(contexts);
    free(places);
    free(digests);
    contexts = NULL, places = NULL, digests = NULL;
}

/* FNV-1a; never 0. */
static uint64_t digest_of(const unsigned char *bytes, size_t size)
{
    uint64_t digest = UINT64_C(0xcbf29ce484222325);
    for (size_t i = 0; i < size; i++)
        digest = (digest ^ bytes[i]) * UINT64_C(0x100000001b3);
    return digest ? digest : 1;
}

static void must_be_the_same(size_t pair, uint64_t digest)
{
    common = common ? common : digest;
    if (digest != common)
        die("server %zu verified another certificate than the servers before it, the suite has client_certs=same",
            pair);
}

static void must_be_another(size_t pair, uint64_t digest)
{
    for (size_t other = 0; other < pairs(); other++)
        if (other != pair && digests[other] == digest)
            die("servers %zu and %zu verified the same certificate, the suite has client_certs=each", other, pair);
    digests[pair] = digest;
}

void client_verified(size_t pair, const struct negotiated *result)
{
    const bool told = result->peer.bytes && result->peer.size > 0;
    if (told && run.memory.each_client)
        must_be_another(pair, digest_of(result->peer.bytes, result->peer.size));
    else if (told)
        must_be_the_same(pair, digest_of(result->peer.bytes, result->peer.size));
    else if (run.memory.each_client) {
        refusals_begin("client_certs=each");
        die("keeps nothing of a client's certificate, so nothing shows that each was another");
    }
}
