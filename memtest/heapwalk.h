/* heapwalk, a program that divides the anonymous memory of other processes, or of one whose core there is: what glibc's
 * malloc has in use, caches and keeps, and what is not malloc's. It loads nothing into them and does not stop them. Of
 * their memory it uses headers of chunks, links of lists and malloc's own structures only; of a core also which pages
 * hold zeros alone. Where it is asked, it also tells which blocks begin as certain objects, which lead to which, and
 * what they have in fields. */
#ifndef MEMTEST_HEAPWALK_H
#define MEMTEST_HEAPWALK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#define PAGE_BYTES UINT64_C(4096)
#define COPY_PAGES_MOST 64      /* at once */
#define CHUNK_FLAGS UINT64_C(7) /* the lowest bits of a chunk's size */
#define CHUNK_BEFORE_IN_USE UINT64_C(1)
#define CHUNK_MMAPPED UINT64_C(2)
#define CHUNK_LEAST UINT64_C(32)
#define METER_HEADER 16 /* of the heap meter, before a block that is not aligned further */

struct range {
    uint64_t begin, end; /* the end excluded */
};

enum mapping_kind { MAPPING_OTHER, MAPPING_FILE, MAPPING_STACK, MAPPING_HEAP, MAPPING_KINDS };

/* One entry of /proc/PID/smaps, or one segment of a core. */
struct mapping {
    struct range at;
    uint64_t anonymous_bytes; /* resident and private */
    enum mapping_kind kind;
    bool writable;
    const char *name;              /* a file, [heap], or empty */
    uint64_t inode;                /* of a core, 1 for all files */
    uint64_t offset, dumped_bytes; /* in a core */
    uint8_t *flags;                /* of the pages in a core; of others NULL */
};

struct process {
    const struct source *source;
    pid_t pid;
    int pagemap, memory, libc;
    bool owns_memory, is_sparse; /* of the core: it has holes */
    struct mapping *mappings;
    size_t count, room;
    uint64_t rss_anon_bytes, swap_bytes;
    bool is_32_bit, has_meter;
    const char *refusal; /* why it could not be read, or NULL */
};

/* Where a process is read: while it runs, or from its core. */
struct source {
    bool (*read_status)(struct process *); /* RssAnon and VmSwap again; false once it has ended */
    bool (*read_flags)(const struct process *, struct range,
                       uint8_t *flags);                         /* of each page; false once it has ended */
    bool (*has_page)(const struct process *, uint64_t address); /* that was written */
    bool (*copy)(const struct process *, uint64_t address, void *to, size_t size); /* as process_copy() */
    int (*open_file)(const struct process *, const struct mapping *);              /* of the C library */
    void (*mark_heap)(struct process *, uint64_t top); /* which mappings are [heap], by its last chunk */
};

/* heapwalk_running.c: of a running process. heapwalk_core.c: of a core, with open files: the core, lines on its
 * mappings, and the C library or -1. False: `refusal` says why. */
bool running_open(struct process *, pid_t);
bool core_open(struct process *, pid_t, int core, int mappings, int libc);

/* heapwalk_process.c: what both have in common. */
struct mapping *process_add(struct process *, struct mapping); /* its name is copied */
void process_close(struct process *);

/* Of each page of a range. */
struct pages {
    struct range at;
    uint8_t *flags;             /* PAGE_RESIDENT: counts for RssAnon; PAGE_WRITTEN: can be read without mapping it */
    uint32_t *residents_before; /* how many pages before this one are resident; one more than there are pages */
};
#define PAGE_RESIDENT 1
#define PAGE_WRITTEN 2
bool pages_read(const struct process *, struct range, struct pages *);
void pages_free(struct pages *);
uint64_t pages_resident(const struct pages *, uint64_t begin, uint64_t end); /* bytes between two addresses */

/* At most COPY_PAGES_MOST pages; those that are not there become zeros. False once the process has ended. */
bool process_copy(const struct process *, uint64_t address, void *to, size_t size);
bool process_read(const struct process *, uint64_t address, void *to, size_t size); /* false where a page is not */
void process_forget(void); /* the pages that process_read keeps */

/* heapwalk_glibc.c: malloc's structures. Of glibc 2.`from` to 2.`to` on 64 bits: sizes, and distances in struct
 * malloc_par. */
struct layout {
    unsigned from, to;
    bool has_fastbins;  /* lists of free chunks of one size that count as in use */
    bool mangles_links; /* a link is xored with its own address >> 12 */
    bool counts_slots;  /* a thread's cache has the slots that are left, and bins of large chunks */
    unsigned arena_bytes, heap_info_bytes;
    unsigned mmaps_back;     /* n_mmaps is so far before sbrk_base */
    unsigned threshold_back; /* and mmap_threshold */
};
enum { CACHE_BINS_MOST = 76 };
struct glibc {
    char version[16];
    unsigned minor;      /* of 2.x */
    const char *unknown; /* why the heap cannot be divided, or NULL */
    const char *doubt;   /* why it could not be this time: the process may have changed it meanwhile */
    const struct layout *layout;
    uint64_t main_arena, sbrk_base;
    uint64_t mmapped_chunks; /* as malloc counts them */
    uint32_t cache_count;    /* chunks that a bin of a thread's cache can hold */
};
void glibc_find(struct process *, struct glibc *);

/* One heap: the main one, or one of the 64 MiB that a thread's arena has. */
struct heap {
    struct range at;
    uint64_t first, top; /* chunks; top is 0 in heaps that an arena has filled */
    bool is_brk;         /* the main heap, which others may use too: before the first chunk and after the top */
};
struct heaps {
    struct heap *list;
    size_t count, arenas;
};
bool glibc_heaps(const struct process *, struct glibc *, struct heaps *);
bool glibc_next_arena(const struct process *, const struct glibc *, uint64_t *arena);

struct tally {
    uint64_t chunks, bytes, resident_bytes;
};

/* heapwalk_sizes.c: numbers of chunks by size. */
struct sizes {
    struct size_count {
        uint64_t size, chunks; /* of an empty slot: no chunks */
    } * slots;
    size_t room, count;
};
void sizes_add(struct sizes *, uint64_t size);
void sizes_sort(struct sizes *); /* the sizes that take most bytes first; nothing can be added any more */

/* What is resident: of malloc's memory by chunk, of the rest by mapping. `used` has what is cached too until that is
 * taken out. */
struct parts {
    struct tally used, cached, free, mmapped;
    struct tally requested, mmapped_requested; /* as the heap meter's own headers have it; none without the meter */
    struct sizes free_sizes;                   /* without the top chunks */
    uint64_t own_bytes;                        /* of malloc's structures in heaps */
    bool has_changed;                          /* somewhat, meanwhile */
    bool is_complete, is_exact; /* false where the process changed its heap, or its mapped chunks, meanwhile */
    uint64_t mapping_bytes[MAPPING_KINDS]; /* of mappings, without what malloc has in them */
};

/* heapwalk_marks.c: which chunks begin as objects that are looked for. */
enum { MARK_RULES_MOST = 1024, MARK_WORDS = 4, MARK_SLOTS = 4096, MARK_MMAPPED = 15 };
struct marks {
    struct mark_rule {
        unsigned mark; /* the number of a bit */
        unsigned word;
        uint64_t bytes, mask, low, high; /* the block's; of the word, `high` excluded */
        uint64_t chunk_bytes;
    } rules[MARK_RULES_MOST];
    size_t count;
    uint64_t lead; /* that the heap meter has before each block */
    bool may[MARK_SLOTS];
};
bool marks_parse(const char *text, struct marks *); /* MARK:BYTES:WORD:MASK:LOW:HIGH,..., the last three hexadecimal */
void marks_set_lead(struct marks *, uint64_t lead);
bool marks_may(const struct marks *, uint64_t size);
uint64_t marks_of(const struct marks *, uint64_t size, const uint64_t words[MARK_WORDS]);
uint64_t marks_of_mmapped(const struct marks *, uint64_t size, const uint64_t words[MARK_WORDS]);

/* heapwalk_live.c: where the chunks in use are, for whoever asks for them: those that were walked over, and those with
 * a mapping of their own, which have the mark MARK_MMAPPED; and those of them that turn out to be cached. Millions are
 * written: 16 bytes each. Addresses of programs have 47 bits; sizes of chunks, header included, are multiples of 16. */
enum { LIVE_ADDRESS_BITS = 48, LIVE_UNIT_BYTES = 16 };
struct live_chunk {
    uint64_t place; /* the address, and above its bits the marks */
    uint32_t units, resident_units;
};
static inline uint64_t live_address(const struct live_chunk *chunk)
{
    return chunk->place & ((UINT64_C(1) << LIVE_ADDRESS_BITS) - 1);
}
struct live {
    bool is_wanted;     /* else nothing is kept */
    bool has_too_large; /* a chunk of 64 GiB or more was left out */
    struct marks marks;
    struct live_chunk *used;
    uint64_t *cached;
    size_t used_count, used_room, cached_count, cached_room;
};
void live_clear(struct live *);
void live_add(struct live *, uint64_t address, uint64_t bytes, uint64_t resident_bytes, uint64_t marks);
void live_add_cached(struct live *, uint64_t address);
void live_take_out_cached(struct live *);       /* the others are in the order of their addresses then */
bool live_write(const struct live *, int file); /* their number in 64 bits, and each as it is here */
bool live_map(struct live *, int file);         /* for the last list: what is in the file is not kept twice */
bool write_all(int file, const void *from, size_t size);

/* heapwalk_pointers.c: answers which chunks the blocks in chunks lead to, and what they have at some distances, until
 * there is no more to read. Numbers are this machine's own. Question: struct question, so many numbers of chunks, in
 * order, each once, and so many distances in bytes, multiples of 8: 32 bits each. Answer: the number of pointers in 64
 * bits, each pointer, and so many words of 64 bits, all of one distance before those of the next. */
struct question {
    uint64_t lead; /* before each block, in its chunk */
    uint32_t chunks, distances;
    uint64_t wants_pointers;
};
struct pointer {
    uint32_t from, to; /* numbers of chunks; not the same */
    uint32_t words;    /* how many are before it in its block */
};
enum answered { ALL_ANSWERED, NOT_ANSWERED, PROCESS_ENDED = 3 }; /* also heapwalk's exit status; 2 is wrong usage */
enum answered pointers_answer(const struct process *, const struct live *, int in, int out);

/* heapwalk_cached.c: freed chunks that count as in use. Candidates have the size of a thread's cache. */
struct candidates {
    uint64_t *list;
    size_t count, room;
};
bool cached_is_candidate(const struct glibc *, uint64_t size);
bool cached_count(const struct process *, const struct glibc *, const struct heaps *, const struct candidates *,
                  const struct pages *pages, struct parts *, struct live *);

/* heapwalk_chunks.c */
bool chunks_walk(const struct process *, struct glibc *, const struct heap *, const struct pages *, struct parts *,
                 struct candidates *, struct live *);
bool chunks_mmapped(const struct process *, const struct glibc *, const struct heaps *, struct parts *, struct live *);

#endif
