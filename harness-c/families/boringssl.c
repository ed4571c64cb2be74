/* What BoringSSL and AWS-LC have in common beyond OpenSSL's family. */
#include "boringssl.h"

#include <openssl/pool.h>
#include <pthread.h>

/* Of a client's session of TLS 1.3: the newest ticket, which is not its SSL_SESSION, and told to a callback only. */
static int ticket_index;
static pthread_once_t ticket_once = PTHREAD_ONCE_INIT;

static void ticket_free(void *ssl, void *ticket, CRYPTO_EX_DATA *data, int index, long number, void *pointer)
{
    (void)ssl, (void)data, (void)index, (void)number, (void)pointer;
    SSL_SESSION_free(ticket);
}

static void ticket_index_new(void)
{
    ticket_index = SSL_get_ex_new_index(0, NULL, NULL, NULL, ticket_free);
    openssl_check(ticket_index >= 0, "SSL_get_ex_new_index");
}

static int ticket_keep(SSL *ssl, SSL_SESSION *ticket)
{
    SSL_SESSION_free(SSL_get_ex_data(ssl, ticket_index));
    openssl_check(SSL_set_ex_data(ssl, ticket_index, ticket), "SSL_set_ex_data");
    return 1; /* taken */
}

static void tickets_keep(SSL_CTX *ctx)
{
    pthread_once(&ticket_once, ticket_index_new);
    SSL_CTX_set_session_cache_mode(ctx, SSL_SESS_CACHE_CLIENT);
    SSL_CTX_sess_set_new_cb(ctx, ticket_keep);
}

/* A server of TLS 1.3 whose tickets are to leave before its first data: they wait for a write, be it of nothing. */
static void tickets_leave(SSL_CTX *ctx)
{
    openssl_check(SSL_CTX_set_app_data(ctx, ctx), "SSL_CTX_set_app_data");
}

bool boringssl_handshake(void *ssl)
{
    const bool waiting = !SSL_is_init_finished(ssl);
    const bool complete = openssl_handshake(ssl);
    if (waiting && complete && SSL_CTX_get_app_data(SSL_get_SSL_CTX(ssl)))
        openssl_check(SSL_write(ssl, "", 0) == 0, "SSL_write");
    return complete;
}

/* In TLS 1.2 what was got is the session's own, whether the callback was told of it or not. */
void boringssl_resume(void *ssl, void *from)
{
    SSL_SESSION *ticket = SSL_version(from) == TLS1_3_VERSION ? SSL_get_ex_data(from, ticket_index) : NULL;
    openssl_check(SSL_set_session(ssl, ticket ? ticket : SSL_get_session(from)), "SSL_set_session");
}

static CRYPTO_BUFFER_POOL *pool; /* outlives every context */
static pthread_once_t pool_once = PTHREAD_ONCE_INIT;

static void pool_new(void)
{
    openssl_check((pool = CRYPTO_BUFFER_POOL_new()) != NULL, "CRYPTO_BUFFER_POOL_new");
}

/* The documented ways to save memory: sessions share equal certificates of their peers, and free with the handshake
 * what only configured it. A third, to keep no more than a hash of client certificates, is options=drop-peer-chain. */
void *boringssl_context_new(enum role role, const struct suite *suite, openssl_configure *configure)
{
    struct openssl_context *context = openssl_context_new(role, suite, configure);
    if (suite->resume && openssl_is_tls13(suite))
        (role == ROLE_CLIENT ? tickets_keep : tickets_leave)(context->ctx);
    if (!context->low_memory)
        return context;
    pthread_once(&pool_once, pool_new);
    SSL_CTX_set0_buffer_pool(context->ctx, pool);
    return context;
}

void *boringssl_session_new(void *context, struct wire *wire)
{
    SSL *ssl = openssl_session_new(context, wire);
    SSL_set_shed_handshake_config(ssl, ((struct openssl_context *)context)->low_memory);
    return ssl;
}

const char *boringssl_share_lacks(const struct suite *suite)
{
    const char *rest = strchr(suite->client_groups, ':');
    return rest && strstr(rest, "MLKEM") ? "sends a key share of its client's hybrid too, whatever comes first" : NULL;
}

const char *boringssl_lacks(const struct suite *suite)
{
    if (suite->store && openssl_is_tls13(suite))
        return "keeps no sessions of TLSv1.3 but in tickets";
    return suite->tickets > 16 ? "issues 16 tickets at most" : NULL; /* it makes 16 of more */
}
