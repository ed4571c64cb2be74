/* What Mbed TLS is told before its first session: what to offer, and whom to trust. */
#include "group_names.h"
#include "mbedtls_alone.h"
#include "mbedtls_credentials.h"

#include <mbedtls/error.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const struct cipher {
    const char *name; /* OpenSSL's; the library has names of its own */
    int number;       /* IANA's */
    mbedtls_cipher_type_t type;
} ciphers[] = {
    {"TLS_AES_128_GCM_SHA256", 0x1301, MBEDTLS_CIPHER_AES_128_GCM},
    {"TLS_AES_256_GCM_SHA384", 0x1302, MBEDTLS_CIPHER_AES_256_GCM},
    {"TLS_CHACHA20_POLY1305_SHA256", 0x1303, MBEDTLS_CIPHER_CHACHA20_POLY1305},
    {"ECDHE-RSA-AES128-GCM-SHA256", MBEDTLS_TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256, MBEDTLS_CIPHER_AES_128_GCM},
    {"ECDHE-RSA-AES256-GCM-SHA384", MBEDTLS_TLS_ECDHE_RSA_WITH_AES_256_GCM_SHA384, MBEDTLS_CIPHER_AES_256_GCM},
    {"ECDHE-RSA-CHACHA20-POLY1305", MBEDTLS_TLS_ECDHE_RSA_WITH_CHACHA20_POLY1305_SHA256,
     MBEDTLS_CIPHER_CHACHA20_POLY1305},
    {"ECDHE-ECDSA-AES256-GCM-SHA384", MBEDTLS_TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384, MBEDTLS_CIPHER_AES_256_GCM},
};

pthread_mutex_t psa_lock = PTHREAD_MUTEX_INITIALIZER;

/* A thread resumes one session at a time, of at most 256 threads; each may have begun with several full handshakes. The
 * oldest of a full cache go first, used or not. */
enum { KEPT_SESSIONS = 4096, LIFETIME_S = 86400 };

void check(int result, const char *what)
{
    char reason[160];
    if (result == 0)
        return;
    mbedtls_strerror(result, reason, sizeof reason);
    die("%s: %s", what, reason);
}

static const struct cipher *cipher_named(const char *name)
{
    for (size_t i = 0; i < sizeof ciphers / sizeof *ciphers; i++)
        if (!strcmp(ciphers[i].name, name) && mbedtls_ssl_ciphersuite_from_id(ciphers[i].number))
            return &ciphers[i];
    return NULL;
}

static bool is_tls13(const struct suite *suite)
{
    return !strcmp(suite->protocol, "TLSv1.3");
}

const char *cipher_name(const char *own)
{
    for (size_t i = 0; own && i < sizeof ciphers / sizeof *ciphers; i++)
        if (mbedtls_ssl_get_ciphersuite_id(own) == ciphers[i].number)
            return ciphers[i].name;
    return own;
}

mbedtls_cipher_type_t cipher_type(const char *name)
{
    return cipher_named(name)->type;
}

enum { NOT_READ = -1 };

/* The role's groups in the library's numbers: how many, none where it is to choose, or NOT_READ. */
static int groups_read(group groups[GROUPS], enum role role, const struct suite *suite)
{
    static const struct {
        const char *name;
        group number;
    } known[] = {{"X25519", GROUP_X25519}, {"P-256", GROUP_P256}, {"P-384", GROUP_P384}};
    enum { KNOWN = sizeof known / sizeof *known };
    char name[GROUP_NAME_BYTES];
    int count = 0;
    for (const char *list = role_groups(role, suite); list; count++) {
        size_t i = 0;
        list = group_next(list, name);
        while (i < KNOWN && strcasecmp(known[i].name, name) != 0)
            i++;
        if (i == KNOWN || count == GROUPS - 2)
            return NOT_READ;
        groups[count] = known[i].number;
    }
    return count;
}

const char *lacks(const struct suite *suite)
{
    if (!is_tls13(suite) && strcmp(suite->protocol, "TLSv1.2") != 0)
        return "does TLSv1.2 and TLSv1.3 only";
#ifndef MBEDTLS_SSL_PROTO_TLS1_3
    if (is_tls13(suite))
        return "does not have TLSv1.3 as its own defaults build it";
#endif
    if (is_tls13(suite) && suite->store)
        return "keeps sessions of TLSv1.2 only";
    if (suite->tickets > UINT16_MAX)
        return "issues 65535 tickets at most";
    if (!strcmp(suite->options, "low-memory"))
        return "saves memory by how it is built, not by a setting at run time";
    if (!strcmp(suite->options, "drop-peer-chain"))
        return "keeps its peers' certificates or not by how it is built, not by a setting at run time";
    if (!cipher_named(suite->cipher))
        return "does not have this cipher";
    group unused[GROUPS];
    for (enum role role = ROLE_CLIENT; role <= ROLE_SERVER; role++)
        if (groups_read(unused, role, suite) == NOT_READ)
            return "does not have this group";
    return NULL;
}

/* Tickets, or ids; TLS 1.3 with a new key exchange always. */
static void resumption_configure(struct context *context, const struct suite *suite)
{
    bool client = context->role == ROLE_CLIENT, tickets = suite->tickets > 0 && !suite->store;
    mbedtls_ssl_config *config = &context->config;
    if (client && suite->tickets != TICKETS_LIBRARY)
        mbedtls_ssl_conf_session_tickets(config, tickets ? MBEDTLS_SSL_SESSION_TICKETS_ENABLED
                                                         : MBEDTLS_SSL_SESSION_TICKETS_DISABLED);
    else if (suite->store && !client)
        mbedtls_ssl_conf_session_cache(config, context, cache_get_alone, cache_set_alone);
    if (suite->tickets != TICKETS_LIBRARY)
        mbedtls_ssl_cache_set_max_entries(&context->cache, KEPT_SESSIONS);
    if (!tickets)
        return;
    mbedtls_ssl_conf_tls13_key_exchange_modes(config, MBEDTLS_SSL_TLS1_3_KEY_EXCHANGE_MODE_EPHEMERAL |
                                                          MBEDTLS_SSL_TLS1_3_KEY_EXCHANGE_MODE_PSK_EPHEMERAL);
    mbedtls_ssl_conf_tls13_enable_signal_new_session_tickets(config, client);
    if (client)
        return;
    mbedtls_ssl_conf_new_session_tickets(config, (uint16_t)suite->tickets);
    mbedtls_ssl_conf_session_tickets_cb(config, ticket_write_alone, ticket_parse_alone, context);
    check(mbedtls_ssl_ticket_setup(&context->ticket, random_alone, context, MBEDTLS_CIPHER_AES_256_GCM, LIFETIME_S),
          "mbedtls_ssl_ticket_setup");
}

/* Offers just what the suite asks. But in TLS 1.2 there is one list for key exchange and for the curves of
 * certificates, so who verifies a P-256 chain needs P-256 in it too. */
static void configure(struct context *context, const struct suite *suite)
{
    bool client = context->role == ROLE_CLIENT;
    mbedtls_ssl_config *config = &context->config;
    bool both = !is_tls13(suite) && (client || is_mutual(suite)) && strstr(suite->cipher, "ECDSA");
    context->ciphers[0] = cipher_named(suite->cipher)->number;
    const int count = groups_read(context->groups, context->role, suite);
    for (int i = 0; i < count; i++)
        both &= context->groups[i] != GROUP_P256;
    context->groups[count] = both ? GROUP_P256 : 0;
    context->groups[count + 1] = 0;
    check(mbedtls_ssl_config_defaults(config, client ? MBEDTLS_SSL_IS_CLIENT : MBEDTLS_SSL_IS_SERVER,
                                      MBEDTLS_SSL_TRANSPORT_STREAM, MBEDTLS_SSL_PRESET_DEFAULT),
          "mbedtls_ssl_config_defaults");
    mbedtls_ssl_conf_min_version(config, MBEDTLS_SSL_MAJOR_VERSION_3, is_tls13(suite) ? 4 : 3);
    mbedtls_ssl_conf_max_version(config, MBEDTLS_SSL_MAJOR_VERSION_3, is_tls13(suite) ? 4 : 3);
    mbedtls_ssl_conf_ciphersuites(config, context->ciphers);
    if (count > 0)
        mbedtls_ssl_conf_groups(config, context->groups);
    mbedtls_ssl_conf_rng(config, random_alone, context);
    resumption_configure(context, suite);
}

/* TLS 1.3 stands on it. A client's key share has a slot in its table of keys, one for the process: it doubles with the
 * handshakes that are under way at once, and keeps its size until this is undone. */
static void psa_use(int more)
{
    static int contexts;
    pthread_mutex_lock(&psa_lock);
    if (contexts == 0 && psa_crypto_init() != PSA_SUCCESS)
        die("psa_crypto_init: failed");
    contexts += more;
    if (contexts == 0)
        mbedtls_psa_crypto_free();
    pthread_mutex_unlock(&psa_lock);
}

struct context *context_open(enum role role, const struct suite *suite)
{
    struct context *context = calloc(1, sizeof *context);
    if (!context)
        die("out of memory");
    context->role = role;
    context->tls13 = is_tls13(suite);
    mbedtls_ssl_config_init(&context->config);
    mbedtls_entropy_init(&context->entropy);
    mbedtls_ctr_drbg_init(&context->random);
    mbedtls_x509_crt_init(&context->own);
    mbedtls_x509_crt_init(&context->trusted);
    mbedtls_pk_init(&context->key);
    mbedtls_pk_init(&context->signer);
    mbedtls_ssl_cache_init(&context->cache);
    mbedtls_ssl_ticket_init(&context->ticket);
    pthread_mutex_init(&context->random_lock, NULL);
    pthread_mutex_init(&context->key_lock, NULL);
    pthread_mutex_init(&context->kept_lock, NULL);
    psa_use(1);
    check(mbedtls_ctr_drbg_seed(&context->random, mbedtls_entropy_func, &context->entropy, NULL, 0), "random numbers");
    configure(context, suite);
    credentials_load(context, suite);
    return context;
}

static int name_choose(void *unused, mbedtls_ssl_context *ssl, const unsigned char *asked, size_t size)
{
    char name[256];
    (void)unused;
    snprintf(name, sizeof name, "%.*s", (int)size, (const char *)asked);
    struct named *named = name_get(name);
    return named ? mbedtls_ssl_set_hs_own_cert(ssl, &named->own, &named->key) : 0;
}

void named_add(struct context *context, const char *server_name, const struct suite *suite)
{
    char path[PATH_BYTES];
    struct named *named = calloc(1, sizeof *named);
    if (!named)
        die("out of memory");
    mbedtls_x509_crt_init(&named->own);
    mbedtls_pk_init(&named->key);
    check(mbedtls_x509_crt_parse_file(&named->own, suite_path(path, suite, "chain.pem")), path);
    check(mbedtls_pk_parse_keyfile(&named->key, suite_path(path, suite, "key.pem"), NULL, random_alone, context), path);
    mbedtls_ssl_conf_sni(&context->config, name_choose, NULL);
    name_put(server_name, named);
    named->next = context->named;
    context->named = named;
}

void context_close(struct context *context)
{
    for (struct named *named = context->named, *next; named; named = next) {
        next = named->next;
        mbedtls_pk_free(&named->key);
        mbedtls_x509_crt_free(&named->own);
        free(named);
    }
    mbedtls_ssl_config_free(&context->config);
    mbedtls_ssl_cache_free(&context->cache);
    mbedtls_ssl_ticket_free(&context->ticket);
    mbedtls_pk_free(&context->signer);
    mbedtls_pk_free(&context->key);
    mbedtls_x509_crt_free(&context->own);
    mbedtls_x509_crt_free(&context->trusted);
    mbedtls_ctr_drbg_free(&context->random);
    mbedtls_entropy_free(&context->entropy);
    free(context);
    psa_use(-1);
}
