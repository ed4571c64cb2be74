/* How s2n-tls resumes: by an id, of sessions that an application keeps, or by a ticket. */
#include "s2n_resumption.h"

#include "s2n_setup.h"
#include "session_store.h"

#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

static int keep(struct s2n_connection *session, void *store, uint64_t ttl_seconds, const void *id, uint64_t id_bytes,
                const void *value, uint64_t bytes)
{
    (void)session, (void)ttl_seconds;
    store_put(store, id, id_bytes, value, bytes);
    return S2N_SUCCESS;
}

/* Nothing of it where it is not kept: s2n then makes a full handshake. */
static int kept(struct s2n_connection *session, void *store, const void *id, uint64_t id_bytes, void *value,
                uint64_t *bytes)
{
    (void)session;
    size_t found_bytes = 0;
    void *found = store_get(store, id, id_bytes, &found_bytes);
    if (found && found_bytes <= *bytes)
        memcpy(value, found, found_bytes);
    *bytes = found && found_bytes <= *bytes ? found_bytes : 0;
    free(found);
    return S2N_SUCCESS;
}

static int forget(struct s2n_connection *session, void *store, const void *id, uint64_t id_bytes)
{
    (void)session;
    store_remove(store, id, id_bytes);
    return S2N_SUCCESS;
}

/* s2n seals with it what it gives to the application to keep, and tickets. */
static void sealing_key_add(struct s2n_config *config)
{
    const char name[] = "memtest";
    uint8_t key[32];
    if (getrandom(key, sizeof key, 0) != sizeof key)
        die("getrandom failed");
    check(s2n_config_add_ticket_crypto_key(config, (const uint8_t *)name, sizeof name, key, sizeof key, 0) ==
              S2N_SUCCESS,
          "s2n_config_add_ticket_crypto_key");
}

/* What a context's clients got last. s2n gives it to a callback: s2n_connection_free_handshake frees a ticket of
 * TLS 1.2. A session resumed there gets no other, and the next one offers the same. */
struct ticket {
    size_t bytes;
    uint8_t state[4096];
};

static _Atomic size_t tickets;

size_t tickets_told(void)
{
    return tickets;
}

static int ticket_got(struct s2n_connection *session, void *opaque, struct s2n_session_ticket *got)
{
    (void)session;
    struct ticket *ticket = opaque;
    tickets++;
    check(s2n_session_ticket_get_data_len(got, &ticket->bytes) == S2N_SUCCESS &&
              s2n_session_ticket_get_data(got, sizeof ticket->state, ticket->state) == S2N_SUCCESS,
          "s2n_session_ticket_get_data");
    return S2N_SUCCESS;
}

static struct session_store *store_use(struct s2n_config *config)
{
    struct session_store *store = store_new();
    check(s2n_config_set_cache_store_callback(config, keep, store) == S2N_SUCCESS &&
              s2n_config_set_cache_retrieve_callback(config, kept, store) == S2N_SUCCESS &&
              s2n_config_set_cache_delete_callback(config, forget, store) == S2N_SUCCESS &&
              s2n_config_set_session_cache_onoff(config, 1) == S2N_SUCCESS,
          "s2n_config_set_session_cache_onoff");
    return store;
}

static struct ticket *ticket_use(struct s2n_config *config)
{
    struct ticket *ticket = calloc(1, sizeof *ticket);
    check(ticket && s2n_config_set_session_ticket_cb(config, ticket_got, ticket) == S2N_SUCCESS,
          "s2n_config_set_session_ticket_cb");
    return ticket;
}

struct resumption resumption_new(struct s2n_config *config, enum role role, const struct suite *suite)
{
    struct resumption resumption = {NULL, NULL};
    if (suite->tickets > 0)
        check(s2n_config_set_initial_ticket_count(config, (uint8_t)suite->tickets) == S2N_SUCCESS, "tickets");
    if (role == ROLE_SERVER && suite->store)
        resumption.store = store_use(config);
    if (role == ROLE_SERVER && (suite->store || suite->tickets > 0))
        sealing_key_add(config);
    if (role == ROLE_CLIENT && suite->tickets > 0)
        resumption.ticket = ticket_use(config);
    return resumption;
}

void resumption_free(struct resumption resumption)
{
    store_free(resumption.store);
    free(resumption.ticket);
}

void session_resume(struct s2n_connection *session, struct s2n_connection *from, const struct ticket *ticket)
{
    struct ticket by_id = {0};
    if (!ticket) {
        int bytes = s2n_connection_get_session(from, by_id.state, sizeof by_id.state);
        check(bytes >= S2N_SUCCESS, "s2n_connection_get_session");
        by_id.bytes = (size_t)bytes;
        ticket = &by_id;
    }
    if (ticket->bytes == 0)
        die("resume: no session before has got anything to resume it by");
    check(s2n_connection_set_session(session, ticket->state, ticket->bytes) >= S2N_SUCCESS,
          "s2n_connection_set_session");
}
