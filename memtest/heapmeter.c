/* libheapmeter.so: counts requested bytes and blocks, live, peak and cumulative, by role and phase, over whatever
 * allocator is next in line. Preload it before that one. A block carries a 16-byte header, so no table is needed. */
#define _GNU_SOURCE
#include "heapmeter_block.h"

#include <errno.h>
#include <malloc.h>
#include <stdlib.h>
#include <string.h>

#define EXPORT __attribute__((visibility("default")))
#define MOST (GENERATION - 1) /* 16 TiB: what the header can hold */

static __thread struct {
    uint32_t pair;
    uint8_t role;
    const uintptr_t *top; /* the frame that the tag was set from: all that it is for lies below */
} tag __attribute__((tls_model("initial-exec")));

/* Whose block it is, and at which frame it was asked for. */
struct origin {
    uint32_t pair;
    uint8_t role;
    const uintptr_t *frame;
};

#define HERE __builtin_frame_address(0)
#define TAGGED                                                                                                         \
    (struct origin)                                                                                                    \
    {                                                                                                                  \
        tag.pair, tag.role, HERE                                                                                       \
    }

/* What the unwinder may allocate is not the stack's. */
static void site_find(struct header *header, const uintptr_t *frame)
{
    uint8_t role = tag.role;
    tag.role = HEAP_HARNESS;
    site_in(header, frame, tag.top);
    tag.role = role;
}

/* Writes the header of a block whose user part starts at `user`, and counts it. */
static void *block_in(void *user, size_t size, unsigned lead_log2, struct origin origin)
{
    struct header *header = (struct header *)user - 1;
    uint8_t phase = page_count_in(origin.role, size);
    uint32_t pair = origin.role == HEAP_HARNESS ? forks : origin.pair;
    *header = (struct header){own_head | size, pair, origin.role, phase, 0, lead_log2};
    if (sites_on && origin.role != HEAP_HARNESS)
        site_find(header, origin.frame);
    return user;
}

static bool is_metered(const struct header *header)
{
    return (header->head & MAGIC_MASK) == MAGIC;
}

static bool is_inherited(const struct header *header)
{
    return (header->head ^ own_head) >= GENERATION;
}

/* Whether a child may have a copy. */
static bool was_forked(const struct header *header)
{
    return header->role == HEAP_HARNESS && header->pair != forks;
}

static void block_out(struct header *header)
{
    if (is_inherited(header))
        page_inherited_out(block_size(header));
    else if (was_forked(header))
        page_forked_out(block_size(header));
    page_count_out(header->role, header->phase, block_size(header));
    if (header->site)
        site_count(header, -1);
    header->head = 0;
}

/* A block that a failed realloc left where it was: live as before, and not allocated once more. */
static void block_back(struct header *header, struct header old)
{
    page_count_back(old.role, old.phase, block_size(&old));
    if (is_inherited(&old))
        page_inherited_back(block_size(&old));
    else if (was_forked(&old))
        page_forked_back(block_size(&old));
    if (old.site)
        site_count(&old, 1);
    *header = old;
}

EXPORT void *malloc(size_t size)
{
    if (size > MOST)
        return page_count_failure();
    char *block =
        next_found() ? next.malloc(size + sizeof(struct header)) : bootstrap_new(size + sizeof(struct header));
    return block ? block_in(block + sizeof(struct header), size, 4, TAGGED) : page_count_failure();
}

EXPORT void *calloc(size_t count, size_t each)
{
    size_t size;
    if (__builtin_mul_overflow(count, each, &size) || size > MOST)
        return page_count_failure();
    char *block =
        next_found() ? next.calloc(1, size + sizeof(struct header)) : bootstrap_new(size + sizeof(struct header));
    return block ? block_in(block + sizeof(struct header), size, 4, TAGGED) : page_count_failure();
}

EXPORT void free(void *user)
{
    if (!user || is_bootstrap(user))
        return;
    struct header *header = (struct header *)user - 1;
    if (!is_metered(header)) { /* older than the meter */
        next.free(user);
    } else {
        block_out(header); /* before the real free: afterwards another thread may own it */
        next.free((char *)user - ((size_t)1 << header->lead_log2));
    }
}

/* For blocks that cannot grow in place: aligned ones, and those of the bootstrap. Keeps pair and role. */
static void *move(void *user, struct header old, size_t size, const uintptr_t *frame)
{
    char *block = next.malloc(size + sizeof(struct header));
    if (!block)
        return page_count_failure();
    memcpy(block + sizeof(struct header), user, block_size(&old) < size ? block_size(&old) : size);
    free(user);
    return block_in(block + sizeof(struct header), size, 4, (struct origin){old.pair, old.role, frame});
}

EXPORT void *realloc(void *user, size_t size)
{
    if (!user)
        return malloc(size);
    if (size == 0) {
        free(user);
        return NULL;
    }
    if (size > MOST)
        return page_count_failure();
    struct header *header = (struct header *)user - 1, old;
    if (!is_bootstrap(user) && !is_metered(header)) {
        void *moved = next.realloc(user, size);
        return moved ? moved : page_count_failure();
    }
    old = *header;
    if (!next_found())
        return page_count_failure();
    if (is_bootstrap(user) || old.lead_log2 != 4)
        return move(user, old, size, HERE);
    block_out(header); /* the old size goes before the new one comes: no peak that was not there */
    char *block = next.realloc(header, size + sizeof(struct header));
    if (!block) {
        block_back(header, old);
        return page_count_failure();
    }
    return block_in(block + sizeof(struct header), size, 4, (struct origin){old.pair, old.role, HERE});
}

EXPORT int posix_memalign(void **result, size_t alignment, size_t size)
{
    size_t lead = alignment > sizeof(struct header) ? alignment : sizeof(struct header);
    void *block;
    if (alignment < sizeof(void *) || (alignment & (alignment - 1)))
        return EINVAL;
    if (lead > MOST || size > MOST - lead || !next_found() || next.posix_memalign(&block, lead, size + lead)) {
        page_count_failure();
        return ENOMEM;
    }
    *result = block_in((char *)block + lead, size, __builtin_ctzl(lead), TAGGED);
    return 0;
}

/* Just what was requested: whoever uses more than that would write past what is counted. */
EXPORT size_t malloc_usable_size(void *user)
{
    if (!user)
        return 0;
    struct header *header = (struct header *)user - 1;
    return is_bootstrap(user) || is_metered(header) ? block_size(header) : next.usable_size(user);
}

EXPORT void heapmeter_role(int role, uint32_t pair)
{
    tag.role = role;
    tag.pair = pair;
    tag.top = HERE;
}

__attribute__((constructor)) static void start(void)
{
    const int before = errno;
    next_found();
    loader_find(); /* now, since a dlsym frees what another one has left */
    programs_open();
    maps_start();
    page_start();
    errno = before;
}
