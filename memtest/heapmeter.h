/* The heap meter's shared page: what libheapmeter.so counts, readable from outside as /dev/shm/heapmeter.PID.
 * Requested bytes and blocks, native endian, updated with relaxed atomics. Layout in docs/reference/records.md. */
#ifndef MEMTEST_HEAPMETER_H
#define MEMTEST_HEAPMETER_H

#include <stdbool.h>
#include <stdint.h>

#define HEAPMETER_MAGIC UINT64_C(0x3152544d50414548) /* "HEAPMTR1" */
#define HEAPMETER_PHASES 32
#define HEAPMETER_NAME 16

enum heapmeter_role {
    HEAP_HARNESS, /* and whatever nobody tagged */
    HEAP_CLIENT,
    HEAP_SERVER,
    HEAP_CLIENT_CONTEXT,
    HEAP_SERVER_CONTEXT,
    HEAP_ROLES,
    HEAP_TOTAL = HEAP_ROLES
};

struct heapmeter_count {
    uint64_t live_bytes, live_blocks;
    /* Most bytes live since the phase began, and the blocks at that moment; where threads allocate at once, the blocks
     * may be those of a neighbouring moment. */
    uint64_t peak_bytes, peak_blocks;
    uint64_t cumulative_bytes, cumulative_blocks;
};

struct heapmeter_page {
    uint64_t magic;
    uint32_t pid, phase; /* phase: index of the current one */
    struct heapmeter_count counts[HEAP_ROLES + 1];
    char phases[HEAPMETER_PHASES][HEAPMETER_NAME]; /* names in order of appearance; 0 is "start" */
    struct {
        uint64_t live_bytes, live_blocks;
    } origin[HEAP_ROLES][HEAPMETER_PHASES]; /* what is live, by role and the phase that allocated it */
    uint32_t parent;                        /* process id, as the page was made */
    char program[20];                       /* its name as it was started, without folders, NUL-ended */
    struct {
        uint64_t live_bytes, live_blocks, cumulative_bytes, cumulative_blocks;
    } inherited; /* what the total began with: the parent's, after a fork; nothing in a program that was started */
    uint64_t failures;   /* allocations that got no memory, from the next allocator or of the meter itself */
    uint32_t own_malloc; /* 1: the program's malloc is not the meter's, so its allocations are not counted here */
    uint32_t namespaces; /* libraries loaded into a namespace of their own: what they allocate is not counted here */
    uint64_t made;       /* when the page was, in nanoseconds of CLOCK_MONOTONIC */
    uint32_t deepbind;   /* libraries loaded without RTLD_DEEPBIND, which was asked for: so they are counted */
    uint32_t forks;      /* between the first program and this process: beyond 63, inherited_live lacks blocks */
    struct {
        uint64_t bytes, blocks;
    } inherited_live; /* of what is live, what was inherited at the fork and not freed since */
    struct {
        uint64_t bytes, peak_bytes, shared_bytes;
    } mapped;                /* past malloc: anonymous memory that the program mapped by itself, and may use */
    uint32_t mapped_unknown; /* calls that could not be followed: what is mapped is not exact */
    uint64_t list; /* inode of the list of programs that this one is in: while it is there, the page is read */
    struct {
        uint64_t bytes, blocks;
    } forked_out, parent_out; /* freed of the process's own that was there at a fork of it; the parent's at this fork */
};
_Static_assert(sizeof(struct heapmeter_page) <= 4096, "one page");

/* What programs note of themselves and of others, where HEAPMETER_PROGRAMS names a list to do so: tools/tls-memtest
 * heap does.
 */
#define HEAPMETER_PROGRAMS_MAGIC UINT64_C(0x3152504d50414548) /* "HEAPMPR1" */
enum heapmeter_note {
    HEAPMETER_STARTED = 1, /* a program has the meter, and a page */
    HEAPMETER_EXEC,        /* this process is about to become another program */
    HEAPMETER_EXEC_FAILED, /* it has not become one */
    HEAPMETER_SPAWNED,     /* this process was started as another program, by posix_spawn */
    HEAPMETER_NO_PAGE      /* its page could not be made: its counts are nowhere to be read */
};
#define HEAPMETER_PRELOADED 1 /* of an exec, or a spawn: LD_PRELOAD names the meter */

/* Found by dlsym(RTLD_DEFAULT, ...); absent when the meter is not preloaded. */
void heapmeter_role(int role, uint32_t pair); /* tags what this thread allocates from now on */
void heapmeter_phase(const char *name);       /* a phase begins: peaks start again from what is live */
const struct heapmeter_page *heapmeter_page(void);

/* Sites mode, for a harness: from this call on, every block of a session's or context's counts for its pair, and of
 * one pair its call stack is kept. `unwinder` is libunwind's unw_backtrace. False: no memory, or with
 * ENOSYS in errno, a glibc before 2.35. */
bool heapmeter_sites_begin(uint32_t pairs, uint32_t pair, int (*unwinder)(void **frames, int size));

#define HEAPMETER_FRAMES 128
#define HEAPMETER_SITES 65536

/* Where blocks of the chosen pair came from: of one role, in one phase, by one call stack. */
struct heapmeter_site {
    uint64_t blocks, bytes;                     /* live */
    uint64_t allocated_blocks, allocated_bytes; /* freed or not */
    uint64_t peak_blocks, peak_bytes;           /* live when the pair's session of this role held most in this phase */
    uint32_t stack;                             /* index of the first site with this call stack */
    uint32_t hash;
    uint8_t role, phase, depth;
    void *frames[HEAPMETER_FRAMES]; /* return addresses, innermost first */
};

struct heapmeter_sites {
    uint32_t pairs, pair;
    uint32_t alike, identical; /* pairs, the chosen one among them; see docs/reference/records.md */
    uint32_t count;
    bool full;              /* there were more sites than the list holds: not all blocks are counted */
    uint64_t peak_bytes[2]; /* the most that the pair's client, and its server, held since the phase began */
    struct heapmeter_site *list;
};
const struct heapmeter_sites *heapmeter_sites_read(void); /* as of now */

#endif
