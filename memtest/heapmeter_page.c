/* The heap meter's books: one shared page per process, made again in a child after a fork. Nothing here allocates. */
#define _GNU_SOURCE
#include "heapmeter_block.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#define EXPORT __attribute__((visibility("default")))

static struct heapmeter_page early = {.magic = HEAPMETER_MAGIC, .phases = {"start"}};
static struct heapmeter_page before_fork;
static struct heapmeter_page *page = &early;

static void count_in(struct heapmeter_count *count, uint64_t size)
{
    uint64_t live = add(&count->live_bytes, size), blocks = add(&count->live_blocks, 1);
    uint64_t peak = __atomic_load_n(&count->peak_bytes, __ATOMIC_RELAXED);
    add(&count->cumulative_bytes, size);
    add(&count->cumulative_blocks, 1);
    while ((int64_t)live > (int64_t)peak) /* signed: a forked child may begin with counts a little below nought */
        if (__atomic_compare_exchange_n(&count->peak_bytes, &peak, live, true, __ATOMIC_RELAXED, __ATOMIC_RELAXED)) {
            __atomic_store_n(&count->peak_blocks, blocks, __ATOMIC_RELAXED);
            break;
        }
}

static void count_out(struct heapmeter_count *count, uint64_t size)
{
    add(&count->live_bytes, -size);
    add(&count->live_blocks, -1);
}

uint8_t page_count_in(uint8_t role, uint64_t size)
{
    uint8_t phase = page->phase;
    count_in(&page->counts[role], size);
    count_in(&page->counts[HEAP_TOTAL], size);
    add(&page->origin[role][phase].live_bytes, size);
    add(&page->origin[role][phase].live_blocks, 1);
    return phase;
}

void page_count_back(uint8_t role, uint8_t phase, uint64_t size)
{
    struct heapmeter_count *counts[] = {&page->counts[role], &page->counts[HEAP_TOTAL]};
    for (int i = 0; i < 2; i++) {
        add(&counts[i]->live_bytes, size);
        add(&counts[i]->live_blocks, 1);
    }
    add(&page->origin[role][phase].live_bytes, size);
    add(&page->origin[role][phase].live_blocks, 1);
}

void page_count_out(uint8_t role, uint8_t phase, uint64_t size)
{
    count_out(&page->counts[role], size);
    count_out(&page->counts[HEAP_TOTAL], size);
    add(&page->origin[role][phase].live_bytes, -size);
    add(&page->origin[role][phase].live_blocks, -1);
}

void *page_count_failure(void)
{
    add(&page->failures, 1);
    errno = ENOMEM;
    return NULL;
}

void page_note_library(enum library which)
{
    __atomic_add_fetch(which == LIBRARY_DEEPBIND ? &page->deepbind : &page->namespaces, 1, __ATOMIC_RELAXED);
}

static void peaks_reset(struct heapmeter_page *of)
{
    for (int role = 0; role <= HEAP_TOTAL; role++) {
        of->counts[role].peak_bytes = of->counts[role].live_bytes;
        of->counts[role].peak_blocks = of->counts[role].live_blocks;
    }
}

EXPORT void heapmeter_phase(const char *name)
{
    uint32_t phase = 0;
    while (phase < HEAPMETER_PHASES - 1 && page->phases[phase][0] && strncmp(page->phases[phase], name, HEAPMETER_NAME))
        phase++;
    snprintf(page->phases[phase], HEAPMETER_NAME, "%s", name);
    page->phase = phase;
    peaks_reset(page);
    if (sites_on)
        sites_phase();
}

EXPORT const struct heapmeter_page *heapmeter_page(void)
{
    return page;
}

static uint64_t now(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (uint64_t)time.tv_sec * 1000000000 + time.tv_nsec;
}

/* The page of the program that this process was before an exec. Whoever lists programs wants it too, under a name that
 * no other has; else it makes room. */
static void page_set_aside(const char *path)
{
    char aside[96];
    snprintf(aside, sizeof aside, "%s.%llu", path, (unsigned long long)now());
    if (!programs_listed() || rename(path, aside))
        unlink(path);
}

/* A shared page of this process's own, beginning with what `counted` holds; without /dev/shm the counts stay private.
 */
static void page_open(const struct heapmeter_page *counted)
{
    char path[64];
    const int before = errno; /* as the program would have it at its start, or after a fork */
    snprintf(path, sizeof path, "/dev/shm/heapmeter.%d", getpid());
    page_set_aside(path);
    int fd = open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    struct heapmeter_page *shared = MAP_FAILED;
    if (fd >= 0 && posix_fallocate(fd, 0, 4096) == 0) /* else writing to it could end the program */
        shared = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (fd >= 0)
        close(fd);
    errno = before;
    if (shared == MAP_FAILED) {
        programs_note(HEAPMETER_NO_PAGE, getpid(), 0, program_invocation_short_name);
        return;
    }
    *shared = *counted;
    shared->pid = getpid();
    shared->parent = getppid();
    shared->made = now();
    snprintf(shared->program, sizeof shared->program, "%s", program_invocation_short_name);
    page = shared;
}

/* The parent goes on counting in the shared page, so the child must not copy that one. What other threads of the
 * parent were counting at this moment may be missing in it. */
static void fork_prepare(void)
{
    before_fork = *page;
}

/* The child keeps the parent's blocks; neither its peak nor what it allocates begins with the parent's. */
static void fork_child(void)
{
    const struct heapmeter_count *total = &before_fork.counts[HEAP_TOTAL];
    before_fork.inherited.live_bytes = total->live_bytes;
    before_fork.inherited.live_blocks = total->live_blocks;
    before_fork.inherited.cumulative_bytes = total->cumulative_bytes;
    before_fork.inherited.cumulative_blocks = total->cumulative_blocks;
    before_fork.failures = 0;
    peaks_reset(&before_fork);
    page = &before_fork;
    page_open(&before_fork);
}

void page_start(void)
{
    pthread_atfork(fork_prepare, NULL, fork_child);
    early.own_malloc = malloc_is_foreign();
    page_open(&early);
    programs_note_start();
}
