/* A TLS server of one thread, for tools/dev/check_census.py: it is linked to any build of OpenSSL.
 *
 * census_server PORT CHAIN KEY: it makes a session as soon as a peer connects, completes handshakes as their bytes
 * arrive, reads, and frees a session when its peer closes. It ends by a signal. */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <openssl/ssl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

enum { MOST = 4096, BACKLOG = 1024 };
static struct pollfd files[MOST]; /* the listener, then one a session */
static SSL *sessions[MOST];

static void fail(const char *what)
{
    fprintf(stderr, "census_server: %s\n", what);
    exit(1);
}

static int listen_on(int port)
{
    struct sockaddr_in at = {.sin_family = AF_INET, .sin_port = htons(port), .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    int one = 1, listener = socket(AF_INET, SOCK_STREAM, 0);
    setsockopt(listener, SOL_SOCKET, SO_REUSEADDR, &one, sizeof one);
    if (bind(listener, (struct sockaddr *)&at, sizeof at) || listen(listener, BACKLOG))
        fail("the port is taken");
    return listener;
}

static void accept_one(SSL_CTX *context, int number)
{
    int connection = accept4(files[0].fd, NULL, NULL, SOCK_NONBLOCK);
    if (connection < 0)
        fail("accept");
    files[number] = (struct pollfd){.fd = connection, .events = POLLIN};
    sessions[number] = SSL_new(context);
    SSL_set_fd(sessions[number], connection);
    SSL_set_accept_state(sessions[number]);
}

/* Return whether the session goes on. */
static int read_all(SSL *session)
{
    char content[4096];
    int got;
    while ((got = SSL_read(session, content, sizeof content)) > 0)
        ;
    return SSL_get_error(session, got) == SSL_ERROR_WANT_READ;
}

static void close_one(int number, int last)
{
    SSL_free(sessions[number]);
    close(files[number].fd);
    files[number] = files[last];
    sessions[number] = sessions[last];
}

int main(int argc, char **argv)
{
    SSL_CTX *context = SSL_CTX_new(TLS_server_method());
    int count = 1;
    if (argc != 4)
        fail("usage: census_server PORT CHAIN KEY");
    if (SSL_CTX_use_certificate_chain_file(context, argv[2]) != 1 ||
        SSL_CTX_use_PrivateKey_file(context, argv[3], SSL_FILETYPE_PEM) != 1)
        fail("certificate or key");
    files[0] = (struct pollfd){.fd = listen_on(atoi(argv[1])), .events = POLLIN};
    signal(SIGPIPE, SIG_IGN); /* a peer that has closed */
    while (poll(files, count, -1) >= 0) {
        for (int i = count - 1; i > 0; i--)
            if (files[i].revents && !read_all(sessions[i])) {
                count--;
                close_one(i, count);
            }
        if (files[0].revents && count < MOST)
            accept_one(context, count++);
    }
    return 1;
}
