/* Holds TLS sessions of a server, step by step, for the tests of the census. The clients are in a process of its own.
 *
 * holds_sessions CERTIFICATE KEY CREATED HALF_OPEN ESTABLISHED [FOREIGN_BYTES]: after each step a line on stdout with
 * the bytes of the chunks in use, as malloc counts them, without what the program has attached to the sessions; a line
 * on stdin leads to the next. The last step frees half of
 * those that are established, and all others. With FOREIGN_BYTES there are 200 blocks of this size from the beginning,
 * which are no session's. Compiled with BEFORE and BEHIND it has so many bytes around each block of the library, as
 * stunnel has; with POOL, the library's blocks are from a mapping of its own; with DIRTY, what was freed before has
 * pointers left in it that lead to blocks of the program. */
#include <malloc.h>
#include <openssl/ssl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

enum { MOST = 4096, FOREIGN = 200, BUFFER_BYTES = 3000 };
struct pair {
    SSL *server, *client;
    int server_socket, client_socket;
};
static struct pair pairs[MOST];
/* What a server has of a connection, as HAProxy does: the session leads to it, and it does not lead back. */
struct connection {
    char *buffer;
    int number;
};
static size_t attached_bytes; /* with the headers of the chunks */
static SSL_CTX *server_context;
static int to_clients[2], from_clients[2];

#ifdef BEFORE
static void *block_allocate(size_t size, const char *file, int line)
{
    char *chunk = malloc(BEFORE + size + BEHIND);
    memcpy(chunk, &file, sizeof file);
    memset(chunk + BEFORE + size, line, BEHIND);
    return chunk + BEFORE;
}

static void block_free(void *block, const char *file, int line)
{
    (void)file, (void)line;
    free(block ? (char *)block - BEFORE : NULL);
}

static void *block_resize(void *block, size_t size, const char *file, int line)
{
    if (!block)
        return block_allocate(size, file, line);
    char *chunk = realloc((char *)block - BEFORE, BEFORE + size + BEHIND);
    memset(chunk + BEFORE + size, line, BEHIND);
    return chunk + BEFORE;
}
#elif defined POOL
static void *block_allocate(size_t size, const char *file, int line)
{
    static char *pool, *end;
    (void)file, (void)line;
    size = (size + 31) & ~(size_t)15;
    if (!pool)
        end = (pool = mmap(NULL, 1 << 28, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0)) + (1 << 28);
    if (size > (size_t)(end - pool))
        abort();
    pool += size;
    memcpy(pool - size, &size, sizeof size);
    return pool - size + 16;
}

static void block_free(void *block, const char *file, int line)
{
    (void)block, (void)file, (void)line;
}

static void *block_resize(void *block, size_t size, const char *file, int line)
{
    char *other = block_allocate(size, file, line);
    size_t room = block ? *(size_t *)((char *)block - 16) - 16 : 0;
    return block ? memcpy(other, block, room < size ? room : size) : other;
}
#endif

#ifdef DIRTY
enum { KEPT = 400, KEPT_BYTES = 5000, FREED = 4000, SPARSE = 97, LARGEST = 6000 };
static void heap_dirty(void)
{
    static char *kept[KEPT], **freed[FREED];
    for (int i = 0; i < KEPT; i++)
        kept[i] = calloc(1, KEPT_BYTES);
    for (int i = 0; i < FREED; i++) {
        size_t words = (24 + (size_t)rand() % (i % 8 ? 600 : LARGEST)) / sizeof *freed[i];
        freed[i] = calloc(words, sizeof *freed[i]);
        for (size_t at = 0; at < words; at++)
            if (rand() % SPARSE == 0)
                freed[i][at] = kept[rand() % KEPT];
    }
    for (int i = 0; i < FREED; i++)
        free(freed[i]);
}
#endif

static void fail(const char *what)
{
    fprintf(stderr, "holds_sessions: %s\n", what);
    exit(1);
}

static void step_end(const char *name)
{
    struct mallinfo2 info = mallinfo2();
    char line[16];
    printf("{\"step\":\"%s\",\"in_use\":%zu}\n", name, info.uordblks + info.hblkhd - attached_bytes);
    fflush(stdout);
    if (!fgets(line, sizeof line, stdin))
        exit(0);
}

/* The clients: a byte says which, and 'h' for a hello only, 'e' for a handshake to its end. */
static void clients_run(void)
{
    SSL_CTX *context = SSL_CTX_new(TLS_client_method());
    int request[2];
    while (read(to_clients[0], request, sizeof request) == sizeof request) {
        struct pair *pair = &pairs[request[0]];
        if (!pair->client) {
            pair->client = SSL_new(context);
            SSL_set_fd(pair->client, pair->client_socket);
        }
        SSL_connect(pair->client);
        if (write(from_clients[1], request, sizeof request) < 0)
            exit(1);
    }
    exit(0);
}

static void client_act(int number)
{
    int request[2] = {number, 0};
    if (write(to_clients[1], request, sizeof request) < 0 || read(from_clients[0], request, sizeof request) < 0)
        fail("the clients have ended");
}

static void server_make(int number)
{
    pairs[number].server = SSL_new(server_context);
    if (!pairs[number].server)
        fail("SSL_new");
    struct connection *connection = malloc(sizeof *connection);
    *connection = (struct connection){calloc(1, BUFFER_BYTES), number};
    attached_bytes += malloc_usable_size(connection) + malloc_usable_size(connection->buffer) + 2 * sizeof(size_t);
    SSL_set_app_data(pairs[number].server, connection);
}

static void server_open(int number)
{
    server_make(number);
    SSL_set_fd(pairs[number].server, pairs[number].server_socket);
    client_act(number);
    if (SSL_accept(pairs[number].server) == 1)
        fail("a handshake ended early");
}

static void server_establish(int number)
{
    server_open(number);
    client_act(number);
    if (SSL_accept(pairs[number].server) != 1)
        fail("a handshake failed");
}

static void server_free(int number)
{
    struct connection *connection = SSL_get_app_data(pairs[number].server);
    attached_bytes -= malloc_usable_size(connection) + malloc_usable_size(connection->buffer) + 2 * sizeof(size_t);
    free(connection->buffer);
    free(connection);
    SSL_set_quiet_shutdown(pairs[number].server, 1);
    SSL_shutdown(pairs[number].server);
    SSL_free(pairs[number].server);
}

int main(int argc, char **argv)
{
    if (argc < 6 || argc > 7)
        fail("usage: holds_sessions CERTIFICATE KEY CREATED HALF_OPEN ESTABLISHED");
    int created = atoi(argv[3]), half_open = atoi(argv[4]), established = atoi(argv[5]);
    int count = created + half_open + established, first = created + half_open;
    setvbuf(stdin, NULL, _IONBF, 0); /* a buffer that is allocated with the first line would be of the first step */
#if defined BEFORE || defined POOL
    if (!CRYPTO_set_mem_functions(block_allocate, block_resize, block_free))
        fail("CRYPTO_set_mem_functions");
#endif
    if (count >= MOST)
        fail("too many");
    for (int i = 0; i <= count; i++) {
        int sockets[2];
        if (i < created)
            continue;
        if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, sockets))
            fail("socketpair");
        pairs[i] = (struct pair){.server_socket = sockets[0], .client_socket = sockets[1]};
    }
    if (pipe(to_clients) || pipe(from_clients))
        fail("pipe");
    if (!fork()) {
        close(to_clients[1]);
        clients_run();
    }
    close(to_clients[0]);
#ifdef DIRTY
    heap_dirty();
#endif
    server_context = SSL_CTX_new(TLS_server_method());
    if (SSL_CTX_use_certificate_file(server_context, argv[1], SSL_FILETYPE_PEM) != 1 ||
        SSL_CTX_use_PrivateKey_file(server_context, argv[2], SSL_FILETYPE_PEM) != 1)
        fail("certificate or key");
    SSL_CTX_set_session_cache_mode(server_context, SSL_SESS_CACHE_OFF);
    server_establish(count); /* what the first session makes and the library keeps is there then */
    server_free(count);
    for (int i = 0; argc == 7 && i < FOREIGN; i++)
        memset(malloc(atoi(argv[6])), i, atoi(argv[6]));
    step_end("start");
    for (int i = 0; i < created; i++)
        server_make(i);
    step_end("created");
    for (int i = created; i < first; i++)
        server_open(i);
    step_end("half-open");
    for (int i = first; i < count; i++)
        server_establish(i);
    step_end("established");
    for (int i = 0; i < count - established / 2; i++)
        server_free(i);
    step_end("closed");
    return 0;
}
