/* An echo server over TLS and its client, for tools/dev/check_census.py: how long an answer takes.
 *
 * census_echo CHAIN KEY SESSIONS: the server, one thread, holds so many sessions over loopback and sends back what it
 * reads. The client, a child, prints the server's process id. Then each line on stdin is a time in seconds, for which it
 * sends 1 KiB over one session after the other and waits for the answer; it prints how long each took, in ns, as 64-bit
 * numbers behind their count. It ends with stdin. */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <openssl/ssl.h>
#include <poll.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

enum { SESSIONS_MOST = 1000, MESSAGE_BYTES = 1024, TIMES_MOST = 1 << 22 };
static struct pollfd files[SESSIONS_MOST];
static SSL *sessions[SESSIONS_MOST];
static uint64_t times[1 + TIMES_MOST]; /* their number first */

static void fail(const char *what)
{
    fprintf(stderr, "census_echo: %s\n", what);
    exit(1);
}

static uint64_t now_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec * UINT64_C(1000000000) + now.tv_nsec;
}

static void serve(SSL_CTX *context, int listener, int count)
{
    char content[MESSAGE_BYTES];
    for (int i = 0; i < count; i++) {
        files[i] = (struct pollfd){.fd = accept(listener, NULL, NULL), .events = POLLIN};
        sessions[i] = SSL_new(context);
        SSL_set_fd(sessions[i], files[i].fd);
        if (SSL_accept(sessions[i]) != 1)
            fail("a handshake failed");
    }
    for (;;) {
        poll(files, count, -1);
        for (int i = 0; i < count; i++) {
            int got = files[i].revents ? SSL_read(sessions[i], content, sizeof content) : 0;
            if (files[i].revents && (got <= 0 || SSL_write(sessions[i], content, got) != got))
                exit(0); /* the client has ended */
        }
    }
}

static void ask(SSL *session)
{
    char content[MESSAGE_BYTES] = {0};
    if (SSL_write(session, content, sizeof content) != sizeof content)
        fail("the server has ended");
    for (int done = 0; done < MESSAGE_BYTES;) {
        int got = SSL_read(session, content + done, sizeof content - done);
        if (got <= 0)
            fail("the server has ended");
        done += got;
    }
}

static void connect_all(const struct sockaddr_in *at, int count)
{
    SSL_CTX *context = SSL_CTX_new(TLS_client_method());
    for (int i = 0; i < count; i++) {
        int connection = socket(AF_INET, SOCK_STREAM, 0);
        sessions[i] = SSL_new(context);
        SSL_set_fd(sessions[i], connection);
        if (connect(connection, (const struct sockaddr *)at, sizeof *at) || SSL_connect(sessions[i]) != 1)
            fail("a handshake failed");
    }
    for (int i = 0; i < count; i++) /* once the server has accepted all */
        ask(sessions[i]);
}

static void measure(int count)
{
    double seconds;
    for (int next = 0; scanf("%lf", &seconds) == 1;) {
        uint64_t end = now_ns() + (uint64_t)(seconds * 1e9);
        times[0] = 0;
        for (uint64_t begin = now_ns(); begin < end && times[0] < TIMES_MOST; next = (next + 1) % count) {
            ask(sessions[next]);
            uint64_t done = now_ns();
            times[++times[0]] = done - begin;
            begin = done;
        }
        fwrite(times, sizeof *times, 1 + times[0], stdout);
        fflush(stdout);
    }
}

int main(int argc, char **argv)
{
    int count = argc == 4 ? atoi(argv[3]) : 0, listener = socket(AF_INET, SOCK_STREAM, 0);
    struct sockaddr_in at = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t size = sizeof at;
    if (count < 1 || count > SESSIONS_MOST)
        fail("usage: census_echo CHAIN KEY SESSIONS");
    if (bind(listener, (struct sockaddr *)&at, sizeof at) || listen(listener, SESSIONS_MOST) ||
        getsockname(listener, (struct sockaddr *)&at, &size))
        fail("it cannot listen");
    pid_t server = getpid();
    if (!fork()) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        connect_all(&at, count);
        printf("%d\n", server);
        fflush(stdout);
        measure(count);
        exit(0);
    }
    SSL_CTX *context = SSL_CTX_new(TLS_server_method());
    if (SSL_CTX_use_certificate_chain_file(context, argv[1]) != 1 ||
        SSL_CTX_use_PrivateKey_file(context, argv[2], SSL_FILETYPE_PEM) != 1)
        fail("certificate or key");
    serve(context, listener, count);
}
