/* The null stack with one fault, named by FAULT in the environment: what the core, or the arithmetic of its records,
 * must catch. Without a fault it is as sound as null. */
#define _GNU_SOURCE
#include "../../harness-c/drivers/null.c"

#include <stdint.h>
#include <sys/mman.h>

enum { LEAK_BYTES = 64, PAGE_BYTES = 4096, STORE_ENTRIES = 8 };

/* What a context keeps of a session that is gone, as for its resumption: 200 bytes. */
struct state {
    struct state *next;
    unsigned char ticket[192];
};
static struct state *states[2]; /* by role */
static unsigned long entries;   /* that a store of STORE_ENTRIES has had: of 200 bytes each, the oldest goes first */
static unsigned long offered;   /* of the pair whose sessions are made: the entry that its client offers; 0: none */
static size_t tickets;          /* that clients received */
static void *volatile lost;     /* so that no allocation is optimised away */
static volatile size_t more_than_there_is = PTRDIFF_MAX;

/* Of the calling thread's pair: its client offered a session, and it is resumed. */
static _Thread_local bool resumes;

static bool fault_is(const char *name)
{
    const char *fault = getenv("FAULT");
    return fault && !strcmp(fault, name);
}

/* Of a server: how many were made before it. */
static void number_give(struct session *session)
{
    static size_t servers;
    memcpy(session->second, &servers, sizeof servers);
    servers += session->role == ROLE_SERVER;
}

static void context_gain(void *context);

/* In the session's buffer: the entry that was offered for it, until it takes its first step; then whether that was
 * there. */
static unsigned long *offer_of(struct session *session)
{
    return (unsigned long *)session->unused;
}

static bool entry_is_there(unsigned long entry)
{
    return entry > 0 && entry + STORE_ENTRIES > entries;
}

/* A buffer outside of the heap, where no heap meter sees that it is touched; `unused` is where it lies. */
static void *faulty_session_new(void *context, struct wire *wire)
{
    struct session *session = driver.session_new(context, wire);
    context_gain(context);
    unsigned char *buffer =
        mmap(NULL, PAGE_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (buffer == MAP_FAILED)
        die("out of memory");
    if (fault_is("touches more"))
        buffer[0] = 1;
    session->unused = (unsigned long)buffer;
    number_give(session);
    resumes &= session->role == ROLE_SERVER; /* the server's is made after its client's */
    if (session->role == ROLE_CLIENT)
        offered = 0;
    if (fault_is("store"))
        *offer_of(session) = offered;
    return session;
}

/* One offer of eight is missed. */
static void faulty_resume(void *session, void *from)
{
    static _Thread_local unsigned offers;
    resumes = ((struct session *)from)->step == STEPS && ((struct session *)session)->step == 0;
    offered = entries;
    if (fault_is("store"))
        *offer_of(session) = offered;
    if (fault_is("resumes nothing") || (fault_is("misses") && ++offers % 8 == 0))
        resumes = false;
}

/* Shrunk and grown again, in place: no fault of the stack's, but it finds a meter that forgets the old size. */
static void reallocate(struct session *session)
{
    session->first = realloc(session->first, FIRST_BYTES - 8);
    session->first = session->first ? realloc(session->first, FIRST_BYTES) : NULL;
    if (!session->first)
        die("out of memory");
}

static const unsigned char retry_request[] = "\x16\x03\x03\x00\x58\x02\x00\x00\x54\x03\x03"
                                             "\xcf\x21\xad\x74\xe5\x9a\x61\x11\xbe\x1d\x8c\x02\x1e\x65\xb8\x91"
                                             "\xc2\xa2\x11\x16\x7a\xbb\x8c\x5e\x07\x9e\x09\xe2\xc8\xa8\x33\x9c";
enum { RETRY_REQUEST = sizeof retry_request - 1 };

/* Whether a session of this role, before that step, has to do with it; "later": but the first, which is the warm-up's.
 */
static bool retries(const struct session *session)
{
    static unsigned sessions[2];
    if (session->step != (session->role == ROLE_CLIENT))
        return false;
    return fault_is("retries") || fault_is("almost retries") ||
           (fault_is("retries later") && sessions[session->role]++ > 0);
}

/* A server's flight begins as a HelloRetryRequest does, or almost; its client takes that off. */
static void retry(struct session *session)
{
    unsigned char bytes[RETRY_REQUEST];
    memcpy(bytes, retry_request, sizeof bytes);
    bytes[sizeof bytes - 1] ^= fault_is("almost retries");
    if (retries(session))
        (void)(session->role == ROLE_SERVER ? wire_write(session->wire, bytes, sizeof bytes)
                                            : wire_read(session->wire, bytes, sizeof bytes));
}

/* A server answers a client that has sent nothing; but for the first one that meets such a client, which is the
 * warm-up's. */
static void speak_unasked(const struct session *session)
{
    static unsigned silent_clients;
    if (session->role == ROLE_SERVER && session->step == 0 && silent_clients++ > 0)
        (void)wire_write(session->wire, "x", 1);
}

static bool faulty_handshake(void *opaque)
{
    static unsigned calls;
    struct session *session = opaque;
    const bool was_complete = session->step == STEPS;
    retry(session);
    if (fault_is("store") && session->step == 0)
        *offer_of(session) = entry_is_there(*offer_of(session));
    if (fault_is("incomplete"))
        return false;
    if (fault_is("crash"))
        abort();
    if (fault_is("reallocates"))
        reallocate(session);
    if (fault_is("goes on without memory"))
        lost = malloc(more_than_there_is);
    const bool is_complete = driver.handshake(session);
    if (fault_is("speaks unasked"))
        speak_unasked(session);
    if (is_complete && !was_complete && session->role == ROLE_CLIENT)
        tickets += fault_is("two tickets") ? 2 : fault_is("a ticket");
    return is_complete && !(fault_is("falls back") && ++calls > 2 && calls % 3 == 0);
}

static size_t faulty_tickets(void)
{
    return tickets;
}

static size_t faulty_write(void *session, const void *bytes, size_t size)
{
    if (fault_is("takes nothing"))
        return 0;
    if (fault_is("takes -1"))
        return (size_t)-1;
    return driver.write(session, bytes, fault_is("short write") ? size - 1 : size);
}

static size_t faulty_read(void *session, void *bytes, size_t size)
{
    size_t given = driver.read(session, bytes, size);
    if (fault_is("gives -1"))
        return (size_t)-1;
    if (given && fault_is("corrupt byte"))
        ((unsigned char *)bytes)[given / 2] ^= 1;
    return given && fault_is("short read") ? given - 1 : given;
}

/* The sessions of one role, but for the warm-up's, which is asked first. */
static bool is_later(enum role role)
{
    static _Atomic unsigned asked[2];
    return asked[role]++ && fault_is(role == ROLE_CLIENT ? "other group later: client" : "other group later: server");
}

/* A server's client: one for all, one each (by where the session's buffer is), or one of whom nothing is kept. */
static void peer_tell(const struct session *session, struct negotiated *result)
{
    if (fault_is("verified: one"))
        result->peer.bytes = "one", result->peer.size = 3;
    else if (fault_is("verified: each"))
        result->peer.bytes = &session->unused, result->peer.size = sizeof session->unused;
    else if (!fault_is("verified: untold"))
        return;
    result->peer_verified = true;
}

static void faulty_negotiated(void *session, struct negotiated *result)
{
    driver.negotiated(session, result);
    if (fault_is("other protocol"))
        result->protocol = "TLSv1.0";
    if (fault_is("other cipher"))
        result->cipher = "NULL-MD5";
    if (fault_is("other group") || is_later(((struct session *)session)->role))
        result->group = "P-192";
    result->resumed = fault_is("resumed") || (fault_is("store") ? *offer_of(session) : resumes);
    if (fault_is("resumed by one end") && ((struct session *)session)->role == ROLE_SERVER)
        result->resumed = false;
    result->peer_verified = fault_is("verified");
    peer_tell(session, result);
}

/* As many bytes as servers were made before this one: so the live heap tells which of them were freed. */
static void number_leak(const struct session *session)
{
    size_t number;
    memcpy(&number, session->second, sizeof number);
    lost = malloc(number);
}

static void state_keep(enum role role)
{
    struct state *state = malloc(sizeof *state);
    if (!state)
        die("out of memory");
    state->next = states[role];
    states[role] = state;
}

/* The list has the newest first. */
static void entry_put(void)
{
    struct state **at = &states[ROLE_SERVER];
    state_keep(ROLE_SERVER);
    entries++;
    for (int kept = 0; *at && kept < STORE_ENTRIES; kept++)
        at = &(*at)->next;
    free(*at);
    *at = NULL;
}

/* What is lost here is live when all are closed, and when the contexts are freed too. */
static void faulty_session_free(void *opaque)
{
    struct session *session = opaque;
    if (fault_is("leak"))
        session->first = NULL;
    if (fault_is("leak 64") || (fault_is("leak on the client") && session->role == ROLE_CLIENT))
        lost = malloc(LEAK_BYTES);
    if (fault_is("leak its number") && session->role == ROLE_SERVER)
        number_leak(session);
    if (fault_is("keeps state"))
        state_keep(session->role);
    if (fault_is("store") && session->role == ROLE_SERVER)
        entry_put();
    munmap((void *)session->unused, PAGE_BYTES);
    driver.session_free(session);
}

/* Contexts of a known size, which gain known bytes with their first session, and names of a known size. */
struct sized_context {
    enum role role; /* the first, as of null's */
    void *gained;
    unsigned char rest[984];
};
_Static_assert(sizeof(struct sized_context) == 1000, "what tests know");
static struct name {
    struct name *next;
    unsigned char certificate[296];
} * names;

static bool has_sized_contexts(void)
{
    return fault_is("sized contexts") || fault_is("loses contexts");
}

static void *known(void *memory)
{
    if (!memory)
        die("out of memory");
    return memory;
}

static void *faulty_context_new(enum role role, const struct suite *suite)
{
    if (!has_sized_contexts())
        return driver.context_new(role, suite);
    struct sized_context *context = known(calloc(1, sizeof *context));
    context->role = role;
    return context;
}

static void faulty_name_add(void *context, const char *server_name, const struct suite *suite)
{
    struct name *name = known(calloc(1, sizeof *name));
    (void)context, (void)server_name, (void)suite;
    name->next = names;
    names = name;
}

static void context_gain(void *opaque)
{
    struct sized_context *context = opaque;
    if (has_sized_contexts() && !context->gained)
        context->gained = known(malloc(50));
}

static void sized_context_free(struct sized_context *context)
{
    for (struct name *next; context->role == ROLE_SERVER && names; names = next) {
        next = names->next;
        free(names);
    }
    free(context->gained);
    if (!fault_is("loses contexts"))
        free(context);
}

static void faulty_context_free(void *context)
{
    if (has_sized_contexts()) {
        sized_context_free(context);
        return;
    }
    for (struct state **first = &states[*(enum role *)context], *next; *first; *first = next) {
        next = (*first)->next;
        free(*first);
    }
    driver.context_free(context);
}

int main(int argc, char **argv)
{
    struct driver faulty = driver;
    faulty.context_new = faulty_context_new;
    faulty.name_add = faulty_name_add;
    faulty.session_new = faulty_session_new;
    faulty.resume = faulty_resume;
    faulty.tickets = faulty_tickets;
    faulty.handshake = faulty_handshake;
    faulty.write = faulty_write;
    faulty.read = faulty_read;
    faulty.negotiated = faulty_negotiated;
    faulty.session_free = faulty_session_free;
    faulty.context_free = faulty_context_free;
    return memtest_main(argc, argv, &faulty);
}
