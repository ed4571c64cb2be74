/* A program with known answers for the heap meter: threads, three forks, and an exec of itself in the end.
 *
 * Parent: 1,000 blocks of 100 bytes, kept. Child k of 1, 2, 3: k * 10 blocks of 1,000 bytes in each of two threads, of
 * which half are freed. `family after`, by exec: 7 blocks of 70 bytes. With `wait` it goes on when stdin says so,
 * before the exec. What starting a thread allocates by itself (its table of variables) is the same in every child. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static void *volatile kept[4096]; /* so that no allocation is optimised away */

static void keep(size_t first, size_t blocks, size_t bytes)
{
    for (size_t i = first; i < first + blocks; i++)
        kept[i] = malloc(bytes);
}

struct share {
    size_t first, blocks;
};

static void *in_a_thread(void *opaque)
{
    struct share *share = opaque;
    keep(share->first, share->blocks, 1000);
    for (size_t i = share->first; i < share->first + share->blocks / 2; i++)
        free(kept[i]);
    return NULL;
}

static _Noreturn void child(size_t k)
{
    pthread_t threads[2];
    struct share shares[2] = {{1000, k * 10}, {2000, k * 10}};
    for (int i = 0; i < 2; i++)
        pthread_create(&threads[i], NULL, in_a_thread, &shares[i]);
    for (int i = 0; i < 2; i++)
        pthread_join(threads[i], NULL);
    _exit(0);
}

int main(int argc, char **argv)
{
    if (argc > 1 && !strcmp(argv[1], "after")) {
        keep(0, 7, 70);
        return 5;
    }
    keep(0, 1000, 100);
    for (size_t k = 1; k <= 3; k++)
        if (fork() == 0)
            child(k);
    while (wait(NULL) > 0)
        ;
    char line;
    if (argc > 1 && read(0, &line, 1) < 0)
        return 1;
    execl("/proc/self/exe", "family", "after", NULL);
    return 1;
}
