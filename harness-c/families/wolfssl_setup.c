/* What wolfSSL is told before its first session: what to offer, and whom to trust. Under the GPL, as the library is. */
#include "wolfssl_setup.h"
#include "group_names.h"

#include <string.h>

#include <wolfssl/error-ssl.h>

void check(int result, const char *what)
{
    char reason[WOLFSSL_MAX_ERROR_SZ];
    if (result == WOLFSSL_SUCCESS)
        return;
    wolfSSL_ERR_error_string_n(result, reason, sizeof reason);
    die("%s: %s", what, result < 0 ? reason : "failed");
}

bool is_tls13(const struct suite *suite)
{
    return !strcmp(suite->protocol, "TLSv1.3");
}

WOLFSSL_METHOD *method(enum role role, const struct suite *suite)
{
    if (is_tls13(suite))
        return role == ROLE_CLIENT ? wolfTLSv1_3_client_method() : wolfTLSv1_3_server_method();
    return role == ROLE_CLIENT ? wolfTLSv1_2_client_method() : wolfTLSv1_2_server_method();
}

static int group_number(const char *name)
{
    static const struct {
        const char *name;
        int number;
    } groups[] = {
        {"X25519", WOLFSSL_ECC_X25519},
        {"P-256", WOLFSSL_ECC_SECP256R1},
        {"P-384", WOLFSSL_ECC_SECP384R1},
#ifdef WOLFSSL_HAVE_MLKEM /* not by default before 5.9 */
        {"X25519MLKEM768", WOLFSSL_X25519MLKEM768},
#endif
    };
    for (size_t i = 0; i < sizeof groups / sizeof *groups; i++)
        if (!strcasecmp(groups[i].name, name))
            return groups[i].number;
    return 0;
}

/* Just the suite's. But TLS 1.2 has one list for key exchange and for the curves of certificates, and other stacks'
 * servers send a P-256 chain only where P-256 is in it too: last, and what was negotiated is checked. */
static bool groups_set(WOLFSSL_CTX *ctx, enum role role, const struct suite *suite)
{
    enum { MOST = 8 };
    char name[GROUP_NAME_BYTES];
    int groups[MOST + 1], count = 0;
    bool p256 = !is_tls13(suite) && strstr(suite->cipher, "ECDSA");
    const char *list = role_groups(role, suite);
    if (!list)
        return true;
    while (list && count < MOST) {
        list = group_next(list, name);
        groups[count] = group_number(name);
        p256 &= groups[count] != WOLFSSL_ECC_SECP256R1;
        if (!groups[count++])
            return false;
    }
    if (p256)
        groups[count++] = WOLFSSL_ECC_SECP256R1;
    return !list && wolfSSL_CTX_set_groups(ctx, groups, count) == WOLFSSL_SUCCESS;
}

const char *configure(WOLFSSL_CTX *ctx, enum role role, const struct suite *suite)
{
    if (wolfSSL_CTX_set_cipher_list(ctx, suite->cipher) != WOLFSSL_SUCCESS)
        return "does not have this cipher";
    return groups_set(ctx, role, suite) ? NULL : "does not have this group";
}

#ifdef HAVE_SESSION_TICKET
const char *tickets_lacking(const struct suite *suite)
{
    if (suite->store && is_tls13(suite))
        return "keeps no sessions in TLSv1.3: it resumes by stateless tickets only";
    return suite->tickets > 1 ? "issues one ticket at most" : NULL;
}

static _Atomic size_t tickets;

static int ticket_count(WOLFSSL *ssl, const unsigned char *ticket, int size, void *unused)
{
    (void)ssl, (void)ticket, (void)unused;
    tickets += size > 0;
    return 0;
}

void tickets_count(WOLFSSL *ssl)
{
    check(wolfSSL_set_SessionTicket_cb(ssl, ticket_count, NULL), "wolfSSL_set_SessionTicket_cb");
}

size_t tickets_told(void)
{
    return tickets;
}

/* A server issues one unless it is told not to; a client takes them in TLS 1.2 only when it is told to. */
void tickets_set(WOLFSSL_CTX *ctx, enum role role, const struct suite *suite)
{
    if (role == ROLE_CLIENT && suite->tickets > 0)
        check(wolfSSL_CTX_UseSessionTicket(ctx), "wolfSSL_CTX_UseSessionTicket");
    if (role == ROLE_SERVER && suite->tickets == 0 && is_tls13(suite) && wolfSSL_CTX_no_ticket_TLSv13(ctx) != 0)
        die("wolfSSL_CTX_no_ticket_TLSv13: failed");
    if (role == ROLE_SERVER && suite->tickets == 0 && !is_tls13(suite))
        check(wolfSSL_CTX_NoTicketTLSv12(ctx), "wolfSSL_CTX_NoTicketTLSv12");
}
#else
const char *tickets_lacking(const struct suite *suite)
{
    if (suite->tickets > 0)
        return "does not have tickets as its own defaults build it";
    return suite->store && is_tls13(suite) ? "keeps no sessions in TLSv1.3" : NULL;
}

void tickets_set(WOLFSSL_CTX *ctx, enum role role, const struct suite *suite)
{
    (void)ctx, (void)role, (void)suite;
}

void tickets_count(WOLFSSL *ssl)
{
    (void)ssl;
}

size_t tickets_told(void)
{
    return 0;
}
#endif

static void chain_load(WOLFSSL_CTX *ctx, const struct suite *suite, const char *chain, const char *key)
{
    char path[PATH_BYTES];
    check(wolfSSL_CTX_use_certificate_chain_file(ctx, suite_path(path, suite, chain)), path);
    check(wolfSSL_CTX_use_PrivateKey_file(ctx, suite_path(path, suite, key), WOLFSSL_FILETYPE_PEM), path);
}

static void root_load(WOLFSSL_CTX *ctx, const struct suite *suite, const char *name, int verify)
{
    char path[PATH_BYTES];
    check(wolfSSL_CTX_load_verify_locations(ctx, suite_path(path, suite, name), NULL), path);
    wolfSSL_CTX_set_verify(ctx, verify, NULL);
}

void credentials_load(WOLFSSL_CTX *ctx, enum role role, const struct suite *suite)
{
    bool client = role == ROLE_CLIENT, mutual = !strcmp(suite->auth, "mutual");
    if (client)
        root_load(ctx, suite, "root.pem", WOLFSSL_VERIFY_PEER);
    else if (mutual)
        root_load(ctx, suite, "client-root.pem", WOLFSSL_VERIFY_PEER | WOLFSSL_VERIFY_FAIL_IF_NO_PEER_CERT);
    else
        wolfSSL_CTX_set_verify(ctx, WOLFSSL_VERIFY_NONE, NULL);
    if (!client)
        chain_load(ctx, suite, "chain.pem", "key.pem");
    else if (mutual)
        chain_load(ctx, suite, "client-chain.pem", "client-key.pem");
}
