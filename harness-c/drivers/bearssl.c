/* BearSSL 0.6 behind the driver interface. It allocates nothing: a session is what its caller gives it. */
#include "bearssl_caller.h"
#include "bearssl_kept.h"
#include "bearssl_suite.h"
#include "sealer.h"

#include <stdlib.h>
#include <string.h>

struct context {
    enum role role;
    struct credentials credentials;
    uint16_t cipher;
    br_ec_impl curves; /* the library's own, but for those that are not offered */
    size_t buffer_size;
    bool bidirectional, resumes;
    struct kept *kept; /* NULL but on a server that keeps its sessions */
};

struct session {
    struct wire *wire;
    br_ssl_engine_context *engine;      /* the first member of a client's structure, and of a server's */
    br_x509_minimal_context *validator; /* NULL on a server that asks for no certificate */
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
    context->bidirectional = strcmp(suite->options, "low-memory") != 0;
    context->buffer_size = context->bidirectional ? BR_SSL_BUFSIZE_BIDI : BR_SSL_BUFSIZE_MONO;
    context->resumes = role == ROLE_CLIENT && suite->resume;
    context->kept = role == ROLE_SERVER && suite->store ? kept_new() : NULL;
    credentials_load(&context->credentials, role, suite);
    return context;
}

static void *session_new(void *opaque, struct wire *wire)
{
    struct context *context = opaque;
    struct session *session = malloc(sizeof *session);
    bool client = context->role == ROLE_CLIENT;
    if (!session)
        die("out of memory");
    session->wire = wire;
    session->validator = context->credentials.root.dn.data ? validator_new() : NULL;
    session->engine = (client ? client_engine_new : server_engine_new)(&context->credentials, session->validator);
    session->buffer = record_buffer_new(context->buffer_size);
    engine_configure(session->engine, &context->cipher, &context->curves);
    br_ssl_engine_set_buffer(session->engine, session->buffer, context->buffer_size, context->bidirectional);
    if (context->kept)
        br_ssl_server_set_cache((br_ssl_server_context *)session->engine, &context->kept->vtable);
    if (!client)
        server_begin(session->engine);
    else if (!context->resumes)
        client_begin(session->engine, NULL);
    return session;
}

static void resume(void *opaque, void *from)
{
    struct session *session = opaque;
    br_ssl_session_parameters parameters;
    br_ssl_engine_get_session_parameters(((struct session *)from)->engine, &parameters);
    client_begin(session->engine, &parameters);
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

/* A client that might have resumed a session, but had none, begins here: no call tells that it did not yet. */
static bool handshake(void *opaque)
{
    struct session *session = opaque;
    if (!session->engine->hsrun)
        client_begin(session->engine, NULL);
    do
        send_records(session);
    while (receive(session));
    return br_ssl_engine_current_state(session->engine) & BR_SSL_SENDAPP;
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

/* Of a certificate its validator keeps the key. */
static void peer_told(br_x509_minimal_context *validator, struct negotiated *result)
{
    const br_x509_pkey *key = validator ? br_x509_minimal_vtable.get_pkey(&validator->vtable, NULL) : NULL;
    if (!key)
        return;
    const bool rsa = key->key_type == BR_KEYTYPE_RSA;
    result->peer.bytes = rsa ? key->key.rsa.n : key->key.ec.q;
    result->peer.size = rsa ? key->key.rsa.nlen : key->key.ec.qlen;
}

/* The library has no word for a session that was resumed: without a curve there was no key exchange. The name is of the
 * server: what a client looks for, and what a server was asked for. */
static void negotiated(void *opaque, struct negotiated *result)
{
    struct session *session = opaque;
    br_ssl_session_parameters parameters;
    br_ssl_engine_get_session_parameters(session->engine, &parameters);
    result->protocol = parameters.version == BR_TLS12 ? "TLSv1.2" : "another";
    result->cipher = cipher_name(parameters.cipher_suite);
    int curve = br_ssl_engine_get_ecdhe_curve(session->engine);
    result->resumed = curve == 0;
    result->group = curve == 0 ? NULL : curve == BR_EC_curve25519 ? "X25519" : "another";
    peer_told(session->validator, result);
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
    free(context->kept);
    free(context);
}

const struct driver driver = {
    .name = "bearssl",
    .version = version,
    .supports = lacks,
    .context_new = context_new,
    .session_new = session_new,
    .resume = resume,
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
