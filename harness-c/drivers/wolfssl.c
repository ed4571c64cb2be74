/* wolfSSL 5.x behind the driver interface; under the GPL, as the library is. */
#include "group_names.h"
#include "sealer.h"
#include "wolfssl_setup.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define HAVE_SERVER_RENEGOTIATION_INFO /* as stacks.toml builds it, which is not in options.h */
#include <wolfssl/internal.h>          /* no call of this build tells the verify mode of a session */

static const char *version(void)
{
    static char text[32];
    snprintf(text, sizeof text, "wolfSSL %s", wolfSSL_lib_version());
    return text;
}

static int wire_send(WOLFSSL *ssl, char *bytes, int size, void *wire)
{
    (void)ssl;
    size_t taken = wire_write(wire, bytes, size);
    return taken ? (int)taken : WOLFSSL_CBIO_ERR_WANT_WRITE;
}

static int wire_receive(WOLFSSL *ssl, char *bytes, int size, void *wire)
{
    (void)ssl;
    size_t given = wire_read(wire, bytes, size);
    return given ? (int)given : WOLFSSL_CBIO_ERR_WANT_READ;
}

static const char *supports(const struct suite *suite)
{
    if (!is_tls13(suite) && strcmp(suite->protocol, "TLSv1.2") != 0)
        return "does TLSv1.2 and TLSv1.3 only";
    if (tickets_lacking(suite))
        return tickets_lacking(suite);
    if (!strcmp(suite->options, "low-memory"))
        return "saves memory by how it is built, not by a setting at run time";
    if (!strcmp(suite->options, "drop-peer-chain"))
        return "keeps its peers' certificates or not by how it is built, not by a setting at run time";
    const char *reason = NULL;
    for (enum role role = ROLE_CLIENT; !reason && role <= ROLE_SERVER; role++) {
        WOLFSSL_CTX *ctx = wolfSSL_CTX_new(method(role, suite));
        check(ctx ? WOLFSSL_SUCCESS : 0, "wolfSSL_CTX_new");
        reason = configure(ctx, role, suite);
        wolfSSL_CTX_free(ctx);
    }
    return reason;
}

static void *context_new(enum role role, const struct suite *suite)
{
    WOLFSSL_CTX *ctx = wolfSSL_CTX_new(method(role, suite));
    if (!ctx || configure(ctx, role, suite))
        die("wolfSSL_CTX_new: failed");
    credentials_load(ctx, role, suite);
    tickets_set(ctx, role, suite);
    /* One table of the process for both roles, three sessions a row: a client's own would put the server's out of it.
     */
    bool keeps = suite->store && role == ROLE_SERVER;
    wolfSSL_CTX_set_session_cache_mode(ctx, keeps ? WOLFSSL_SESS_CACHE_SERVER : WOLFSSL_SESS_CACHE_OFF);
    wolfSSL_CTX_SetIOSend(ctx, wire_send);
    wolfSSL_CTX_SetIORecv(ctx, wire_receive);
    return ctx;
}

static void *session_new(void *ctx, struct wire *wire)
{
    WOLFSSL *ssl = wolfSSL_new(ctx);
    if (!ssl)
        die("wolfSSL_new: failed");
    wolfSSL_SetIOWriteCtx(ssl, wire);
    wolfSSL_SetIOReadCtx(ssl, wire);
    if (!wolfSSL_is_server(ssl)) {
        const char *name = wire_server_name(wire);
        check(wolfSSL_UseSNI(ssl, WOLFSSL_SNI_HOST_NAME, name, strlen(name)), "host name");
        check(wolfSSL_check_domain_name(ssl, name), "host name");
        tickets_count(ssl);
    }
    return ssl;
}

#ifdef OPENSSL_EXTRA /* what a session needs to get another context is of it */

/* A context for each name, as nginx has it with this library. One server has all that there are. */
static struct named {
    WOLFSSL_CTX *ctx;
    struct named *next;
} * named;
static WOLFSSL_CTX *serves_names;

static int name_choose(WOLFSSL *ssl, int *alert, void *unused)
{
    void *asked = NULL;
    (void)alert, (void)unused;
    wolfSSL_SNI_GetRequest(ssl, WOLFSSL_SNI_HOST_NAME, &asked);
    WOLFSSL_CTX *ctx = asked ? name_get(asked) : NULL;
    if (ctx && !wolfSSL_set_SSL_CTX(ssl, ctx))
        die("wolfSSL_set_SSL_CTX: failed");
    return 0;
}

static void name_add(void *ctx, const char *server_name, const struct suite *suite)
{
    struct named *more = malloc(sizeof *more);
    if (!more)
        die("out of memory");
    wolfSSL_CTX_set_servername_callback(ctx, name_choose);
    *more = (struct named){context_new(ROLE_SERVER, suite), named};
    name_put(server_name, more->ctx);
    serves_names = ctx;
    named = more;
}

static void names_free(WOLFSSL_CTX *ctx)
{
    for (struct named *next; ctx == serves_names && named; named = next) {
        next = named->next;
        wolfSSL_CTX_free(named->ctx);
        free(named);
    }
}

#define NAME_ADD name_add
#else
#define NAME_ADD NULL
static void names_free(WOLFSSL_CTX *ctx)
{
    (void)ctx;
}
#endif

static void resume(void *ssl, void *from)
{
    WOLFSSL_SESSION *session = wolfSSL_get1_session(from);
    check(session ? wolfSSL_set_session(ssl, session) : WOLFSSL_FAILURE, "wolfSSL_set_session");
    wolfSSL_SESSION_free(session);
}

/* Ends the run unless the library only waits for the other end. */
static void must_wait(WOLFSSL *ssl, int result, const char *what)
{
    int error = wolfSSL_get_error(ssl, result);
    if (error != WOLFSSL_ERROR_WANT_READ && error != WOLFSSL_ERROR_WANT_WRITE)
        check(error, what);
}

/* What a call that moves bytes says: how many, and 0 where it waits. */
static size_t bytes_moved(WOLFSSL *ssl, int result, const char *what)
{
    if (result > 0)
        return (size_t)result;
    must_wait(ssl, result, what);
    return 0;
}

static bool session_handshake(void *ssl)
{
    unsigned char byte;
    int result;
    if (!wolfSSL_is_init_finished(ssl)) {
        result = wolfSSL_negotiate(ssl);
        if (result != WOLFSSL_SUCCESS)
            must_wait(ssl, result, "handshake");
        return result == WOLFSSL_SUCCESS;
    }
    bytes_moved(ssl, wolfSSL_peek(ssl, &byte, 1), "read");
    return true;
}

static size_t session_write(void *ssl, const void *bytes, size_t size)
{
    return bytes_moved(ssl, wolfSSL_write(ssl, bytes, size < INT_MAX ? (int)size : INT_MAX), "write");
}

static size_t session_read(void *ssl, void *bytes, size_t size)
{
    return bytes_moved(ssl, wolfSSL_read(ssl, bytes, size < INT_MAX ? (int)size : INT_MAX), "read");
}

/* As its own defaults build it the library keeps nothing of the peer's chain, has no call that would say that it was
 * verified (those are OPENSSL_EXTRA's, KEEP_PEER_CERT's and SESSION_CERTS's), and calls a callback of its caller's for
 * errors only. What proves it: the session has WOLFSSL_VERIFY_PEER, and a host name, or of a server the mode that no
 * certificate at all is an error too; with them each of the chain, the name and the signature that is wrong is an
 * error, which ends the run here (test_stacks.py has all three), and without a signature by the leaf's key the
 * handshake never finishes (NO_PEER_VERIFY). */
static void negotiated(void *opaque, struct negotiated *result)
{
    WOLFSSL *ssl = opaque;
    result->protocol = wolfSSL_get_version(ssl);
    bool tls13 = !strcmp(result->protocol, "TLSv1.3"); /* OpenSSL's name is IANA's there, the library's own in 1.2 */
    result->cipher = tls13 ? wolfSSL_get_cipher(ssl) : wolfSSL_get_cipher_name(ssl);
    result->group = group_as_suite(wolfSSL_get_curve_name(ssl));
    result->resumed = wolfSSL_session_reused(ssl);
    bool requires = wolfSSL_is_server(ssl) ? ssl->options.failNoCert : ssl->buffers.domainName.buffer != NULL;
    bool verifies = ssl->options.verifyPeer && !ssl->options.verifyNone;
#ifdef KEEP_PEER_CERT
    if (ssl->peerCert.derCert) {
        result->peer.bytes = ssl->peerCert.derCert->buffer;
        result->peer.size = ssl->peerCert.derCert->length;
    }
#endif
    result->peer_verified = verifies && requires && wolfSSL_is_init_finished(ssl) && !result->resumed;
}

static void session_free(void *ssl)
{
    wolfSSL_free(ssl);
}

static void context_free(void *ctx)
{
    names_free(ctx);
    wolfSSL_CTX_free(ctx);
}

const struct driver driver = {
    .name = "wolfssl",
    .version = version,
    .supports = supports,
    .context_new = context_new,
    .session_new = session_new,
    .name_add = NAME_ADD,
    .resume = resume,
    .tickets = tickets_told,
    .handshake = session_handshake,
    .write = session_write,
    .read = session_read,
    .negotiated = negotiated,
    .session_free = session_free,
    .context_free = context_free,
    .sealer_new = sealer_new,
    .seal = seal,
    .sealer_free = sealer_free,
};
