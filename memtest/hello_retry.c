/* A HelloRetryRequest is a ServerHello whose random is the SHA-256 of its name: RFC 8446, 4.1.3 and 4.1.4. It is the
 * first that a server sends, in a record of its own. */
#include "hello_retry.h"
#include "core.h"

#include <stdatomic.h>
#include <string.h>
#include <strings.h>

enum { ANY = -1 };

static const short headers[] = {22, 3, ANY, ANY, ANY, 2, ANY, ANY, ANY, 3, 3}; /* of a record; of a ServerHello */
static const unsigned char name_digest[] = {
    0xcf, 0x21, 0xad, 0x74, 0xe5, 0x9a, 0x61, 0x11, 0xbe, 0x1d, 0x8c, 0x02, 0x1e, 0x65, 0xb8, 0x91,
    0xc2, 0xa2, 0x11, 0x16, 0x7a, 0xbb, 0x8c, 0x5e, 0x07, 0x9e, 0x09, 0xe2, 0xc8, 0xa8, 0x33, 0x9c,
};
enum { HEADERS = sizeof headers / sizeof *headers };
_Static_assert(HEADERS + sizeof name_digest == RETRY_BYTES, "headers, then the random");

static bool is_of_retry(size_t at, unsigned char byte)
{
    return at < HEADERS ? headers[at] == ANY || headers[at] == byte : name_digest[at - HEADERS] == byte;
}

void retry_compare(struct retry_watch *watch, const unsigned char *bytes, size_t size)
{
    for (size_t i = 0; i < size && watch->compared < RETRY_BYTES && !watch->differs; i++, watch->compared++)
        watch->differs = !is_of_retry(watch->compared, bytes[i]);
}

/* -1: not known before the first handshake. A client has a key share of the first group that it offers, and of no other
 * that its server might choose, unless the library chooses all that it offers. */
static int expected(void)
{
    const struct suite *suite = &run.suite;
    const size_t first = strcspn(suite->client_groups, ":");
    if (!strcmp(suite->protocol, "TLSv1.2")) /* has none */
        return false;
    if (!strcmp(suite->client_groups, GROUPS_LIBRARY))
        return -1;
    return strlen(suite->group) != first || strncasecmp(suite->group, suite->client_groups, first) != 0;
}

static atomic_int all = -1; /* as the first one was that is verified */

void retry_agrees(size_t pair, enum role role, struct wire *end)
{
    const int retried = wire_retried(end), asked = expected();
    const char *said = role == ROLE_CLIENT ? "received" : "sent", *name = role == ROLE_CLIENT ? "client" : "server";
    int unknown = -1;
    atomic_compare_exchange_strong(&all, &unknown, retried);
    if (asked == false && retried)
        die("%s %zu %s a HelloRetryRequest, where the client's first group is its server's", name, pair, said);
    if (asked == true && !retried)
        die("%s %zu %s no HelloRetryRequest, where the client's first group is not its server's", name, pair, said);
    if (retried != all)
        die("%s %zu %s %s HelloRetryRequest, other than the first one", name, pair, said, retried ? "a" : "no");
}

bool handshakes_retried(void)
{
    return all == true;
}
