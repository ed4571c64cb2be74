/* Holds known blocks, for heapwalk: each line on stdin is a step, after which it says what malloc counts itself. */
#define _GNU_SOURCE
#include <locale.h>
#include <malloc.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { MANY = 1000 };
static _Alignas(16) void *blocks[MANY];
static void *quick[20], *large, *aligned, *unwritten[10], *of_thread[MANY];
static pthread_barrier_t barrier;

static void fill(void **where, int count, size_t size)
{
    for (int i = 0; i < count; i++)
        memset(where[i] = malloc(size), 1, size);
}

static void free_some(void **where, int from, int to, int step)
{
    for (int i = from; i < to; i += step)
        free(where[i]);
}

static void *work(void *nothing)
{
    pthread_barrier_wait(&barrier);
    fill(of_thread, MANY, 3000);
    free_some(of_thread, 0, MANY, 2);
    fill(quick, 3, 300);
    free_some(quick, 0, 3, 1);
    pthread_barrier_wait(&barrier);
    pause();
    return nothing;
}

static void run_thread(void)
{
    static pthread_t thread;
    pthread_barrier_init(&barrier, NULL, 2);
    pthread_create(&thread, NULL, work, NULL);
    pthread_barrier_wait(&barrier);
    pthread_barrier_wait(&barrier);
}

/* The child extends the heap, which is then two mappings. */
static void run_child(void)
{
    static void *of_child[100];
    int ends[2];
    char done = 0;
    if (pipe(ends))
        return;
    if (!fork()) {
        alarm(60);
        fill(of_child, 100, 9000);
        done = write(ends[1], "", 1) == 1;
        pause();
    }
    if (read(ends[0], &done, 1) != 1)
        exit(1);
}

static void step(const char *name)
{
    if (!strcmp(name, "blocks")) {
        fill(blocks, MANY, 1000);
    } else if (!strcmp(name, "cached")) {
        free_some(blocks, 0, 10, 2);
    } else if (!strcmp(name, "fast")) {
        fill(quick, 20, 50);
        free_some(quick, 0, 20, 1);
    } else if (!strcmp(name, "free")) {
        free_some(blocks, 101, MANY, 2);
    } else if (!strcmp(name, "mmapped")) {
        memset(large = malloc(1 << 20), 1, 1 << 20);
        aligned = aligned_alloc(256, 300000);
    } else if (!strcmp(name, "unwritten")) {
        for (int i = 0; i < 10; i++)
            unwritten[i] = malloc(100000);
    } else if (!strcmp(name, "thread")) {
        run_thread();
    } else if (!strcmp(name, "zeros")) { /* pages that are read before they are written */
        volatile const char *from = calloc(100, 4096);
        for (int i = 0; i < 100; i++)
            (void)from[i * 4096];
    } else if (!strcmp(name, "fork")) {
        run_child();
    }
}

/* Blocks as large as a thread's cache, with numbers and addresses where that has them: they are in use. */
static void make_lookalikes(void)
{
    static const size_t sizes[] = {640, 752}; /* before glibc 2.42, and from then on */
    for (int i = 0; i < 2; i++) {
        uint16_t *lookalike = calloc(1, sizes[i]);
        void **lists = (void **)(lookalike + (i ? 76 : 64));
        lookalike[3] = lookalike[9] = 2;
        lists[3] = lists[9] = blocks;
    }
}

int main(void)
{
    static char name[32], out[4096], in[4096];
    setvbuf(stdout, out, _IOFBF, sizeof out);
    setvbuf(stdin, in, _IOFBF, sizeof in);
    alarm(60);
    setlocale(LC_ALL, "C.UTF-8"); /* the C library's data then have other addresses in the heap */
    free(malloc(1000));           /* the heap is there in any case */
    make_lookalikes();
    while (fgets(name, sizeof name, stdin)) {
        name[strcspn(name, "\n")] = 0;
        step(name);
        struct mallinfo2 counts = mallinfo2();
        printf("{\"system\":%zu,\"in_use\":%zu,\"free\":%zu,\"fast\":%zu,\"mmapped\":%zu,\"mmapped_chunks\":%zu}\n",
               counts.arena, counts.uordblks, counts.fordblks, counts.fsmblks, counts.hblkhd, counts.hblks);
        fflush(stdout);
    }
    return 0;
}
