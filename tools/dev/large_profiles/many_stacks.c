/* Allocates from many call stacks, so that its profiles are large: see tools/dev/large_profiles.py.

   many_stacks STACKS EVENTS LIVE: EVENTS blocks are allocated, in turn by each of STACKS call stacks and then by
   chance, and LIVE of them are live at any time. A call stack has four possible callers at each of its levels. Each run
   allocates the same blocks. */

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

enum { LEVELS = 12, MOST_STACKS = 1 << 2 * LEVELS };

/* Without the asm, which differs from case to case, the compiler would make one call of the four, or a jump. */
#define CALL(number)                                                                                                   \
    block = descend(path >> 2, level - 1, size);                                                                       \
    __asm__ volatile("" : "+r"(block) : "i"(number))

static __attribute__((noinline)) void *descend(uint32_t path, int level, size_t size)
{
    void *block;
    if (level == 0) {
        block = malloc(size);
        __asm__ volatile("" : "+r"(block));
        return block;
    }
    switch (path & 3) {
    case 0:
        CALL(0);
        break;
    case 1:
        CALL(1);
        break;
    case 2:
        CALL(2);
        break;
    default:
        CALL(3);
    }
    return block;
}

static uint32_t draw(uint32_t *state) /* xorshift */
{
    *state ^= *state << 13;
    *state ^= *state >> 17;
    *state ^= *state << 5;
    return *state;
}

int main(int argc, char **argv)
{
    if (argc != 4) {
        fprintf(stderr, "usage: many_stacks STACKS EVENTS LIVE\n");
        return 2;
    }
    uint32_t stacks = (uint32_t)strtoul(argv[1], NULL, 10), state = 1;
    uint64_t events = strtoull(argv[2], NULL, 10);
    size_t live = strtoul(argv[3], NULL, 10);
    void **blocks = calloc(live, sizeof *blocks);
    if (!stacks || stacks > MOST_STACKS || !live || !blocks) {
        fprintf(stderr, "many_stacks: at least one call stack and one live block, at most %d call stacks\n",
                MOST_STACKS);
        return 2;
    }
    for (uint64_t event = 0; event < events; event++) {
        uint32_t number = event < stacks ? (uint32_t)event : draw(&state) % stacks;
        size_t at = event < live ? event : draw(&state) % live;
        free(blocks[at]);
        blocks[at] = descend(number, LEVELS, 16 + 16 * (number % 5));
    }
    return 0;
}
