/* GnuTLS over a wire. */
#include "gnutls_wire.h"

#include <errno.h>

static _Thread_local bool wire_is_empty; /* as the last pull found it */

static ssize_t push(gnutls_transport_ptr_t wire, const void *bytes, size_t size)
{
    size_t taken = wire_write(wire, bytes, size);
    errno = EAGAIN;
    return taken ? (ssize_t)taken : -1;
}

static ssize_t pull(gnutls_transport_ptr_t wire, void *bytes, size_t size)
{
    size_t given = wire_read(wire, bytes, size);
    wire_is_empty = given == 0;
    errno = EAGAIN;
    return given ? (ssize_t)given : -1;
}

/* That something may be there: to read is the only way to know. */
static int pull_timeout(gnutls_transport_ptr_t wire, unsigned milliseconds)
{
    (void)wire, (void)milliseconds;
    return 1;
}

void transport_set(gnutls_session_t session, struct wire *wire)
{
    gnutls_transport_set_ptr(session, wire);
    gnutls_transport_set_push_function(session, push);
    gnutls_transport_set_pull_function(session, pull);
    gnutls_transport_set_pull_timeout_function(session, pull_timeout);
}

ssize_t receive(gnutls_session_t session, void *bytes, size_t size)
{
    ssize_t given;
    do {
        wire_is_empty = false;
        given = gnutls_record_recv(session, bytes, size);
    } while (given == GNUTLS_E_AGAIN && !wire_is_empty);
    return given;
}
