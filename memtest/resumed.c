/* Sessions that are resumed: pair by pair, an earlier pair completes its handshake before the session that counts is
 * made, and is gone before the next. So a library whose clients keep their sessions in one place finds there what was
 * just put, and a ticket that is good for one handshake is offered once.
 *
 * What earlier sessions allocate is not a session's: it is counted for the contexts, and with it what stays of them: an
 * entry of the server's store, or the state that a resumed client has taken over. */
#include "core.h"

static void *earlier_client; /* of the pair whose turn it is */

static struct pairs only_pair(struct pairs pairs, size_t pair)
{
    pairs.first = pair;
    pairs.count = 1;
    return pairs;
}

static void leave(size_t pair, enum role role, void *unused)
{
    struct wire *end = wire_end(pair, role);
    (void)unused;
    if (role == ROLE_CLIENT)
        earlier_client = wire_session(end);
    else
        frames[role].session_free(wire_session(end), pair);
}

/* It may have been resumed itself, where a library offers unasked what it has. */
static void open_earlier(void *contexts[2], struct pairs one)
{
    const uint64_t tickets = tickets_received();
    frames_are_earlier(true);
    each(one, pair_session_new, contexts);
    handshake(one, unheard, unseen);
    established(one);
    each(one, leave, NULL);
    frames_are_earlier(false);
    tickets_leave_out(tickets);
}

static void session_new_resumed(size_t pair, enum role role, void *contexts)
{
    pair_session_new(pair, role, contexts);
    if (role != ROLE_CLIENT)
        return;
    client_resume(wire_session(wire_end(pair, role)), earlier_client, pair);
    frames_are_earlier(true);
    frames[role].session_free(earlier_client, pair);
    frames_are_earlier(false);
}

void sessions_new_resumed(void *contexts[2], struct pairs pairs)
{
    for (size_t pair = pairs.first; pair < pairs.first + pairs.count; pair++) {
        const struct pairs one = only_pair(pairs, pair);
        if (!pairs_have(&pairs, pair))
            continue;
        open_earlier(contexts, one);
        wires_reset(one);
        meet(ROLE_CLIENT, true); /* the other process has reset it too */
        each(one, session_new_resumed, contexts);
    }
}
