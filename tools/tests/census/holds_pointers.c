/* Holds blocks with pointers to each other at known places, for the tests of what heapwalk answers.
 *
 * holds_pointers SEED: a line on stdout for each block, `ADDRESS BYTES`, and one for each pointer, `FROM WORD TO
 * BYTES`, by the numbers of blocks, with 0 or 16 bytes into the other; then a line with `end`, and it waits. Other
 * words are numbers, or lead to the block that they are in. Of the last block, which has a mapping of its own, only the
 * first and the last page are written. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { BLOCKS = 400, LARGE = 300 * 1024, MMAPPED = 900 * 1024, PAGE = 4096 };

int main(int argc, char **argv)
{
    static uint64_t *blocks[BLOCKS];
    static size_t sizes[BLOCKS];
    if (argc != 2)
        return 2;
    srand(atoi(argv[1]));
    for (int i = 0; i < BLOCKS; i++) {
        sizes[i] = i == BLOCKS - 1 ? MMAPPED : i == 100 ? 100 * 1024 : i == 200 ? LARGE / 3 : 8 + rand() % 1100 * 8;
        blocks[i] = malloc(sizes[i]);
        if (i < BLOCKS - 1)
            memset(blocks[i], 0, sizes[i]);
        free(malloc(24 + rand() % 9000));
        printf("%llu %zu\n", (unsigned long long)(uintptr_t)blocks[i], sizes[i]);
    }
    for (int i = 0; i < BLOCKS; i++) {
        size_t words = sizes[i] / 8;
        for (size_t at = rand() % 7; at < words;
             at = at < words - 1 && rand() % 30 == 0 ? words - 1 : at + 1 + rand() % 30) {
            if (i == BLOCKS - 1 && at >= PAGE / 8 - 2 && at < words - 100)
                continue;
            int to = rand() % BLOCKS, kind = rand() % 8;
            blocks[i][at] = kind == 0   ? (uintptr_t)blocks[to] + 16
                            : kind == 1 ? (uintptr_t)blocks[i]
                            : kind == 2 ? (uintptr_t)rand()
                                        : (uintptr_t)blocks[to];
            if (kind != 1 && kind != 2 && to != i)
                printf("%d %zu %d %d\n", i, at, to, kind ? 0 : 16);
        }
    }
    puts("end");
    fflush(stdout);
    getchar();
    return 0;
}
