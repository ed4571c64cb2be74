/* s2n-tls behind the driver interface. */
#include "s2n_resumption.h"
#include "s2n_setup.h"
#include "sealer.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#ifdef OWN_ALLOCATOR
#define MLOCK "mlock on"
#else
#define MLOCK "mlock off"
#endif

extern const char *awslc_version_string(void); /* of the libcrypto below */

static const char *version(void)
{
    static char text[96];
    snprintf(text, sizeof text, "s2n-tls (" SOURCE ") over %s, " MLOCK, awslc_version_string());
    return text;
}

static const char *supports(const struct suite *suite)
{
    const char *lacks = policy_for(suite, ROLE_SERVER) ? NULL : "none of its security policies has it come out";
    if (strcasecmp(suite->client_groups, suite->group) != 0)
        lacks = "offers the groups of a security policy, and takes no list of them";
    if (strncmp(suite->protocol, "TLSv1.", 6) != 0)
        lacks = "does TLSv1.2 and TLSv1.3 only";
    if (suite->store && !strcmp(suite->protocol, "TLSv1.3"))
        lacks = "keeps no sessions in TLSv1.3: it resumes by stateless tickets only";
    if (!strcmp(suite->options, "drop-peer-chain"))
        lacks = "options=drop-peer-chain: has no option for it";
    if (suite->tickets > UINT8_MAX)
        lacks = "issues 255 tickets at most";
    if ((suite->store || suite->tickets > 0) && !strcmp(suite->auth, "mutual"))
        lacks = "resumes no session whose client was authenticated";
    return lacks;
}

struct context {
    struct s2n_config *config;
    struct s2n_cert_chain_and_key *chains; /* that it refers to: a list */
    struct resumption resumption;
    enum role role;
    bool low_memory;
};

static void *context_new(enum role role, const struct suite *suite)
{
    struct context *context = malloc(sizeof *context);
    check(s2n_setup(), "s2n_init");
    struct s2n_config *config = s2n_config_new_minimal(); /* without the machine's certificates */
    check(context && config, "s2n_config_new_minimal");
    const char *policy = policy_for(suite, role);
    check(s2n_config_set_cipher_preferences(config, policy) == S2N_SUCCESS, policy);
    struct s2n_cert_chain_and_key *chain = credentials_load(config, role, suite);
    *context = (struct context){config, chain, resumption_new(config, role, suite), role,
                                !strcmp(suite->options, "low-memory")};
    return context;
}

static int send(void *wire, const uint8_t *bytes, uint32_t size)
{
    size_t taken = wire_write(wire, bytes, size);
    errno = EAGAIN;
    return taken ? (int)taken : -1;
}

static int receive(void *wire, uint8_t *bytes, uint32_t size)
{
    size_t given = wire_read(wire, bytes, size);
    errno = EAGAIN;
    return given ? (int)given : -1;
}

static void *session_new(void *opaque, struct wire *wire)
{
    struct context *context = opaque;
    struct s2n_connection *session = s2n_connection_new(context->role == ROLE_CLIENT ? S2N_CLIENT : S2N_SERVER);
    bool done = session && s2n_connection_set_config(session, context->config) == S2N_SUCCESS &&
                s2n_connection_set_ctx(session, context) == S2N_SUCCESS &&
                s2n_connection_set_send_cb(session, send) == S2N_SUCCESS &&
                s2n_connection_set_recv_cb(session, receive) == S2N_SUCCESS &&
                s2n_connection_set_send_ctx(session, wire) == S2N_SUCCESS &&
                s2n_connection_set_recv_ctx(session, wire) == S2N_SUCCESS &&
                /* else an error is told after 10 to 30 seconds */
                s2n_connection_set_blinding(session, S2N_SELF_SERVICE_BLINDING) == S2N_SUCCESS;
    if (context->role == ROLE_CLIENT)
        done = done && s2n_set_server_name(session, wire_server_name(wire)) == S2N_SUCCESS; /* to send, and to verify */
    if (context->low_memory)
        done = done && s2n_connection_set_dynamic_buffers(session, true) == S2N_SUCCESS;
    check(done, "s2n_connection_new");
    return session;
}

static void name_add(void *opaque, const char *server_name, const struct suite *suite)
{
    struct context *context = opaque;
    (void)server_name;
    context->chains = chain_add(context->config, suite, context->chains);
}

static void resume(void *session, void *from)
{
    const struct context *context = s2n_connection_get_ctx(session);
    session_resume(session, from, context->resumption.ticket);
}

/* Ends the run unless the library only waits for the other end. */
static void must_wait(const char *what)
{
    check(s2n_error_get_type(s2n_errno) == S2N_ERR_T_BLOCKED, what);
}

/* What a call that moves bytes says: how many, and 0 where it waits. */
static size_t bytes_moved(ssize_t result, const char *what)
{
    if (result >= 0)
        return (size_t)result;
    must_wait(what);
    return 0;
}

static bool handshake(void *session)
{
    s2n_blocked_status blocked;
    uint8_t byte;
    if (!s2n_connection_get_ctx(session)) { /* complete: s2n does not tell */
        if (s2n_recv(session, &byte, 1, &blocked) >= 0)
            die("application data, or its end, before both ends were complete");
        must_wait("read");
        return true;
    }
    if (s2n_negotiate(session, &blocked) != S2N_SUCCESS) {
        must_wait("handshake");
        return false;
    }
    /* As its documentation has it: "should be called after the handshake". */
    check(s2n_connection_free_handshake(session) == S2N_SUCCESS, "s2n_connection_free_handshake");
    check(s2n_connection_set_ctx(session, NULL) == S2N_SUCCESS, "s2n_connection_set_ctx");
    return true;
}

static size_t write(void *session, const void *bytes, size_t size)
{
    s2n_blocked_status blocked;
    return bytes_moved(s2n_send(session, bytes, (ssize_t)size, &blocked), "write");
}

static size_t read(void *session, void *bytes, size_t size)
{
    s2n_blocked_status blocked;
    return bytes_moved(s2n_recv(session, bytes, (ssize_t)size, &blocked), "read");
}

/* s2n gives out a chain that it has validated, the host name included, and no other. */
static bool peer_is_verified(struct s2n_connection *session)
{
    struct s2n_cert_chain_and_key *chain = s2n_cert_chain_and_key_new();
    check(chain != NULL, "s2n_cert_chain_and_key_new");
    bool verified = s2n_connection_get_peer_cert_chain(session, chain) == S2N_SUCCESS;
    s2n_cert_chain_and_key_free(chain);
    return verified;
}

static const char *protocol_of(struct s2n_connection *session)
{
    int protocol = s2n_connection_get_actual_protocol_version(session);
    return protocol == S2N_TLS13 ? "TLSv1.3" : protocol == S2N_TLS12 ? "TLSv1.2" : "older than TLSv1.2";
}

static void negotiated(void *session, struct negotiated *result)
{
    result->protocol = protocol_of(session);
    result->cipher = s2n_connection_get_cipher(session);
    result->resumed = s2n_connection_is_session_resumed(session);
    result->group = NULL; /* of a session resumed in TLS 1.2, which exchanges no keys */
    bool exchanged = !result->resumed || !strcmp(result->protocol, "TLSv1.3");
    check(!exchanged || s2n_connection_get_key_exchange_group(session, &result->group) == S2N_SUCCESS, "group");
    uint8_t *chain; /* as it was received, of clients alone */
    uint32_t size;
    if (s2n_connection_get_client_cert_chain(session, &chain, &size) == S2N_SUCCESS) {
        result->peer.bytes = chain;
        result->peer.size = size;
    }
    result->peer_verified = peer_is_verified(session);
}

static void release(void *session)
{
    check(s2n_connection_release_buffers(session) == S2N_SUCCESS, "s2n_connection_release_buffers");
}

static void session_free(void *session)
{
    check(s2n_connection_free(session) == S2N_SUCCESS, "s2n_connection_free");
}

static void context_free(void *opaque)
{
    struct context *context = opaque;
    check(s2n_config_free(context->config) == S2N_SUCCESS, "s2n_config_free");
    chains_free(context->chains);
    resumption_free(context->resumption);
    free(context);
}

const struct driver driver = {
    .name = "s2n",
    .version = version,
    .supports = supports,
    .context_new = context_new,
    .session_new = session_new,
    .name_add = name_add,
    .resume = resume,
    .tickets = tickets_told,
    .handshake = handshake,
    .write = write,
    .read = read,
    .negotiated = negotiated,
    .release = release,
    .session_free = session_free,
    .context_free = context_free,
    .sealer_new = sealer_new,
    .seal = seal,
    .sealer_free = sealer_free,
};
