/* Two processes in one lockstep: a byte each way over a stream socket says that both have come this far. A socket, not
 * words in the wires' memfd: when a process ends, however it ends, the kernel closes its end, and the other reads that
 * at once. Words in memory would need a time limit, which is too short on a busy machine or too long on any other. */
#define _GNU_SOURCE
#include "core.h"

#include <errno.h>
#include <inttypes.h>
#include <poll.h>
#include <string.h>
#include <sys/socket.h>

static bool alone(void)
{
    return run.holds[ROLE_CLIENT] && run.holds[ROLE_SERVER];
}

static const char *peer(void)
{
    return run.holds[ROLE_CLIENT] ? "server" : "client";
}

_Noreturn static void peer_ended(void)
{
    die("the %s's process has ended", peer());
}

/* All of it was sent or received, or the run ends here. */
static void must(ssize_t done, size_t size)
{
    if (done < 0 && errno != EPIPE && errno != ECONNRESET)
        die("barrier=%d: %s", run.barrier_fd, strerror(errno));
    if (done != (ssize_t)size)
        peer_ended();
}

static void swap(const void *mine, void *theirs, size_t size)
{
    must(send(run.barrier_fd, mine, size, MSG_NOSIGNAL), size);
    must(recv(run.barrier_fd, theirs, size, MSG_WAITALL), size);
}

static void same(const char *key, uint64_t mine, uint64_t theirs)
{
    if (mine != theirs)
        die("the %s's process was started with %s=%" PRIu64 ", this one with %s=%" PRIu64, peer(), key, theirs, key,
            mine);
}

/* The first meeting. Under other arguments the two would part somewhere later, and neither could say why. */
void peer_must_agree(void)
{
    struct {
        uint64_t sessions, window, threads, client;
    } mine = {run.sessions, run.window, run.threads, run.holds[ROLE_CLIENT]}, theirs;
    if (alone())
        return;
    swap(&mine, &theirs, sizeof mine);
    if (mine.client == theirs.client)
        die("the other process was started with role=%s too", mine.client ? "client" : "server");
    same("sessions", mine.sessions, theirs.sessions);
    same("window", mine.window, theirs.window);
    same("threads", mine.threads, theirs.threads);
}

bool meet(enum role role, bool value)
{
    unsigned char mine = value, theirs;
    if (alone())
        return value;
    swap(&mine, &theirs, 1);
    return run.holds[role] ? value : theirs;
}

void peer_must_live(void)
{
    struct pollfd peer = {.fd = run.barrier_fd, .events = POLLRDHUP};
    if (!alone() && poll(&peer, 1, 0) == 1 && peer.revents & (POLLRDHUP | POLLHUP))
        peer_ended();
}
