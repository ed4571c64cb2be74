/* What one more client context of the system's OpenSSL holds, counted by the library's own memory hooks: no meter of
 * this project is in it. usage: one_context STORE [shared]   (shared: all contexts have one store) */
#include "counted_openssl.h"
#include <openssl/ssl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { CONTEXTS = 20 };

/* As harness-c/families/openssl.c makes a client's. */
static SSL_CTX *context_new(const char *roots, X509_STORE *store)
{
    SSL_CTX *ctx = SSL_CTX_new(TLS_client_method());
    must(ctx && SSL_CTX_set_min_proto_version(ctx, TLS1_3_VERSION), "SSL_CTX_new");
    must(SSL_CTX_set_max_proto_version(ctx, TLS1_3_VERSION) && SSL_CTX_set1_groups_list(ctx, "X25519"), "settings");
    must(SSL_CTX_set_ciphersuites(ctx, "TLS_AES_256_GCM_SHA384"), "SSL_CTX_set_ciphersuites");
    if (store)
        SSL_CTX_set1_cert_store(ctx, store);
    else
        must(SSL_CTX_load_verify_locations(ctx, roots, NULL), roots);
    SSL_CTX_set_verify(ctx, SSL_VERIFY_PEER | SSL_VERIFY_FAIL_IF_NO_PEER_CERT, NULL);
    must(SSL_CTX_set_num_tickets(ctx, 0), "SSL_CTX_set_num_tickets");
    SSL_CTX_set_options(ctx, SSL_OP_NO_TICKET);
    SSL_CTX_set_session_cache_mode(ctx, SSL_SESS_CACHE_OFF);
    return ctx;
}

int main(int argc, char **argv)
{
    SSL_CTX *contexts[CONTEXTS];
    must(argc > 1 && CRYPTO_set_mem_functions(take, resize, drop), "one_context STORE [shared]");
    SSL_CTX *first = context_new(argv[1], NULL); /* with what the library takes once */
    X509_STORE *store = argc > 2 ? SSL_CTX_get_cert_store(first) : NULL;
    const size_t before = live;
    for (int i = 0; i < CONTEXTS; i++)
        contexts[i] = context_new(argv[1], store);
    printf("%zu\n", (live - before) / CONTEXTS);
    for (int i = 0; i < CONTEXTS; i++)
        SSL_CTX_free(contexts[i]);
    must(live == before, "freeing contexts");
    SSL_CTX_free(first);
    return 0;
}
