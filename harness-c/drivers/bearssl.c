/* BearSSL 0.6 behind the driver interface. It allocates nothing: a session is what its caller gives it. */
#include "bearssl_caller.h"
#include "bearssl_suite.h"

#include <stdlib.h>
#include <string.h>

struct context {
    enum role role;
    struct credentials credentials;
    uint16_t cipher;
    br_ec_impl curves; /* the library's own, but for those that are not offered */
    size_t buffer_size;
};

struct session {
    struct wire *wire;
    br_ssl_engine_context *engine;      /* the first member of a client's structure, and of a server's */
    br_x509_minimal_context *validator; /* NULL on a server, which asks for no certificate */
    unsigned char *buffer;
};

static const char *version(void)
{
    return "BearSSL (" SOURCE ")"; /* it has no version of its own to tell */
}

static void *context_new(enum role role, const struct suite *suite)
{
    struct context *context = calloc(1, sizeof *context);
    if (!context)
        die("out of memory");
    context->role = role;
    context->cipher = cipher_named(suite->cipher);
    context->curves = *br_ec_get_default();
    context->curves.supported_curves = 1U << BR_EC_curve25519;
    /* Documented to save memory: one buffer for both directions, for programs that do not write while they read. It
     * may be smaller still, if the other end then agrees to smaller records. */
    context->buffer_size = strcmp(suite->knobs, "best") ? BR_SSL_BUFSIZE_BIDI : BR_SSL_BUFSIZE_MONO;
    credentials_load(&context->credentials, role, suite);
    return context;
}

/* By any curve. A client has one list for key exchange and signatures, and sends P-256 before X25519: with both in it
 * servers take P-256. With X25519 alone those that look for their certificate's curve in it, as OpenSSL's, refuse. */
static uint32_t signature_verify(const br_ec_impl *offered, const void *hash, size_t hash_size,
                                 const br_ec_public_key *key, const void *signature, size_t size)
{
    (void)offered;
    return br_ecdsa_vrfy_asn1_get_default()(br_ec_get_default(), hash, hash_size, key, signature, size);
}

static void *session_new(void *opaque, struct wire *wire)
{
    struct context *context = opaque;
    struct session *session = malloc(sizeof *session);
    bool client = context->role == ROLE_CLIENT;
    if (!session)
        die("out of memory");
    session->wire = wire;
    session->validator = client ? validator_new() : NULL;
    session->engine = client ? client_engine_new(&context->credentials, session->validator)
                             : server_engine_new(&context->credentials);
    session->buffer = record_buffer_new(context->buffer_size);
    br_ssl_engine_set_versions(session->engine, BR_TLS12, BR_TLS12);
    br_ssl_engine_set_suites(session->engine, &context->cipher, 1);
    br_ssl_engine_set_ec(session->engine, &context->curves);
    br_ssl_engine_set_ecdsa(session->engine, signature_verify);
    br_ssl_engine_set_buffer(session->engine, session->buffer, context->buffer_size,
                             context->buffer_size == BR_SSL_BUFSIZE_BIDI);
    if (!(client ? br_ssl_client_reset((br_ssl_client_context *)session->engine, SERVER_NAME, 0)
                 : br_ssl_server_reset((br_ssl_server_context *)session->engine)))
        die("session: %s", error_text(br_ssl_engine_last_error(session->engine)));
    return session;
}

/* Sends what is ready, and ends the run where the engine has ended. */
static void send_records(struct session *session)
{
    size_t size, taken = 1;
    unsigned char *record;
    while (taken > 0 && (record = br_ssl_engine_sendrec_buf(session->engine, &size))) {
        taken = wire_write(session->wire, record, size);
        if (taken > 0)
            br_ssl_engine_sendrec_ack(session->engine, taken);
    }
    if (br_ssl_engine_current_state(session->engine) == BR_SSL_CLOSED)
        die("%s", error_text(br_ssl_engine_last_error(session->engine)));
}

/* True when something arrived. */
static bool receive(struct session *session)
{
    size_t room, given;
    unsigned char *record = br_ssl_engine_recvrec_buf(session->engine, &room);
    if (!record || (given = wire_read(session->wire, record, room)) == 0)
        return false;
    br_ssl_engine_recvrec_ack(session->engine, given);
    return true;
}

static bool handshake(void *session)
{
    do
        send_records(session);
    while (receive(session));
    return br_ssl_engine_current_state(((struct session *)session)->engine) & BR_SSL_SENDAPP;
}

/* One record. */
static size_t write(void *opaque, const void *bytes, size_t size)
{
    struct session *session = opaque;
    size_t room;
    unsigned char *data = br_ssl_engine_sendapp_buf(session->engine, &room);
    size_t taken = data ? (size < room ? size : room) : 0;
    if (taken > 0) {
        memcpy(data, bytes, taken);
        br_ssl_engine_sendapp_ack(session->engine, taken);
        br_ssl_engine_flush(session->engine, 0);
    }
    send_records(session);
    return taken;
}

static size_t read(void *opaque, void *bytes, size_t size)
{
    struct session *session = opaque;
    unsigned char *data;
    size_t there, given;
    while (!(data = br_ssl_engine_recvapp_buf(session->engine, &there))) {
        if (!receive(session))
            return 0;
        send_records(session);
    }
    given = size < there ? size : there;
    memcpy(bytes, data, given);
    br_ssl_engine_recvapp_ack(session->engine, given);
    return given;
}

/* The library has no word for a session that was resumed: none is offered. */
static void negotiated(void *opaque, struct negotiated *result)
{
    struct session *session = opaque;
    br_ssl_session_parameters parameters;
    br_ssl_engine_get_session_parameters(session->engine, &parameters);
    result->protocol = parameters.version == BR_TLS12 ? "TLSv1.2" : "another";
    result->cipher = cipher_name(parameters.cipher_suite);
    result->group = br_ssl_engine_get_ecdhe_curve(session->engine) == BR_EC_curve25519 ? "X25519" : "another";
    result->peer_verified = session->validator && br_x509_minimal_vtable.end_chain(&session->validator->vtable) == 0 &&
                            !strcmp(br_ssl_engine_get_server_name(session->engine), SERVER_NAME);
}

static void session_free(void *opaque)
{
    struct session *session = opaque;
    free(session->buffer);
    free(session->validator);
    free(session->engine);
    free(session);
}

static void context_free(void *opaque)
{
    struct context *context = opaque;
    credentials_free(&context->credentials);
    free(context);
}

const struct driver driver = {
    .name = "bearssl",
    .version = version,
    .supports = lacks,
    .context_new = context_new,
    .session_new = session_new,
    .handshake = handshake,
    .write = write,
    .read = read,
    .negotiated = negotiated,
    .session_free = session_free,
    .context_free = context_free,
};
