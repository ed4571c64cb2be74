/* GnuTLS behind the driver interface. */
#include "gnutls.h"
#include "gnutls_wire.h"
#include "sealer.h"

#include <stdio.h>
#include <string.h>

/* What sessions of a role share. GnuTLS has no object for it. */
struct context {
    gnutls_certificate_credentials_t credentials;
    gnutls_priority_t priority;
    gnutls_datum_t ticket_key; /* empty: no tickets */
    unsigned flags;            /* of gnutls_init */
    int tickets;
    bool mutual;
    struct session_store *store; /* NULL: keeps no sessions */
};

static const char *version(void)
{
    static char text[64];
    snprintf(text, sizeof text, "GnuTLS %s", gnutls_check_version(NULL));
    return text;
}

static const char *supports(const struct suite *suite)
{
    const char *lacks = NULL;
    for (enum role role = ROLE_CLIENT; !lacks && role <= ROLE_SERVER; role++) {
        gnutls_priority_t priority = NULL;
        lacks = priority_new(&priority, role, suite);
        gnutls_priority_deinit(priority);
    }
    if (suite->store && !strcmp(suite->protocol, "TLSv1.3"))
        lacks = "keeps no sessions in TLSv1.3: it resumes by stateless tickets only";
    if (!strcmp(suite->options, "drop-peer-chain"))
        lacks = "options=drop-peer-chain: has no option for it";
    if (!strcmp(suite->options, "low-memory"))
        lacks = "options=low-memory: it documents no way to save a session's memory";
    return lacks;
}

static void *context_new(enum role role, const struct suite *suite)
{
    struct context *context = gnutls_calloc(1, sizeof *context);
    if (!context || priority_new(&context->priority, role, suite))
        die("gnutls_priority_init failed");
    context->credentials = credentials_new(role, suite);
    context->flags = role == ROLE_CLIENT ? GNUTLS_CLIENT : GNUTLS_SERVER;
    context->flags |= GNUTLS_NONBLOCK | GNUTLS_NO_AUTO_SEND_TICKET;
    if (role == ROLE_CLIENT && strcmp(suite->client_groups, GROUPS_LIBRARY) != 0)
        context->flags |= GNUTLS_KEY_SHARE_TOP; /* by itself it sends two, of unlike groups */
    context->tickets = role == ROLE_SERVER ? suite->tickets : 0;
    context->mutual = !strcmp(suite->auth, "mutual");
    context->store = role == ROLE_SERVER && suite->store ? sessions_kept_new() : NULL;
    if (suite->tickets == 0)
        context->flags |= GNUTLS_NO_TICKETS | GNUTLS_NO_TICKETS_TLS12;
    else if (role == ROLE_SERVER && suite->tickets > 0) /* of itself it has no key to seal them with, and issues none */
        check(gnutls_session_ticket_key_generate(&context->ticket_key), "gnutls_session_ticket_key_generate");
    return context;
}

/* What only a server's sessions are told. */
static void serve(gnutls_session_t session, const struct context *context)
{
    if (context->ticket_key.data)
        check(gnutls_session_ticket_enable_server(session, &context->ticket_key),
              "gnutls_session_ticket_enable_server");
    if (context->store)
        sessions_kept_use(session, context->store);
    if (context->mutual) {
        gnutls_certificate_server_set_request(session, GNUTLS_CERT_REQUIRE);
        gnutls_session_set_verify_cert(session, NULL, 0);
    }
}

static _Atomic size_t tickets;

static int ticket_count(gnutls_session_t session, unsigned type, unsigned when, unsigned received,
                        const gnutls_datum_t *message)
{
    (void)session, (void)type, (void)when, (void)message;
    tickets += received;
    return 0;
}

static size_t tickets_told(void)
{
    return tickets;
}

static void *session_new(void *opaque, struct wire *wire)
{
    struct context *context = opaque;
    gnutls_session_t session;
    check(gnutls_init(&session, context->flags), "gnutls_init");
    gnutls_session_set_ptr(session, context);
    check(gnutls_priority_set(session, context->priority), "gnutls_priority_set");
    check(gnutls_credentials_set(session, GNUTLS_CRD_CERTIFICATE, context->credentials), "gnutls_credentials_set");
    transport_set(session, wire);
    if (context->flags & GNUTLS_SERVER) {
        serve(session, context);
        return session;
    }
    const char *name = wire_server_name(wire);
    check(gnutls_server_name_set(session, GNUTLS_NAME_DNS, name, strlen(name)), "host name");
    gnutls_session_set_verify_cert(session, name, 0);
    gnutls_handshake_set_hook_function(session, GNUTLS_HANDSHAKE_NEW_SESSION_TICKET, GNUTLS_HOOK_POST, ticket_count);
    return session;
}

static void name_add(void *context, const char *server_name, const struct suite *suite)
{
    (void)server_name;
    credentials_add(((struct context *)context)->credentials, suite);
}

static void resume(void *session, void *from)
{
    gnutls_datum_t got;
    check(gnutls_session_get_data2(from, &got), "gnutls_session_get_data2");
    check(gnutls_session_set_data(session, got.data, got.size), "gnutls_session_set_data");
    gnutls_free(got.data);
}

/* Ends the run unless the library only waits for the other end. */
static void must_wait(gnutls_session_t session, ssize_t result, const char *what)
{
    gnutls_datum_t text = {NULL, 0};
    if (result == GNUTLS_E_CERTIFICATE_VERIFICATION_ERROR) {
        unsigned status = gnutls_session_get_verify_cert_status(session);
        check(gnutls_certificate_verification_status_print(status, GNUTLS_CRT_X509, &text, 0), what);
        die("%s: the peer's chain: %s", what, text.data);
    }
    if (result != GNUTLS_E_AGAIN)
        die("%s: %s", what, result ? gnutls_strerror((int)result) : "the peer has closed");
}

/* What a call that moves bytes says: how many, and 0 where it waits. */
static size_t bytes_moved(gnutls_session_t session, ssize_t result, const char *what)
{
    if (result > 0)
        return (size_t)result;
    must_wait(session, result, what);
    return 0;
}

static bool handshake(void *session)
{
    struct context *context = gnutls_session_get_ptr(session); /* NULL once complete: GnuTLS does not tell */
    unsigned char byte;
    int result;
    if (!context) {
        ssize_t given = receive(session, &byte, 1); /* reads tickets, where there are any */
        if (given > 0)
            die("application data before both ends were complete");
        must_wait(session, given, "read");
        return true;
    }
    result = gnutls_handshake(session);
    if (result < 0) {
        must_wait(session, result, "handshake");
        return false;
    }
    gnutls_session_set_ptr(session, NULL);
    if (context->tickets > 0 && gnutls_protocol_get_version(session) == GNUTLS_TLS1_3)
        check(gnutls_session_ticket_send(session, context->tickets, 0), "gnutls_session_ticket_send");
    return true;
}

static size_t write(void *session, const void *bytes, size_t size)
{
    return bytes_moved(session, gnutls_record_send(session, bytes, size), "write");
}

static size_t read(void *session, void *bytes, size_t size)
{
    return bytes_moved(session, receive(session, bytes, size), "read");
}

static void negotiated(void *session, struct negotiated *result)
{
    result->protocol = openssl_name(gnutls_protocol_get_name(gnutls_protocol_get_version(session)));
    result->cipher = openssl_name(gnutls_ciphersuite_get(session));
    result->group = openssl_name(gnutls_group_get_name(gnutls_group_get(session)));
    result->resumed = gnutls_session_is_resumed(session);
    unsigned count = 0;
    const gnutls_datum_t *chain = gnutls_certificate_get_peers(session, &count);
    result->peer.bytes = count ? chain->data : NULL;
    result->peer.size = count ? chain->size : 0;
    /* All bits are set where GnuTLS was not asked to verify; the host name is one of what they stand for. */
    result->peer_verified = chain && gnutls_session_get_verify_cert_status(session) == 0;
}

static void session_free(void *session)
{
    gnutls_deinit(session);
}

static void context_free(void *opaque)
{
    struct context *context = opaque;
    gnutls_certificate_free_credentials(context->credentials);
    gnutls_priority_deinit(context->priority);
    gnutls_free(context->ticket_key.data);
    sessions_kept_free(context->store);
    gnutls_free(context);
}

const struct driver driver = {
    .name = "gnutls",
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
    .session_free = session_free,
    .context_free = context_free,
    .sealer_new = sealer_new,
    .seal = seal,
    .sealer_free = sealer_free,
};
