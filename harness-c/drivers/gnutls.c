/* GnuTLS behind the driver interface. */
#include "gnutls.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

/* What sessions of a role share. GnuTLS has no object for it. */
struct context {
    gnutls_certificate_credentials_t credentials;
    gnutls_priority_t priority;
    gnutls_datum_t ticket_key; /* empty: no tickets */
    unsigned flags;            /* of gnutls_init */
    int tickets;
};

static _Thread_local bool wire_is_empty; /* as the last pull found it */

static const char *version(void)
{
    static char text[64];
    snprintf(text, sizeof text, "GnuTLS %s", gnutls_check_version(NULL));
    return text;
}

static const char *supports(const struct suite *suite)
{
    gnutls_priority_t priority = NULL;
    const char *lacks = priority_new(&priority, suite);
    gnutls_priority_deinit(priority);
    if (!strcmp(suite->auth, "mutual"))
        lacks = "this driver does not do mutual authentication yet";
    if (suite->store)
        lacks = "store=on: it keeps no sessions itself, an application does";
    if (!strcmp(suite->knobs, "best"))
        lacks = "knobs=best: it documents no way to save a session's memory";
    return lacks;
}

static void *context_new(enum role role, const struct suite *suite)
{
    struct context *context = gnutls_calloc(1, sizeof *context);
    if (!context || priority_new(&context->priority, suite))
        die("gnutls_priority_init failed");
    context->credentials = credentials_new(role, suite);
    context->flags = role == ROLE_CLIENT ? GNUTLS_CLIENT : GNUTLS_SERVER;
    context->flags |= GNUTLS_NONBLOCK | GNUTLS_NO_AUTO_SEND_TICKET;
    context->tickets = role == ROLE_SERVER ? suite->tickets : 0;
    if (suite->tickets == 0)
        context->flags |= GNUTLS_NO_TICKETS | GNUTLS_NO_TICKETS_TLS12;
    else if (role == ROLE_SERVER)
        check(gnutls_session_ticket_key_generate(&context->ticket_key), "gnutls_session_ticket_key_generate");
    return context;
}

static ssize_t push(gnutls_transport_ptr_t wire, const void *bytes, size_t size)
{
    size_t taken = wire_write(wire, bytes, size);
    errno = EAGAIN;
    return taken ? (ssize_t)taken : -1;
}

static ssize_t pull(gnutls_transport_ptr_t wire, void *bytes, size_t size)
{
    size_t given = wire_read(wire, bytes, size);
    wire_is_empty = given == 0;
    errno = EAGAIN;
    return given ? (ssize_t)given : -1;
}

/* That something may be there: to read is the only way to know. */
static int pull_timeout(gnutls_transport_ptr_t wire, unsigned milliseconds)
{
    (void)wire, (void)milliseconds;
    return 1;
}

static void *session_new(void *opaque, struct wire *wire)
{
    struct context *context = opaque;
    gnutls_session_t session;
    check(gnutls_init(&session, context->flags), "gnutls_init");
    gnutls_session_set_ptr(session, context);
    check(gnutls_priority_set(session, context->priority), "gnutls_priority_set");
    check(gnutls_credentials_set(session, GNUTLS_CRD_CERTIFICATE, context->credentials), "gnutls_credentials_set");
    gnutls_transport_set_ptr(session, wire);
    gnutls_transport_set_push_function(session, push);
    gnutls_transport_set_pull_function(session, pull);
    gnutls_transport_set_pull_timeout_function(session, pull_timeout);
    if (context->ticket_key.data)
        check(gnutls_session_ticket_enable_server(session, &context->ticket_key),
              "gnutls_session_ticket_enable_server");
    if (context->flags & GNUTLS_SERVER)
        return session;
    check(gnutls_server_name_set(session, GNUTLS_NAME_DNS, SERVER_NAME, strlen(SERVER_NAME)), "host name");
    gnutls_session_set_verify_cert(session, SERVER_NAME, 0);
    return session;
}

/* Ends the run unless the library only waits for the other end. */
static bool waits(gnutls_session_t session, ssize_t result, const char *what)
{
    gnutls_datum_t text = {NULL, 0};
    if (result == GNUTLS_E_CERTIFICATE_VERIFICATION_ERROR) {
        unsigned status = gnutls_session_get_verify_cert_status(session);
        check(gnutls_certificate_verification_status_print(status, GNUTLS_CRT_X509, &text, 0), what);
        die("%s: the peer's chain: %s", what, text.data);
    }
    if (result != GNUTLS_E_AGAIN)
        die("%s: %s", what, result ? gnutls_strerror((int)result) : "the peer has closed");
    return true;
}

/* GnuTLS asks to be called again after each ticket too. */
static ssize_t receive(gnutls_session_t session, void *bytes, size_t size)
{
    ssize_t given;
    do {
        wire_is_empty = false;
        given = gnutls_record_recv(session, bytes, size);
    } while (given == GNUTLS_E_AGAIN && !wire_is_empty);
    return given;
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
        return waits(session, given, "read");
    }
    result = gnutls_handshake(session);
    if (result < 0)
        return !waits(session, result, "handshake");
    gnutls_session_set_ptr(session, NULL);
    if (context->tickets > 0 && gnutls_protocol_get_version(session) == GNUTLS_TLS1_3)
        check(gnutls_session_ticket_send(session, context->tickets, 0), "gnutls_session_ticket_send");
    return true;
}

static size_t write(void *session, const void *bytes, size_t size)
{
    ssize_t taken = gnutls_record_send(session, bytes, size);
    return taken > 0 || !waits(session, taken, "write") ? (size_t)taken : 0;
}

static size_t read(void *session, void *bytes, size_t size)
{
    ssize_t given = receive(session, bytes, size);
    return given > 0 || !waits(session, given, "read") ? (size_t)given : 0;
}

static void negotiated(void *session, struct negotiated *result)
{
    result->protocol = openssl_name(gnutls_protocol_get_name(gnutls_protocol_get_version(session)));
    result->cipher = openssl_name(gnutls_ciphersuite_get(session));
    result->group = openssl_name(gnutls_group_get_name(gnutls_group_get(session)));
    result->resumed = gnutls_session_is_resumed(session);
    /* All bits are set where GnuTLS was not asked to verify; the host name is one of what they stand for. */
    result->peer_verified =
        gnutls_certificate_get_peers(session, NULL) && gnutls_session_get_verify_cert_status(session) == 0;
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
    gnutls_free(context);
}

const struct driver driver = {
    .name = "gnutls",
    .version = version,
    .supports = supports,
    .context_new = context_new,
    .session_new = session_new,
    .handshake = handshake,
    .write = write,
    .read = read,
    .negotiated = negotiated,
    .session_free = session_free,
    .context_free = context_free,
};
