/* One function per role and driver call, never inlined: any profiler's call stack names the role, and so does the tag
 * that the heap meter puts on each block. */
#include "core.h"
#include "heapmeter.h"
#include "sites.h"

#define TAGGED(tag, pair, type, call)                                                                                  \
    ({                                                                                                                 \
        if (heapmeter.role)                                                                                            \
            heapmeter.role(tag, pair);                                                                                 \
        type result = call;                                                                                            \
        if (heapmeter.role)                                                                                            \
            heapmeter.role(HEAP_HARNESS, 0);                                                                           \
        result;                                                                                                        \
    })

/* The sessions that are called are earlier ones, which are gone before those that count. */
static bool earlier;

void frames_are_earlier(bool are)
{
    earlier = are;
}

/* A call for a session. Painting stands here and not in a function of its own: it begins where the call's frame does.
 */
#define CALL(ROLE, pair, type, call)                                                                                   \
    ({                                                                                                                 \
        const bool wanted = !earlier && paint_wanted(pair);                                                            \
        if (wanted) {                                                                                                  \
            __asm__ volatile("" : : "r"(__builtin_alloca(paint_lead(pair, __builtin_frame_address(0)))));              \
            paint();                                                                                                   \
        }                                                                                                              \
        type returned = TAGGED(earlier ? HEAP_##ROLE##_CONTEXT : HEAP_##ROLE, earlier ? 0 : pair, type, call);         \
        if (wanted)                                                                                                    \
            paint_read(ROLE_##ROLE);                                                                                   \
        returned;                                                                                                      \
    })

/* What a driver says it took or gave. A negative result of its library's, taken for a size, is more than was asked. */
static inline size_t moved(size_t bytes, size_t most, const char *did)
{
    if (bytes > most)
        die("the driver says that it %s %zu bytes of %zu", did, bytes, most);
    return bytes;
}

#define FRAME static __attribute__((noinline))

#define FRAMES(role, ROLE)                                                                                             \
    FRAME void *role##_context_new(const struct suite *suite, size_t pair)                                             \
    {                                                                                                                  \
        return TAGGED(HEAP_##ROLE##_CONTEXT, pair, void *, run.driver->context_new(ROLE_##ROLE, suite));               \
    }                                                                                                                  \
    FRAME void *role##_session_new(void *context, struct wire *wire, size_t pair)                                      \
    {                                                                                                                  \
        return CALL(ROLE, pair, void *, run.driver->session_new(context, wire));                                       \
    }                                                                                                                  \
    FRAME bool role##_handshake(void *session, size_t pair)                                                            \
    {                                                                                                                  \
        return CALL(ROLE, pair, bool, run.driver->handshake(session));                                                 \
    }                                                                                                                  \
    FRAME size_t role##_write(void *session, size_t pair, const void *bytes, size_t size)                              \
    {                                                                                                                  \
        return moved(CALL(ROLE, pair, size_t, run.driver->write(session, bytes, size)), size, "took");                 \
    }                                                                                                                  \
    FRAME size_t role##_read(void *session, size_t pair, void *bytes, size_t size)                                     \
    {                                                                                                                  \
        return moved(CALL(ROLE, pair, size_t, run.driver->read(session, bytes, size)), size, "gave");                  \
    }                                                                                                                  \
    FRAME void role##_release(void *session, size_t pair)                                                              \
    {                                                                                                                  \
        (void)CALL(ROLE, pair, int, (run.driver->release(session), 0));                                                \
    }                                                                                                                  \
    FRAME void role##_session_free(void *session, size_t pair)                                                         \
    {                                                                                                                  \
        (void)CALL(ROLE, pair, int, (run.driver->session_free(session), 0));                                           \
    }                                                                                                                  \
    FRAME void role##_context_free(void *context)                                                                      \
    {                                                                                                                  \
        (void)TAGGED(HEAP_##ROLE##_CONTEXT, 0, int, (run.driver->context_free(context), 0));                           \
    }

FRAMES(client, CLIENT)
FRAMES(server, SERVER)

#define TABLE(role)                                                                                                    \
    {                                                                                                                  \
        .context_new = role##_context_new, .session_new = role##_session_new, .handshake = role##_handshake,           \
        .write = role##_write, .read = role##_read, .release = role##_release, .session_free = role##_session_free,    \
        .context_free = role##_context_free,                                                                           \
    }

const struct frames frames[2] = {[ROLE_CLIENT] = TABLE(client), [ROLE_SERVER] = TABLE(server)};

__attribute__((noinline)) void harness_negotiated(void *session, struct negotiated *result)
{
    run.driver->negotiated(session, result);
}

__attribute__((noinline)) void server_name_add(void *context, const char *server_name, const struct suite *suite,
                                               size_t pair)
{
    (void)TAGGED(HEAP_SERVER_CONTEXT, pair, int, (run.driver->name_add(context, server_name, suite), 0));
}

__attribute__((noinline)) void client_resume(void *session, void *from, size_t pair)
{
    (void)CALL(CLIENT, pair, int, (run.driver->resume(session, from), 0));
}

__attribute__((noinline)) void harness_seal(void *sealer, unsigned char *bytes, size_t size)
{
    run.driver->seal(sealer, bytes, size);
}
