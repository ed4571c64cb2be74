/* Two processes in one lockstep: a byte each way over a stream socket says that both have come this far. A socket, not
 * words in the wires' memfd: when a process ends, however it ends, the kernel closes its end, and the other reads that
 * at once. Words in memory would need a time limit, which is too short on a busy machine or too long on any other. */
#define _GNU_SOURCE
#include "core.h"

#include <errno.h>
#include <poll.h>
#include <string.h>
#include <sys/socket.h>

static bool alone(void)
{
    return run.holds[ROLE_CLIENT] && run.holds[ROLE_SERVER];
}

_Noreturn static void peer_ended(void)
{
    die("the %s's process has ended", run.holds[ROLE_CLIENT] ? "server" : "client");
}

/* One byte was sent or received, or the run ends here. */
static void must(ssize_t done)
{
    if (done == 0 || (done < 0 && (errno == EPIPE || errno == ECONNRESET)))
        peer_ended();
    if (done < 0)
        die("barrier=%d: %s", run.barrier_fd, strerror(errno));
}

bool meet(enum role role, bool value)
{
    unsigned char mine = value, theirs;
    if (alone())
        return value;
    must(send(run.barrier_fd, &mine, 1, MSG_NOSIGNAL));
    must(recv(run.barrier_fd, &theirs, 1, 0));
    return run.holds[role] ? value : theirs;
}

void peer_must_live(void)
{
    struct pollfd peer = {.fd = run.barrier_fd, .events = POLLRDHUP};
    if (!alone() && poll(&peer, 1, 0) == 1 && peer.revents & (POLLRDHUP | POLLHUP))
        peer_ended();
}
