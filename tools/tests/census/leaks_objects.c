/* A TLS server that leaks one object with each connection but the first 20, which stay open. For tests of the census.
 *
 * leaks_objects CERTIFICATE KEY KIND: KIND is SSL, SSL_SESSION, X509, BIO, or none. Prints its port, and serves one
 * connection after the other: a handshake, a byte, and for those that do not stay the end. As in nginx, a connection has
 * a session once its first byte has arrived. It ends with stdin. */
#include <arpa/inet.h>
#include <openssl/ssl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { STAY = 20, MOST = 4096 };
static void *leaked[MOST];

static void fail(const char *what)
{
    fprintf(stderr, "leaks_objects: %s\n", what);
    exit(1);
}

static void serve(SSL_CTX *context, int connection, int number, const char *kind)
{
    SSL *ssl = SSL_new(context);
    SSL_set_fd(ssl, connection);
    if (SSL_accept(ssl) != 1 || SSL_write(ssl, "k", 1) != 1)
        fail("a handshake failed");
    if (number < STAY)
        return;
    if (!strcmp(kind, "SSL"))
        leaked[number] = ssl;
    else if (!strcmp(kind, "SSL_SESSION"))
        leaked[number] = SSL_get1_session(ssl);
    else if (!strcmp(kind, "X509"))
        leaked[number] = X509_dup(SSL_get_certificate(ssl));
    else if (!strcmp(kind, "BIO"))
        leaked[number] = BIO_new(BIO_s_mem());
    if (strcmp(kind, "SSL")) {
        SSL_set_quiet_shutdown(ssl, 1);
        SSL_shutdown(ssl); /* else its session counts as broken */
        SSL_free(ssl);
    }
    close(connection);
}

int main(int argc, char **argv)
{
    struct sockaddr_in at = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t size = sizeof at;
    int listener = socket(AF_INET, SOCK_STREAM, 0);
    SSL_CTX *context = SSL_CTX_new(TLS_server_method());
    if (argc != 4)
        fail("usage: leaks_objects CERTIFICATE KEY KIND");
    if (SSL_CTX_use_certificate_file(context, argv[1], SSL_FILETYPE_PEM) != 1 ||
        SSL_CTX_use_PrivateKey_file(context, argv[2], SSL_FILETYPE_PEM) != 1)
        fail("certificate or key");
    SSL_CTX_set_session_cache_mode(context, SSL_SESS_CACHE_OFF);
    if (bind(listener, (struct sockaddr *)&at, size) || listen(listener, 64) ||
        getsockname(listener, (struct sockaddr *)&at, &size))
        fail("a port on loopback");
    printf("{\"port\":%d}\n", ntohs(at.sin_port));
    fflush(stdout);
    static struct pollfd files[MOST]; /* the listener, stdin, and connections that have sent nothing yet */
    int count = 2, number = 0;
    files[0] = (struct pollfd){.fd = listener, .events = POLLIN};
    files[1] = (struct pollfd){.fd = STDIN_FILENO, .events = POLLIN};
    while (number < MOST && count < MOST && poll(files, count, -1) >= 0 && !files[1].revents) {
        for (int i = count - 1; i > 1; i--)
            if (files[i].revents) {
                serve(context, files[i].fd, number++, argv[3]);
                files[i] = files[--count];
            }
        if (files[0].revents)
            files[count++] = (struct pollfd){.fd = accept(listener, NULL, NULL), .events = POLLIN};
    }
    return 0;
}
