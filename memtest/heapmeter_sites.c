/* Sites mode: where each block of one chosen pair was allocated, by its whole call stack, and what of it is live; and
 * whether every other pair is like it, by a sum over its live blocks that costs a few ns. All memory is mapped: nothing
 * here allocates. */
#define _GNU_SOURCE
#include "heapmeter_block.h"

#include <dlfcn.h>
#include <errno.h>
#include <string.h>
#include <sys/mman.h>

/* Of glibc 2.35 and later; weak, since a wheel's meter runs under older ones too, where there is no sites mode. */
extern __typeof(_dl_find_object) _dl_find_object __attribute__((weak));

#define EXPORT __attribute__((visibility("default")))
#define LAYERS 8     /* callers that a block's site is hashed from */
#define OWN_FRAMES 8 /* at most, of the meter itself: operator new -> aligned -> posix_memalign -> ... */
#define NEAR 16      /* bytes that pairs which are alike may differ by: the length of a DER signature does */
#define SLOTS (2 * HEAPMETER_SITES)
#define GOLDEN UINT64_C(0x9e3779b97f4a7c15)

bool sites_on;
static struct heapmeter_sites sites;
static int (*backtrace)(void **frames, int size);
static uint32_t *slots; /* a hash table of numbers in the list of sites; 0 is free */
static struct dl_find_object own;

#define OWNERS (HEAP_SERVER_CONTEXT - HEAP_CLIENT + 1) /* of a pair: its sessions, and contexts of its own */

/* What one of them holds. `sum` adds up a number per block that depends on its site: the same whatever the order. */
static struct held {
    uint64_t bytes, blocks, sum;
} * held; /* by pair and owner */

static struct held *held_by(uint32_t pair, uint8_t role)
{
    return &held[OWNERS * (size_t)pair + (role - HEAP_CLIENT)];
}

/* Of the chosen pair's client and server. What is live at a peak is copied when the first of it is about to be freed,
 * or when it is asked for: until then the next block may make a higher peak. Contexts have none. */
enum { SESSIONS = HEAP_SERVER - HEAP_CLIENT + 1 };
static bool peak_uncopied[SESSIONS];

static void peak_copy(int session)
{
    for (uint32_t i = 0; i < sites.count; i++)
        if (sites.list[i].role == HEAP_CLIENT + session) {
            sites.list[i].peak_blocks = sites.list[i].blocks;
            sites.list[i].peak_bytes = sites.list[i].bytes;
        }
    peak_uncopied[session] = false;
}

static void peak_set(int session)
{
    sites.peak_bytes[session] = held_by(sites.pair, HEAP_CLIENT + session)->bytes;
    peak_uncopied[session] = true;
}

void sites_phase(void)
{
    for (int session = 0; session < SESSIONS; session++)
        peak_set(session);
}

static uint64_t spread(uint64_t value)
{
    value *= GOLDEN;
    return value ^ value >> 32;
}

/* Whether it lies in an object that is loaded. The one found last is most often the next one's too, which saves most of
 * the looking. Driver calls take turns. */
static bool in_object(uintptr_t address)
{
    static struct dl_find_object object;
    if (address >= (uintptr_t)object.dlfo_map_start && address < (uintptr_t)object.dlfo_map_end)
        return true;
    return _dl_find_object((void *)address, &object) == 0;
}

/* From frame pointers. A caller that keeps none ends the walk, or leads it to another place of the same stack, which
 * may be read but says nothing: so only few layers are looked at, and a word that is in no object, and so no return
 * address, ends the walk too. Never 0. */
static uint32_t hash_of(const uintptr_t *frame, const uintptr_t *top)
{
    uint64_t hash = 0;
    for (int layer = 0; layer < LAYERS && in_object(frame[1]); layer++) {
        hash = (hash ^ frame[1]) * GOLDEN;
        const uintptr_t *caller = (const uintptr_t *)frame[0];
        if (caller <= frame || caller > top || (uintptr_t)caller % sizeof *caller)
            break;
        frame = caller;
    }
    return (hash >> (64 - SITE_BITS)) | 1;
}

/* The call stack without the meter's own frames. */
static void unwind(struct heapmeter_site *site)
{
    void *frames[HEAPMETER_FRAMES + OWN_FRAMES];
    int found = backtrace(frames, HEAPMETER_FRAMES + OWN_FRAMES), first = 0;
    while (first < found && frames[first] >= own.dlfo_map_start && frames[first] < own.dlfo_map_end)
        first++;
    site->depth = found - first < HEAPMETER_FRAMES ? found - first : HEAPMETER_FRAMES;
    memcpy(site->frames, frames + first, site->depth * sizeof *frames);
}

static bool same_stack(const struct heapmeter_site *one, const struct heapmeter_site *other)
{
    return one->depth == other->depth && !memcmp(one->frames, other->frames, one->depth * sizeof *one->frames);
}

/* The site's number from 1 in the list, where it is added if it is new; 0 when the list is full. */
static uint32_t number_of(struct heapmeter_site *site)
{
    uint64_t slot = 0;
    for (uint32_t i = 0; i < site->depth; i++)
        slot = spread(slot ^ (uintptr_t)site->frames[i]);
    site->stack = sites.count;
    for (slot %= SLOTS; slots[slot]; slot = (slot + 1) % SLOTS) {
        const struct heapmeter_site *other = &sites.list[slots[slot] - 1];
        if (!same_stack(site, other))
            continue;
        if (site->role == other->role && site->phase == other->phase && site->hash == other->hash)
            return slots[slot];
        site->stack = other->stack;
    }
    if (sites.count == HEAPMETER_SITES) {
        sites.full = true;
        return 0;
    }
    sites.list[sites.count] = *site;
    return slots[slot] = ++sites.count;
}

/* The number, as above, of the site of a block of the chosen pair. */
static uint32_t found(const struct header *block, uint32_t hash)
{
    static struct heapmeter_site site; /* a KiB, and driver calls take turns */
    site = (struct heapmeter_site){.role = block->role, .phase = block->phase, .hash = hash};
    unwind(&site);
    return number_of(&site);
}

void site_in(struct header *block, const uintptr_t *frame, const uintptr_t *top)
{
    if (block->pair >= sites.pairs)
        return;
    uint32_t hash = hash_of(frame, top);
    bool chosen = block->pair == sites.pair;
    block->site = chosen ? found(block, hash) : hash;
    if (!block->site)
        return;
    site_count(block, 1);
    if (chosen) {
        add(&sites.list[block->site - 1].allocated_blocks, 1);
        add(&sites.list[block->site - 1].allocated_bytes, block_size(block));
    }
}

void site_count(const struct header *block, int by)
{
    struct held *session = held_by(block->pair, block->role);
    uint32_t hash = block->site;
    bool chosen = block->pair == sites.pair, has_peak = chosen && block->role <= HEAP_SERVER;
    int role = block->role - HEAP_CLIENT;
    if (has_peak && by < 0 && peak_uncopied[role])
        peak_copy(role);
    if (chosen) {
        struct heapmeter_site *site = &sites.list[block->site - 1];
        add(&site->blocks, by);
        add(&site->bytes, by * (int64_t)block_size(block));
        hash = site->hash;
    }
    add(&session->bytes, by * (int64_t)block_size(block));
    add(&session->blocks, by);
    add(&session->sum, by * spread(hash));
    if (has_peak && session->bytes > sites.peak_bytes[role])
        peak_set(role);
}

static void *map(size_t size)
{
    void *memory = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    return memory == MAP_FAILED ? NULL : memory;
}

EXPORT bool heapmeter_sites_begin(uint32_t pairs, uint32_t pair, int (*unwinder)(void **frames, int size))
{
    if (!_dl_find_object) {
        errno = ENOSYS;
        return false;
    }
    backtrace = unwinder;
    held = map(OWNERS * sizeof *held * (size_t)pairs);
    slots = map(SLOTS * sizeof *slots);
    sites = (struct heapmeter_sites){.pairs = pairs, .pair = pair, .list = map(HEAPMETER_SITES * sizeof *sites.list)};
    sites_on = held && slots && sites.list && _dl_find_object((void *)heapmeter_sites_begin, &own) == 0;
    return sites_on;
}

/* How far a session is from the chosen pair's of its role, in bytes; -1: its blocks are others. */
static int64_t distance(uint32_t pair, uint8_t role)
{
    const struct held *here = held_by(pair, role), *there = held_by(sites.pair, role);
    int64_t bytes = here->bytes - there->bytes;
    return here->blocks != there->blocks || here->sum != there->sum ? -1 : bytes < 0 ? -bytes : bytes;
}

EXPORT const struct heapmeter_sites *heapmeter_sites_read(void)
{
    for (int session = 0; session < SESSIONS; session++)
        if (peak_uncopied[session])
            peak_copy(session);
    sites.alike = sites.identical = 0;
    for (uint32_t pair = 0; pair < sites.pairs; pair++) {
        int64_t client = distance(pair, HEAP_CLIENT), server = distance(pair, HEAP_SERVER);
        sites.alike += client >= 0 && client <= NEAR && server >= 0 && server <= NEAR;
        sites.identical += client == 0 && server == 0;
    }
    return &sites;
}
