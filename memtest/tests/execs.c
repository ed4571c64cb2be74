/* A program with known answers for the heap meter that becomes itself again at once: `execs N` keeps 5 blocks of 100
 * bytes and becomes `execs N-1`, by another way of exec each time; `execs 0` ends. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static void *volatile kept[5];

int main(int argc, char **argv)
{
    int left = argc > 1 ? atoi(argv[1]) : 0;
    char fewer[16];
    snprintf(fewer, sizeof fewer, "%d", left - 1);
    char *words[] = {argv[0], fewer, NULL};
    for (int i = 0; i < 5; i++)
        kept[i] = malloc(100);
    switch (left ? left % 8 : -1) {
    case 0:
        return execv(argv[0], words);
    case 1:
        return execl(argv[0], argv[0], fewer, (char *)NULL);
    case 2:
        return execlp(argv[0], argv[0], fewer, (char *)NULL);
    case 3:
        return execle(argv[0], argv[0], fewer, (char *)NULL, environ);
    case 4:
        return execvp(argv[0], words);
    case 5:
        return execvpe(argv[0], words, environ);
    case 6:
        return fexecve(open(argv[0], O_RDONLY | O_CLOEXEC), words, environ);
    case 7:
        return execveat(AT_FDCWD, argv[0], words, environ, 0);
    }
    return 0;
}
