/* What s2n-tls is told before its first session: policies, where memory comes from, and whom to trust. */
#include "s2n_setup.h"
#include "certs_kind.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

/* s2n offers what a named security policy has, all of it, and a server chooses by its own order. These are the policies
 * that have a suite for both ends' first choice with the fewest ciphers and groups beside it. So its hellos are larger
 * than those of a stack that offers just one; what came out is checked as everywhere. */
static const struct policies {
    const char *protocol, *cipher, *group, *of[2]; /* by role */
} known[] = {
    /* client: 8 ciphers and 4 groups, no TLS 1.3; server: 9 and 3, AES-128 and X25519 first */
    {"TLSv1.2", "ECDHE-RSA-AES128-GCM-SHA256", "X25519", {"20240501", "CloudFront-TLS-1-2-2021"}},
    /* client: 8 and 4, no TLS 1.3; server: 13 and 3, AES-256 and X25519 first */
    {"TLSv1.2", "ECDHE-RSA-AES256-GCM-SHA384", "X25519", {"20240501", "KMS-TLS-1-2-2023-06"}},
    /* client: 5 and 2, with TLS 1.3; server: 7 and 4, without it */
    {"TLSv1.2", "ECDHE-ECDSA-AES256-GCM-SHA384", "X25519", {"TLS12_20261021_1", "test_all_ecdsa"}},
    /* client: 3 and 3, TLS 1.3 only, as the server of AES-128; server of AES-256: 12 and 3, AES-256 first */
    {"TLSv1.3", "TLS_AES_128_GCM_SHA256", "X25519", {"CloudFront-TLS-1-3-2025-no-pq", "CloudFront-TLS-1-3-2025-no-pq"}},
    {"TLSv1.3", "TLS_AES_256_GCM_SHA384", "X25519", {"CloudFront-TLS-1-3-2025-no-pq", "20190801"}},
    /* client: 3 and 5, with a key share each of X25519MLKEM768 and X25519; server of AES-256: 12 and 5 */
    {"TLSv1.3", "TLS_AES_128_GCM_SHA256", "X25519MLKEM768", {"CloudFront-TLS-1-3-2025", "CloudFront-TLS-1-3-2025"}},
    {"TLSv1.3", "TLS_AES_256_GCM_SHA384", "X25519MLKEM768", {"CloudFront-TLS-1-3-2025", "PQ-TLS-1-2-2024-10-09"}},
    {.protocol = NULL},
};

/* The same where certificates are of ML-DSA, which the policies above have not. None of those that have has AES-256
 * first. With X25519 first the client's is one of all that the library has. */
static const struct policies known_mldsa[] = {
    {"TLSv1.3", "TLS_AES_128_GCM_SHA256", "X25519", {"test_all_tls13", "20250721"}},
    {"TLSv1.3", "TLS_AES_128_GCM_SHA256", "X25519MLKEM768", {"20250721", "20250721"}},
    {.protocol = NULL},
};

const char *policy_for(const struct suite *suite, enum role role)
{
    for (const struct policies *one = certs_are_mldsa(suite) ? known_mldsa : known; one->protocol; one++)
        if (!strcmp(one->protocol, suite->protocol) && !strcasecmp(one->cipher, suite->cipher) &&
            !strcasecmp(one->group, suite->group))
            return one->of[role];
    return NULL;
}

#ifdef OWN_ALLOCATOR

static bool memory_set(void)
{
    return true;
}

#else /* malloc for all blocks, as where the environment has S2N_DONT_MLOCK */

static int memory_ready(void)
{
    return S2N_SUCCESS;
}

static int memory_new(void **bytes, uint32_t size, uint32_t *allocated)
{
    *bytes = malloc(size);
    *allocated = size;
    return *bytes ? S2N_SUCCESS : S2N_FAILURE;
}

static int memory_free(void *bytes, uint32_t size)
{
    (void)size;
    free(bytes);
    return S2N_SUCCESS;
}

static bool memory_set(void)
{
    return s2n_mem_set_callbacks(memory_ready, memory_ready, memory_new, memory_free) == S2N_SUCCESS;
}

#endif

bool s2n_setup(void)
{
    static bool done; /* by the server's context, which is made before there are threads, and then only read */
    if (!done)
        done = memory_set() && s2n_init() == S2N_SUCCESS;
    return done;
}

void check(bool done, const char *what)
{
    if (!done)
        die("%s: %s", what, s2n_strerror(s2n_errno, "EN"));
}

/* Whole, with a zero behind it. */
static char *file_new(const struct suite *suite, const char *name)
{
    char path[PATH_BYTES], *text = NULL;
    long size = 0;
    suite_path(path, suite, name);
    errno = 0;
    FILE *file = fopen(path, "r");
    if (file && fseek(file, 0, SEEK_END) == 0 && (size = ftell(file)) > 0 && fseek(file, 0, SEEK_SET) == 0)
        text = calloc(1, (size_t)size + 1);
    if (!text || fread(text, 1, (size_t)size, file) != (size_t)size)
        die("%s: %s", path, errno ? strerror(errno) : "is empty");
    fclose(file);
    return text;
}

static void root_load(struct s2n_config *config, const struct suite *suite, const char *name)
{
    char *root = file_new(suite, name);
    check(s2n_config_add_pem_to_trust_store(config, root) == S2N_SUCCESS, name);
    free(root);
}

static struct s2n_cert_chain_and_key *chain_load(struct s2n_config *config, const struct suite *suite,
                                                 const char *chain_name, const char *key_name)
{
    char *chain = file_new(suite, chain_name), *key = file_new(suite, key_name);
    struct s2n_cert_chain_and_key *own = s2n_cert_chain_and_key_new();
    check(own && s2n_cert_chain_and_key_load_pem(own, chain, key) == S2N_SUCCESS &&
              s2n_config_add_cert_chain_and_key_to_store(config, own) == S2N_SUCCESS,
          chain_name);
    free(chain);
    free(key);
    return own;
}

struct s2n_cert_chain_and_key *chain_add(struct s2n_config *config, const struct suite *suite,
                                         struct s2n_cert_chain_and_key *chains)
{
    struct s2n_cert_chain_and_key *own = chain_load(config, suite, "chain.pem", "key.pem");
    check(s2n_cert_chain_and_key_set_ctx(own, chains) == S2N_SUCCESS, "s2n_cert_chain_and_key_set_ctx");
    return own;
}

void chains_free(struct s2n_cert_chain_and_key *chains)
{
    for (struct s2n_cert_chain_and_key *next; chains; chains = next) {
        next = s2n_cert_chain_and_key_get_ctx(chains);
        s2n_cert_chain_and_key_free(chains);
    }
}

/* Without it a server would compare a client's names with a host that it does not have, and refuse. */
static uint8_t any_client(const char *name, size_t bytes, void *nothing)
{
    (void)name, (void)bytes, (void)nothing;
    return 1;
}

struct s2n_cert_chain_and_key *credentials_load(struct s2n_config *config, enum role role, const struct suite *suite)
{
    struct s2n_cert_chain_and_key *own = NULL;
    bool client = role == ROLE_CLIENT, mutual = !strcmp(suite->auth, "mutual");
    if (client || mutual)
        root_load(config, suite, client ? "root.pem" : "client-root.pem");
    if (!client)
        own = chain_load(config, suite, "chain.pem", "key.pem");
    else if (mutual)
        own = chain_load(config, suite, "client-chain.pem", "client-key.pem");
    if (mutual)
        check(s2n_config_set_client_auth_type(config, S2N_CERT_AUTH_REQUIRED) == S2N_SUCCESS &&
                  (client || s2n_config_set_verify_host_callback(config, any_client, NULL) == S2N_SUCCESS),
              "mutual authentication");
    return own;
}
