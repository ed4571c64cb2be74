/* The null stack with one fault, named by FAULT in the environment: what the core must catch. */
#include "../../harness-c/drivers/null.c"

static bool fault_is(const char *name)
{
    const char *fault = getenv("FAULT");
    return fault && !strcmp(fault, name);
}

static bool faulty_handshake(void *session)
{
    static unsigned calls;
    if (fault_is("incomplete"))
        return false;
    if (fault_is("crash"))
        abort();
    return driver.handshake(session) && !(fault_is("falls back") && ++calls > 2 && calls % 3 == 0);
}

static size_t faulty_write(void *session, const void *bytes, size_t size)
{
    return driver.write(session, bytes, fault_is("short write") ? size - 1 : size);
}

static size_t faulty_read(void *session, void *bytes, size_t size)
{
    size_t given = driver.read(session, bytes, size);
    if (given && fault_is("corrupt byte"))
        ((unsigned char *)bytes)[given / 2] ^= 1;
    return given && fault_is("short read") ? given - 1 : given;
}

static void faulty_negotiated(void *session, struct negotiated *result)
{
    driver.negotiated(session, result);
    if (fault_is("other protocol"))
        result->protocol = "TLSv1.0";
    if (fault_is("other cipher"))
        result->cipher = "NULL-MD5";
    if (fault_is("other group"))
        result->group = "P-192";
    result->resumed = fault_is("resumed");
    result->peer_verified = fault_is("verified");
}

/* Lost by every session: the heap is not back at `contexts` when all are closed. */
static void faulty_session_free(void *session)
{
    if (fault_is("leak"))
        ((struct session *)session)->first = NULL;
    driver.session_free(session);
}

int main(int argc, char **argv)
{
    struct driver faulty = driver;
    faulty.handshake = faulty_handshake;
    faulty.write = faulty_write;
    faulty.read = faulty_read;
    faulty.negotiated = faulty_negotiated;
    faulty.session_free = faulty_session_free;
    return memtest_main(argc, argv, &faulty);
}
