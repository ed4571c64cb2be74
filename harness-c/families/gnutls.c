/* What GnuTLS is told before its first session: a suite in its own words, whom to trust, where sessions are kept. */
#include "gnutls.h"

#include "group_names.h"
#include "session_store.h"

#include <stdio.h>
#include <strings.h>

/* OpenSSL's names, GnuTLS's, and the words of its priority string that offer this one. */
static const struct {
    const char *openssl, *gnutls, *words;
} names[] = {
    {"TLSv1.2", "TLS1.2", "+VERS-TLS1.2"},
    {"TLSv1.3", "TLS1.3", "+VERS-TLS1.3"},
    {"TLS_AES_128_GCM_SHA256", "TLS_AES_128_GCM_SHA256", "+AES-128-GCM"},
    {"TLS_AES_256_GCM_SHA384", "TLS_AES_256_GCM_SHA384", "+AES-256-GCM"},
    {"TLS_CHACHA20_POLY1305_SHA256", "TLS_CHACHA20_POLY1305_SHA256", "+CHACHA20-POLY1305"},
    {"ECDHE-RSA-AES128-GCM-SHA256", "TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256", "+AES-128-GCM:+ECDHE-RSA"},
    {"ECDHE-RSA-AES256-GCM-SHA384", "TLS_ECDHE_RSA_WITH_AES_256_GCM_SHA384", "+AES-256-GCM:+ECDHE-RSA"},
    {"ECDHE-RSA-CHACHA20-POLY1305", "TLS_ECDHE_RSA_WITH_CHACHA20_POLY1305_SHA256", "+CHACHA20-POLY1305:+ECDHE-RSA"},
    {"ECDHE-ECDSA-AES128-GCM-SHA256", "TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256", "+AES-128-GCM:+ECDHE-ECDSA"},
    {"ECDHE-ECDSA-AES256-GCM-SHA384", "TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384", "+AES-256-GCM:+ECDHE-ECDSA"},
    {"X25519", "X25519", "+GROUP-X25519"},
    {"P-256", "SECP256R1", "+GROUP-SECP256R1"},
    {"P-384", "SECP384R1", "+GROUP-SECP384R1"},
    {"X25519MLKEM768", "X25519-MLKEM768", "+GROUP-X25519-MLKEM768"},
};
enum { NAMES = sizeof names / sizeof *names };

/* NULL when this driver does not know the name. */
static const char *words_of(const char *openssl)
{
    for (int i = 0; i < NAMES; i++)
        if (!strcasecmp(names[i].openssl, openssl))
            return names[i].words;
    return NULL;
}

const char *openssl_name(const char *gnutls)
{
    for (int i = 0; gnutls && i < NAMES; i++)
        if (!strcmp(names[i].gnutls, gnutls))
            return names[i].openssl;
    return gnutls;
}

/* The role's groups as words, each with a colon before; false when this driver does not know one of them. */
static bool group_words(char *words, size_t room, enum role role, const struct suite *suite)
{
    char name[GROUP_NAME_BYTES];
    size_t length = 0;
    *words = 0;
    for (const char *list = role_groups(role, suite); list;) {
        list = group_next(list, name);
        if (!words_of(name) || length + strlen(words_of(name)) + 2 > room)
            return false;
        length += (size_t)snprintf(words + length, room - length, ":%s", words_of(name));
    }
    return true;
}

const char *priority_new(gnutls_priority_t *priority, enum role role, const struct suite *suite)
{
    const char *cipher = words_of(suite->cipher);
    char groups[128];
    bool tls13 = !strcmp(suite->protocol, "TLSv1.3");
    char words[384];
    if (!tls13 && strcmp(suite->protocol, "TLSv1.2") != 0)
        return "does TLSv1.2 and TLSv1.3 only";
    if (!cipher || tls13 == !strncmp(suite->cipher, "ECDHE", 5))
        return "this driver does not know this cipher";
    /* TLS 1.2 has one list for key exchange and for the curves of certificates: P-256 is in it too, last. */
    const char *p256 = !strncmp(suite->cipher, "ECDHE-ECDSA", 11) ? ":+GROUP-SECP256R1" : "";
    if (!group_words(groups, sizeof groups, role, suite))
        return "does not have this group";
    snprintf(words, sizeof words, "NORMAL:-VERS-ALL:-CIPHER-ALL:-MAC-ALL:-KX-ALL%s:+AEAD:%s:%s%s%s",
             *groups ? ":-GROUP-ALL" : "", words_of(suite->protocol), cipher, groups, *groups ? p256 : "");
    return gnutls_priority_init(priority, words, NULL) == 0 ? NULL : "does not have this group";
}

void check(int result, const char *what)
{
    if (result < 0)
        die("%s: %s", what, gnutls_strerror(result));
}

static void chain_load(gnutls_certificate_credentials_t credentials, const struct suite *suite, const char *chain,
                       const char *key)
{
    char path[PATH_BYTES], key_path[PATH_BYTES];
    suite_path(path, suite, chain);
    suite_path(key_path, suite, key);
    check(gnutls_certificate_set_x509_key_file(credentials, path, key_path, GNUTLS_X509_FMT_PEM), path);
}

gnutls_certificate_credentials_t credentials_new(enum role role, const struct suite *suite)
{
    char path[PATH_BYTES];
    bool client = role == ROLE_CLIENT, mutual = !strcmp(suite->auth, "mutual");
    gnutls_certificate_credentials_t credentials;
    check(gnutls_certificate_allocate_credentials(&credentials), "gnutls_certificate_allocate_credentials");
    if (client || mutual) {
        suite_path(path, suite, client ? "root.pem" : "client-root.pem");
        check(gnutls_certificate_set_x509_trust_file(credentials, path, GNUTLS_X509_FMT_PEM), path);
    }
    if (!client)
        chain_load(credentials, suite, "chain.pem", "key.pem");
    else if (mutual)
        chain_load(credentials, suite, "client-chain.pem", "client-key.pem");
    return credentials;
}

void credentials_add(gnutls_certificate_credentials_t credentials, const struct suite *suite)
{
    chain_load(credentials, suite, "chain.pem", "key.pem");
}

static int keep(void *store, gnutls_datum_t id, gnutls_datum_t session)
{
    store_put(store, id.data, id.size, session.data, session.size);
    return 0;
}

static gnutls_datum_t kept(void *store, gnutls_datum_t id)
{
    size_t bytes = 0;
    unsigned char *session = store_get(store, id.data, id.size, &bytes);
    return (gnutls_datum_t){session, (unsigned)bytes}; /* GnuTLS frees it */
}

static int forget(void *store, gnutls_datum_t id)
{
    store_remove(store, id.data, id.size);
    return 0;
}

struct session_store *sessions_kept_new(void)
{
    return store_new();
}

void sessions_kept_use(gnutls_session_t session, struct session_store *store)
{
    gnutls_db_set_ptr(session, store);
    gnutls_db_set_store_function(session, keep);
    gnutls_db_set_retrieve_function(session, kept);
    gnutls_db_set_remove_function(session, forget);
}

void sessions_kept_free(struct session_store *store)
{
    store_free(store);
}
