/* The null stack with one pair that is not like the others: what a sites run must find. ODD in the environment says how
 * it differs, ODD_PAIR which it is; of "temporary later", after how many first steps of sessions. */
#include "../../harness-c/drivers/null.c"

#include <stdint.h>

static bool odd_is(const char *what)
{
    const char *odd = getenv("ODD");
    return odd && !strcmp(odd, what);
}

/* Sessions are made client, server, client, server, ... after the two of the warm-up. */
static bool is_odd_pair(void)
{
    static unsigned long calls;
    const char *pair = getenv("ODD_PAIR");
    return pair && calls++ / 2 == strtoul(pair, NULL, 10) + 1;
}

/* Where every session's block is allocated, the odd one's too. */
__attribute__((noinline)) static void allocate(struct session *session, size_t size)
{
    free(session->first);
    session->first = malloc(size);
    if (!session->first)
        die("out of memory");
}

__attribute__((noinline)) static void allocate_for_another(struct session *session, size_t size)
{
    allocate(session, size);
}

/* As code that was built with -fomit-frame-pointer may: the register that others keep their frame in has an address of
 * the stack, and what lies there is another in each session, and no code. */
__attribute__((noinline, optimize("omit-frame-pointer"))) static void allocate_without_frame(struct session *session)
{
    static uintptr_t sessions;
    uintptr_t words[2] = {0, ++sessions};
    register uintptr_t *frame __asm__("rbp") = words;
    free(session->first);
    __asm__ volatile("" : "+r"(frame)::"memory");
    session->first = malloc(FIRST_BYTES);
    __asm__ volatile("" : "+r"(frame)::"memory");
}

/* Writes at a multiple of 2,048, the second but one below, as assembler that aligns its tables does. */
__attribute__((noinline)) static void write_aligned(void)
{
    unsigned char area[8192];
    uintptr_t end = (uintptr_t)(area + sizeof area);
    *(volatile unsigned char *)((end - 4096) & ~(uintptr_t)2047) = 1;
}

/* Two blocks that no phase's end sees: one of 7 bytes, which becomes one of 70. */
__attribute__((noinline)) static void allocate_for_a_moment(void)
{
    void *block = malloc(7);
    void *larger = realloc(block, 70);
    if (!larger)
        die("out of memory");
    free(larger);
}

static void *odd_session_new(void *context, struct wire *wire)
{
    struct session *session = driver.session_new(context, wire);
    if (odd_is("aligns"))
        write_aligned();
    if (odd_is("without frame")) {
        allocate_without_frame(session);
        return session;
    }
    bool odd = is_odd_pair();
    size_t more = !odd ? 0 : odd_is("16 bytes") ? 16 : odd_is("17 bytes") ? 17 : 0;
    (odd && odd_is("caller") ? allocate_for_another : allocate)(session, FIRST_BYTES + more);
    return session;
}

/* A block more, once, freed with the session: `unused` of null's session has room for its address. */
static bool odd_handshake(void *opaque)
{
    struct session *session = opaque;
    static unsigned long first_steps;
    const char *pair = getenv("ODD_PAIR");
    bool first = session->role == ROLE_CLIENT && session->step == 0;
    if (first && first_steps++ == strtoul(pair ? pair : "0", NULL, 10) + 1 && odd_is("block"))
        session->unused = (unsigned long)malloc(1);
    static unsigned long steps;
    bool later = session->step == 0 && odd_is("temporary later") && steps++ >= strtoul(pair ? pair : "0", NULL, 10);
    if (later || (session->step == 0 && odd_is("temporary")))
        allocate_for_a_moment();
    return driver.handshake(session);
}

static void odd_session_free(void *session)
{
    free((void *)((struct session *)session)->unused);
    driver.session_free(session);
}

int main(int argc, char **argv)
{
    struct driver odd = driver;
    odd.session_new = odd_session_new;
    odd.handshake = odd_handshake;
    odd.session_free = odd_session_free;
    return memtest_main(argc, argv, &odd);
}
