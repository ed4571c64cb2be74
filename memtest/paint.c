/* How deep a driver's calls go: the stack below is painted before a call, and what is no longer so afterwards was
 * written. Both functions are called from the frame that makes the call, so all three begin at the same address. How
 * much a call writes may depend on that address: assembler aligns its tables in the stack. So it is chosen, for each
 * painted pair another one, and neither the environment nor the frames above have a say in it. */
#include "sites.h"

#define PAINTED ((size_t)256 * 1024)
#define MARGIN 256 /* the two functions' own frames differ a little; of this one no more is read than was painted */
#define PATTERN UINT64_C(0xa5c396e1f0b47d28)

enum { PERIOD = 4096, STEP = 128, PAIRS = PERIOD / STEP };

static struct {
    size_t first, count, except;
} painted;
static uint64_t deepest[2];

void paint_begin(size_t first, size_t count, size_t except)
{
    painted.first = first;
    painted.count = count;
    painted.except = except;
}

static size_t ordinal(size_t pair)
{
    return pair - painted.first - (pair > painted.except);
}

bool paint_wanted(size_t pair)
{
    return pair - painted.first < painted.count && pair != painted.except && ordinal(pair) < PAIRS;
}

size_t paint_lead(size_t pair, const void *frame)
{
    return ((uintptr_t)frame - ordinal(pair) * STEP) % PERIOD;
}

__attribute__((noinline, noclone)) void paint(void)
{
    uint64_t area[PAINTED / sizeof(uint64_t)];
    for (size_t i = 0; i < PAINTED / sizeof *area; i++)
        area[i] = PATTERN;
    __asm__ volatile("" : : "r"(area) : "memory"); /* for all the compiler knows it is read */
}

__attribute__((noinline, noclone)) void paint_read(enum role role)
{
    uint64_t area[(PAINTED - MARGIN) / sizeof(uint64_t)];
    size_t clean = 0;
    __asm__ volatile("" : : "r"(area) : "memory"); /* for all the compiler knows it is written here */
    while (clean < sizeof area / sizeof *area && area[clean] == PATTERN)
        clean++;
    const char *caller = (const char *)__builtin_frame_address(0) + 2 * sizeof(void *); /* where its frame ends */
    uint64_t depth = (uint64_t)(caller - (const char *)&area[clean]);
    if (depth > deepest[role])
        deepest[role] = depth;
}

uint64_t paint_deepest(enum role role)
{
    uint64_t depth = deepest[role];
    deepest[role] = 0;
    return depth;
}
