/* The heap meter's shared page: what libheapmeter.so counts, readable from outside as /dev/shm/heapmeter.PID.
 * Requested bytes and blocks, native endian, updated with relaxed atomics. Layout in docs/records.md. */
#ifndef MEMTEST_HEAPMETER_H
#define MEMTEST_HEAPMETER_H

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
    uint64_t peak_bytes, peak_blocks; /* most bytes live since the phase began, and the blocks at that moment */
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
    char program[20];                       /* its name without folders, NUL-ended */
    struct {
        uint64_t live_bytes, live_blocks, cumulative_bytes, cumulative_blocks;
    } inherited; /* what the total began with: the parent's, after a fork; nothing in a program that was started */
};
_Static_assert(sizeof(struct heapmeter_page) <= 4096, "one page");

/* Found by dlsym(RTLD_DEFAULT, ...); absent when the meter is not preloaded. */
void heapmeter_role(int role, uint32_t pair); /* tags what this thread allocates from now on */
void heapmeter_phase(const char *name);       /* a phase begins: peaks start again from what is live */
const struct heapmeter_page *heapmeter_page(void);

/* Between the two files of the meter. */
void page_start(void);
uint8_t page_count_in(uint8_t role, uint64_t size); /* returns the phase, for the block's header */
void page_count_out(uint8_t role, uint8_t phase, uint64_t size);
void page_count_back(uint8_t role, uint8_t phase, uint64_t size); /* live again, not allocated again */

#endif
