/* The tickets that clients received: as many as the suite asks for, or the run ends with a sentence. */
#include "core.h"

#include <string.h>

static uint64_t uncounted; /* of all that the driver tells of */

static uint64_t told(void)
{
    return run.driver->tickets ? run.driver->tickets() : 0;
}

uint64_t tickets_received(void)
{
    return told() - uncounted;
}

void tickets_begin(void)
{
    uncounted = told();
}

void tickets_leave_out(uint64_t before)
{
    uncounted += tickets_received() - before;
}

/* In TLS 1.2 there is one, and none where the server keeps the session itself. */
static uint64_t tickets_asked(void)
{
    const struct suite *suite = &run.suite;
    if (strcmp(suite->protocol, "TLSv1.2") != 0)
        return suite->tickets;
    return suite->tickets > 0 && !suite->store;
}

/* A session that was resumed may get fewer: OpenSSL then issues one, and in TLS 1.2 the old ticket can be good still.
 */
void tickets_verify(size_t clients)
{
    if (run.suite.tickets == TICKETS_LIBRARY || !run.driver->tickets || !run.holds[ROLE_CLIENT])
        return;
    const uint64_t asked = clients * tickets_asked(), received = tickets_received();
    if (received > asked || (received < asked && !run.suite.resume))
        die("clients received %zu tickets in %zu sessions, the suite asks for %zu", (size_t)received, clients,
            (size_t)asked);
}
