/* Who each role is, and whom it trusts. */
#include "openssl_parts.h"

static void loaded(int done, const char *path)
{
    openssl_check(done == 1, path);
}

/* The leaf with its intermediate, and its key. */
static void identity_load(SSL_CTX *ctx, const struct suite *suite, const char *chain, const char *key)
{
    char path[PATH_BYTES];
    loaded(SSL_CTX_use_certificate_chain_file(ctx, suite_path(path, suite, chain)), path);
    loaded(SSL_CTX_use_PrivateKey_file(ctx, suite_path(path, suite, key), SSL_FILETYPE_PEM), path);
    loaded(SSL_CTX_check_private_key(ctx), path);
}

/* Peers must have a chain up to this root. */
static void root_load(SSL_CTX *ctx, const struct suite *suite, const char *root)
{
    char path[PATH_BYTES];
    loaded(SSL_CTX_load_verify_locations(ctx, suite_path(path, suite, root), NULL), path);
    SSL_CTX_set_verify(ctx, SSL_VERIFY_PEER | SSL_VERIFY_FAIL_IF_NO_PEER_CERT, NULL);
}

/* A client holds the root only; a server its identity only. With auth "mutual" each has both. */
void credentials_load(SSL_CTX *ctx, enum role role, const struct suite *suite)
{
    static const unsigned char context_id[] = "memtest"; /* without one a server that verifies resumes nothing */
    const bool client = role == ROLE_CLIENT, mutual = !strcmp(suite->auth, "mutual");
    if (client || mutual)
        root_load(ctx, suite, client ? "root.pem" : "client-root.pem");
    if (!client || mutual)
        identity_load(ctx, suite, client ? "client-chain.pem" : "chain.pem", client ? "client-key.pem" : "key.pem");
    certificates_compress(ctx, role);
    if (!client && mutual)
        openssl_check(SSL_CTX_set_session_id_context(ctx, context_id, sizeof context_id - 1), "session id context");
    stapling_set(ctx, role, suite);
}
