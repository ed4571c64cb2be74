/* What a peer makes a server of OpenSSL's hold, without the core, the driver and the heap meter: the register's figures
 * against the library's own hooks for memory. A program of its own, linked with one libssl.
 *
 * usage: one_call CERTS announced|flight; prints the peak inside a call and what is held, in bytes beyond a silent
 * peer. */
#include <openssl/bio.h>
#include <openssl/crypto.h>
#include <openssl/ssl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { HEAD = 16, ROOM = 1 << 20 }; /* a block's size stands before it, as it was asked for */

static long live, highest;

static void *counted(void *block, size_t size)
{
    if (!block)
        exit(3);
    memcpy(block, &size, sizeof size);
    live += (long)size;
    highest = live > highest ? live : highest;
    return (char *)block + HEAD;
}

static size_t size_of(void *block)
{
    size_t size;
    memcpy(&size, (char *)block - HEAD, sizeof size);
    return size;
}

static void *take(size_t size, const char *file, int line)
{
    (void)file, (void)line;
    return size ? counted(malloc(HEAD + size), size) : NULL;
}

static void give(void *block, const char *file, int line)
{
    (void)file, (void)line;
    if (block) {
        live -= (long)size_of(block);
        free((char *)block - HEAD);
    }
}

/* A block that grows is the old one, then the new one, as every allocator has it that does not move both at once. */
static void *grow(void *block, size_t size, const char *file, int line)
{
    if (!block)
        return take(size, file, line);
    if (!size) {
        give(block, file, line);
        return NULL;
    }
    live -= (long)size_of(block);
    return counted(realloc((char *)block - HEAD, HEAD + size), size);
}

/* Two wires that are no memory of the library's. */
struct wire {
    size_t read, written;
    unsigned char bytes[ROOM];
};
static struct wire to_server, to_client;
struct ends {
    struct wire *in, *out;
};

static int wire_write(BIO *bio, const char *bytes, int size)
{
    struct wire *wire = ((struct ends *)BIO_get_data(bio))->out;
    if (wire->written + (size_t)size > ROOM)
        exit(4);
    memcpy(wire->bytes + wire->written, bytes, (size_t)size);
    wire->written += (size_t)size;
    return size;
}

static int wire_read(BIO *bio, char *bytes, int size)
{
    struct wire *wire = ((struct ends *)BIO_get_data(bio))->in;
    const size_t there = wire->written - wire->read, given = there < (size_t)size ? there : (size_t)size;
    BIO_clear_retry_flags(bio);
    if (!given) {
        BIO_set_retry_read(bio);
        return -1;
    }
    memcpy(bytes, wire->bytes + wire->read, given);
    wire->read += given;
    return (int)given;
}

static long wire_control(BIO *bio, int command, long number, void *pointer)
{
    (void)bio, (void)number, (void)pointer;
    return command == BIO_CTRL_FLUSH;
}

static BIO_METHOD *method;
static const char *certs;

static const char *path(const char *name)
{
    static char text[4096];
    snprintf(text, sizeof text, "%s/%s", certs, name);
    return text;
}

static void must(int done, const char *what)
{
    if (done == 1)
        return;
    fprintf(stderr, "one_call: %s\n", what);
    exit(1);
}

static SSL_CTX *context(int server, int mutual)
{
    SSL_CTX *ctx = SSL_CTX_new(server ? TLS_server_method() : TLS_client_method());
    must(SSL_CTX_set_min_proto_version(ctx, TLS1_3_VERSION), "protocol");
    must(SSL_CTX_set_ciphersuites(ctx, "TLS_AES_256_GCM_SHA384"), "cipher");
    must(SSL_CTX_set1_groups_list(ctx, "X25519"), "group");
    must(SSL_CTX_set_num_tickets(ctx, 0), "tickets");
    SSL_CTX_set_options(ctx, SSL_OP_NO_TICKET);
    SSL_CTX_set_session_cache_mode(ctx, SSL_SESS_CACHE_OFF);
    if (!server || mutual) {
        must(SSL_CTX_load_verify_locations(ctx, path(server ? "client-root.pem" : "root.pem"), NULL), "root");
        SSL_CTX_set_verify(ctx, SSL_VERIFY_PEER | SSL_VERIFY_FAIL_IF_NO_PEER_CERT, NULL);
    }
    if (server || mutual) {
        must(SSL_CTX_use_certificate_chain_file(ctx, path(server ? "chain.pem" : "client-chain.pem")), "chain");
        must(SSL_CTX_use_PrivateKey_file(ctx, path(server ? "key.pem" : "client-key.pem"), SSL_FILETYPE_PEM), "key");
    }
    return ctx;
}

static SSL *session(SSL_CTX *ctx, int server, struct ends *ends)
{
    SSL *ssl = SSL_new(ctx);
    BIO *bio = BIO_new(method);
    BIO_set_data(bio, ends);
    BIO_set_init(bio, 1);
    SSL_set_bio(ssl, bio, bio);
    (server ? SSL_set_accept_state : SSL_set_connect_state)(ssl);
    return ssl;
}

static long held, peak; /* of the server, in its own calls */

static void server_step(SSL *server)
{
    const long before = live;
    highest = live;
    SSL_do_handshake(server);
    peak = held + highest - before > peak ? held + highest - before : peak;
    held += live - before;
}

static void run(SSL_CTX *contexts[2], int announced, int tell)
{
    static struct ends at_client = {&to_client, &to_server}, at_server = {&to_server, &to_client};
    static const unsigned char eleven[] = {22, 3, 1, 0, 6, 1, 2, 1, 68, 3, 3}; /* 0x020144: 131,396 bytes follow */
    to_server.read = to_server.written = to_client.read = to_client.written = 0;
    const long before = live;
    SSL *server = session(contexts[1], 1, &at_server);
    held = live - before;
    server_step(server);
    const long silent = held;
    SSL *client = announced ? NULL : session(contexts[0], 0, &at_client);
    if (client)
        must((int)SSL_set_tlsext_host_name(client, "localhost"), "host name");
    peak = held;
    if (announced) {
        memcpy(to_server.bytes, eleven, sizeof eleven);
        to_server.written = sizeof eleven;
        server_step(server);
    }
    for (int k = 0; client && k < 2; k++) {
        SSL_do_handshake(client);
        server_step(server);
    }
    if (tell)
        printf("{\"peak\": %ld, \"held\": %ld, \"complete\": %d}\n", peak - silent, held - silent,
               SSL_is_init_finished(server));
    SSL_free(client);
    SSL_free(server);
}

int main(int argc, char **argv)
{
    if (argc != 3)
        return 2;
    must(CRYPTO_set_mem_functions(take, grow, give), "hooks");
    certs = argv[1];
    const int announced = !strcmp(argv[2], "announced");
    method = BIO_meth_new(BIO_get_new_index() | BIO_TYPE_SOURCE_SINK, "wire");
    BIO_meth_set_write(method, wire_write);
    BIO_meth_set_read(method, wire_read);
    BIO_meth_set_ctrl(method, wire_control);
    SSL_CTX *contexts[2] = {context(0, !announced), context(1, !announced)};
    run(contexts, announced, 0); /* what the library allocates once is there */
    run(contexts, announced, 1);
    return 0;
}
