/* Between the files of the heap meter: what a block carries, and what is done with it. */
#ifndef MEMTEST_HEAPMETER_BLOCK_H
#define MEMTEST_HEAPMETER_BLOCK_H

#include "heapmeter.h"

#include <stdbool.h>
#include <stddef.h>

#define SITE_BITS 18

/* A header begins with a magic number, then the generation of the block: how many forks lie between the first program
 * and the process that requested the block. A block of another generation than the process's own was inherited. */
#define SIZE_BITS 44
#define GENERATION (UINT64_C(1) << SIZE_BITS)
#define GENERATIONS 63
#define MAGIC (UINT64_C(0xb70c0) << SIZE_BITS)
#define MAGIC_MASK (UINT64_C(0xfffc0) << SIZE_BITS)

/* Lies before every block. `site` is 0 but in sites mode: there, of the chosen pair, a number from 1 in the list of
 * sites; of any other pair a hash of where it was allocated. */
struct header {
    uint64_t head; /* magic number, generation, size */
    uint32_t pair; /* of what is untagged: how often the process had forked before */
    uint32_t role : 3, phase : 5, site : SITE_BITS;
    uint32_t lead_log2 : 6; /* the block of the next allocator starts 1 << lead_log2 before the user's */
};
_Static_assert(sizeof(struct header) == 16, "keeps malloc's alignment");
_Static_assert(HEAP_ROLES <= 1 << 3 && HEAPMETER_PHASES <= 1 << 5, "fit the header");

static inline uint64_t block_size(const struct header *header)
{
    return header->head & (GENERATION - 1);
}

/* Of glibc 2.32 and later; weak, since a wheel's meter runs under older ones too. */
extern char __libc_single_threaded __attribute__((weak));

/* A locked add costs more than the rest of the meter, and one thread needs none. */
static inline uint64_t add(uint64_t *counter, uint64_t by)
{
    if (!&__libc_single_threaded || !__libc_single_threaded)
        return __atomic_add_fetch(counter, by, __ATOMIC_RELAXED);
    uint64_t sum = __atomic_load_n(counter, __ATOMIC_RELAXED) + by;
    __atomic_store_n(counter, sum, __ATOMIC_RELAXED);
    return sum;
}

/* heapmeter_next.c: the allocator that is next in line. Until it is known, blocks are of the bootstrap. */
extern struct next {
    void *(*malloc)(size_t);
    void *(*calloc)(size_t, size_t);
    void *(*realloc)(void *, size_t);
    int (*posix_memalign)(void **, size_t, size_t);
    size_t (*usable_size)(void *);
    void (*free)(void *);
} next;
bool next_found(void);
bool is_bootstrap(const void *block);
void *bootstrap_new(size_t size);

/* heapmeter_page.c */
extern uint32_t forks __attribute__((visibility("hidden")));    /* of this process, so far */
extern uint64_t own_head __attribute__((visibility("hidden"))); /* of the blocks that this process requests */
void page_start(void);
void page_inherited_out(uint64_t size);  /* a block that the parent requested is freed */
void page_inherited_back(uint64_t size); /* and live again */
void page_forked_out(uint64_t size);     /* a block that was there at a fork of this process is freed */
void page_forked_back(uint64_t size);    /* and live again */
void page_mapped(uint64_t private_bytes, uint64_t shared_bytes); /* what the program has mapped by itself */
void page_mapped_nothing(void);                                  /* what it mapped so far was not its own */
void page_mapped_unknown(void);                                  /* something of that could not be followed */
uint8_t page_count_in(uint8_t role, uint64_t size);              /* returns the phase, for the block's header */
void page_count_out(uint8_t role, uint8_t phase, uint64_t size);
void *page_count_failure(void);                                   /* NULL, with errno as it is for that */
void page_count_back(uint8_t role, uint8_t phase, uint64_t size); /* live again, not allocated again */

enum library { LIBRARY_DEEPBIND, LIBRARY_NAMESPACE };
void page_note_library(enum library); /* that the program loads one in this way */

/* heapmeter_map.c */
void maps_start(void);
bool maps_fork_prepare(void);
void maps_fork_done(bool entered);

/* heapmeter_dlopen.c */
void loader_find(void);

/* heapmeter_exec.c */
void programs_open(void); /* the list that the environment names, if any */
bool programs_listed(void);
uint64_t programs_list(void); /* its inode, or 0 */
void programs_note(uint32_t kind, uint32_t pid, uint32_t flags, const char *path);
void programs_note_start(void);
bool malloc_is_foreign(void); /* and so passes the meter by */

/* heapmeter_sites.c. A frame is where a function keeps its caller's frame pointer, and after that its return address;
 * `top` is the frame of the driver call, above which nobody looks. */
extern bool sites_on;
void site_in(struct header *, const uintptr_t *frame, const uintptr_t *top); /* finds the site, and counts the block */
void site_count(const struct header *, int by);                              /* 1: live; -1: no longer */
void sites_phase(void);                                                      /* a phase begins, and peaks with it */

#endif
