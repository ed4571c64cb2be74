/* The heap meter against known answers, for the whole malloc family. Runs with libheapmeter.so preloaded. */
#define _GNU_SOURCE
#include "heapmeter.h"

#include <dlfcn.h>
#include <errno.h>
#include <malloc.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>
#undef malloc /* cmocka's own checks would wrap them */
#undef calloc
#undef realloc
#undef free

static void (*role)(int, uint32_t);
static void (*phase)(const char *);
static const struct heapmeter_page *(*page)(void);
static struct heapmeter_count before;
static int errno_of_main = -1;
static void *volatile kept; /* so that no allocation is optimised away */

static int find_meter(void **state)
{
    (void)state;
    role = dlsym(RTLD_DEFAULT, "heapmeter_role");
    phase = dlsym(RTLD_DEFAULT, "heapmeter_phase");
    page = dlsym(RTLD_DEFAULT, "heapmeter_page");
    return role && phase && page ? 0 : -1;
}

/* All that a test allocates is tagged `client`; cmocka's own is not. */
static int begin(void **state)
{
    (void)state;
    phase("test");
    before = page()->counts[HEAP_CLIENT];
    role(HEAP_CLIENT, 7);
    return 0;
}

#define LIVE_IS(bytes, blocks)                                                                                         \
    do {                                                                                                               \
        struct heapmeter_count now = page()->counts[HEAP_CLIENT];                                                      \
        role(HEAP_HARNESS, 0);                                                                                         \
        assert_int_equal(now.live_bytes - before.live_bytes, bytes);                                                   \
        assert_int_equal(now.live_blocks - before.live_blocks, blocks);                                                \
        role(HEAP_CLIENT, 7);                                                                                          \
    } while (0)

#define PEAK_IS(bytes, blocks)                                                                                         \
    do {                                                                                                               \
        assert_int_equal(page()->counts[HEAP_CLIENT].peak_bytes - before.live_bytes, bytes);                           \
        assert_int_equal(page()->counts[HEAP_CLIENT].peak_blocks - before.live_blocks, blocks);                        \
    } while (0)

static void requested_bytes_are_counted_not_usable_ones(void **state)
{
    (void)state;
    for (size_t size = 0; size < 5000; size += 13) {
        kept = malloc(size);
        LIVE_IS(size, 1);
        assert_int_equal(malloc_usable_size(kept), size);
        memset(kept, 0xff, size);
        free(kept);
        LIVE_IS(0, 0);
    }
}

static void calloc_counts_and_zeroes(void **state)
{
    (void)state;
    unsigned char *bytes = kept = calloc(33, 31);
    LIVE_IS(33 * 31, 1);
    for (size_t i = 0; i < 33 * 31; i++)
        assert_int_equal(bytes[i], 0);
    free(kept);
    LIVE_IS(0, 0);
}

static void realloc_drops_the_old_size_before_it_adds_the_new_one(void **state)
{
    (void)state;
    kept = malloc(1000);
    memset(kept, 5, 1000);
    kept = realloc(kept, 1500);
    LIVE_IS(1500, 1);
    PEAK_IS(1500, 1);
    assert_int_equal(((char *)kept)[999], 5);
    kept = realloc(kept, 10);
    LIVE_IS(10, 1);
    kept = realloc(kept, 0);
    LIVE_IS(0, 0);
    kept = realloc(NULL, 20);
    LIVE_IS(20, 1);
    kept = reallocarray(kept, 5, 6);
    LIVE_IS(30, 1);
    free(kept);
    LIVE_IS(0, 0);
}

static void aligned_blocks_are_aligned_and_counted(void **state)
{
    (void)state;
    for (size_t alignment = 8; alignment <= 8192; alignment *= 2) {
        void *block = NULL;
        assert_int_equal(posix_memalign(&block, alignment, 100), 0);
        assert_int_equal((uintptr_t)block % alignment, 0);
        LIVE_IS(100, 1);
        memset(block, 1, 100);
        block = realloc(block, 300);
        LIVE_IS(300, 1);
        assert_int_equal(((char *)block)[99], 1);
        free(block);
        LIVE_IS(0, 0);
    }
    kept = aligned_alloc(64, 128);
    LIVE_IS(128, 1);
    free(kept);
    kept = memalign(256, 10);
    LIVE_IS(10, 1);
    free(kept);
    kept = valloc(10);
    assert_int_equal((uintptr_t)kept % 4096, 0);
    LIVE_IS(10, 1);
    free(kept);
    kept = pvalloc(10);
    LIVE_IS(4096, 1);
    free(kept);
    LIVE_IS(0, 0);
}

static void an_odd_alignment_is_raised_as_glibc_does(void **state)
{
    (void)state;
    volatile size_t odd = 24;
    kept = aligned_alloc(odd, 96);
    assert_int_equal((uintptr_t)kept % 32, 0);
    LIVE_IS(96, 1);
    free(kept);
    LIVE_IS(0, 0);
}

void *new_bytes(size_t) __asm__("_Znwm");
void *new_aligned(size_t, size_t) __asm__("_ZnamSt11align_val_t");
void *new_nothrow(size_t, const void *) __asm__("_ZnwmRKSt9nothrow_t");
void delete_bytes(void *) __asm__("_ZdlPv");
void delete_sized(void *, size_t) __asm__("_ZdaPvm");
#pragma weak new_bytes
#pragma weak new_aligned
#pragma weak new_nothrow
#pragma weak delete_bytes
#pragma weak delete_sized
void sdallocx(void *, size_t, int);
#pragma weak sdallocx

static void operators_of_cxx_are_counted_over_any_allocator(void **state)
{
    (void)state;
    kept = new_bytes(1000);
    void *aligned = new_aligned(300, 512), *nothrow = new_nothrow(50, NULL);
    assert_int_equal((uintptr_t)aligned % 512, 0);
    LIVE_IS(1350, 3);
    delete_bytes(kept);
    delete_sized(aligned, 300);
    delete_bytes(nothrow);
    LIVE_IS(0, 0);
}

static void a_free_by_another_name_is_counted(void **state)
{
    (void)state;
    kept = malloc(77);
    sdallocx(kept, 77, 0);
    LIVE_IS(0, 0);
}

static void what_cannot_be_had_counts_nothing(void **state)
{
    (void)state;
    volatile size_t too_many = PTRDIFF_MAX;
    uint64_t failures = page()->failures;
    void *block = kept = malloc(1);
    errno = 0;
    assert_null(malloc(too_many));
    assert_int_equal(errno, ENOMEM);
    assert_null(calloc(too_many, 3));
    assert_null(realloc(block, too_many));
    assert_null(reallocarray(block, too_many, 3));
    assert_null(pvalloc(SIZE_MAX - 10));
    uint64_t cumulative = page()->counts[HEAP_CLIENT].cumulative_blocks;
    phase("later");
    volatile size_t eight_tib = (size_t)1 << 43; /* the next allocator's refusal, not the meter's own */
    struct rlimit one_tib = {(rlim_t)1 << 40, RLIM_INFINITY};
    assert_int_equal(setrlimit(RLIMIT_AS, &one_tib), 0);
    assert_null(realloc(block, eight_tib));
    assert_int_equal(page()->counts[HEAP_CLIENT].cumulative_blocks, cumulative);
    assert_int_equal(page()->origin[HEAP_CLIENT][page()->phase].live_blocks, 0);
    assert_int_equal(posix_memalign((void **)&kept, 24, 1), EINVAL);
    assert_int_equal(posix_memalign((void **)&kept, 64, too_many), ENOMEM);
    LIVE_IS(1, 1);
    assert_int_equal(page()->failures - failures, 7); /* all of these, but for the alignment that is none */
    free(block);
    free(NULL);
    assert_null(realloc(malloc(1), 0)); /* a free */
    LIVE_IS(0, 0);
    assert_int_equal(page()->failures - failures, 7);
}

static void the_peak_is_of_the_phase_and_keeps_its_blocks(void **state)
{
    (void)state;
    void *large = malloc(5000), *small = malloc(10);
    free(large);
    void *other = malloc(20);
    PEAK_IS(5010, 2);
    phase("next");
    PEAK_IS(30, 2);
    kept = malloc(1);
    PEAK_IS(31, 3);
    assert_int_equal(page()->origin[HEAP_CLIENT][page()->phase].live_bytes, 1);
    free(kept);
    free(small);
    free(other);
    PEAK_IS(31, 3);
    LIVE_IS(0, 0);
}

static void a_block_belongs_to_who_allocated_it(void **state)
{
    (void)state;
    uint64_t server = page()->counts[HEAP_SERVER].live_bytes;
    role(HEAP_SERVER, 3);
    void *block = malloc(100);
    assert_int_equal(page()->counts[HEAP_SERVER].live_bytes - server, 100);
    role(HEAP_CLIENT, 7);
    block = realloc(block, 150);
    assert_int_equal(page()->counts[HEAP_SERVER].live_bytes - server, 150);
    LIVE_IS(0, 0);
    free(block);
    assert_int_equal(page()->counts[HEAP_SERVER].live_bytes - server, 0);
}

static void cumulative_counts_only_grow(void **state)
{
    (void)state;
    kept = realloc(malloc(100), 50);
    free(kept);
    assert_int_equal(page()->counts[HEAP_CLIENT].cumulative_bytes - before.cumulative_bytes, 150);
    assert_int_equal(page()->counts[HEAP_CLIENT].cumulative_blocks - before.cumulative_blocks, 2);
}

static void the_total_is_the_sum_of_the_roles(void **state)
{
    (void)state;
    uint64_t bytes = 0, blocks = 0;
    for (int i = 0; i < HEAP_ROLES; i++) {
        bytes += page()->counts[i].live_bytes;
        blocks += page()->counts[i].live_blocks;
    }
    assert_int_equal(page()->counts[HEAP_TOTAL].live_bytes, bytes);
    assert_int_equal(page()->counts[HEAP_TOTAL].live_blocks, blocks);
}

static pthread_barrier_t together;

static void *allocate_and_free(void *unused)
{
    role(HEAP_CLIENT, 1);
    pthread_barrier_wait(&together);
    for (int i = 0; i < 300000; i++)
        free(malloc(i % 300));
    return unused;
}

static void threads_lose_no_count(void **state)
{
    (void)state;
    pthread_t threads[4];
    role(HEAP_HARNESS, 0);
    pthread_barrier_init(&together, NULL, 4);
    for (int i = 0; i < 4; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, allocate_and_free, NULL), 0);
    for (int i = 0; i < 4; i++)
        pthread_join(threads[i], NULL);
    LIVE_IS(0, 0);
    assert_int_equal(page()->counts[HEAP_CLIENT].cumulative_blocks - before.cumulative_blocks, 1200000);
}

/* In the child: what the parent holds is live, and neither in the peak nor cumulative beyond that. */
static bool counts_on_from_its_parents_blocks(void)
{
    const struct heapmeter_count *client = &page()->counts[HEAP_CLIENT], *total = &page()->counts[HEAP_TOTAL];
    void *block = malloc(1000);
    bool own = client->live_bytes - before.live_bytes == 1100 && client->peak_bytes == client->live_bytes &&
               total->live_bytes - page()->inherited.live_bytes == 1000 &&
               total->cumulative_bytes - page()->inherited.cumulative_bytes == 1000 &&
               total->cumulative_blocks - page()->inherited.cumulative_blocks == 1;
    free(block);
    return own && page()->pid == (uint32_t)getpid() && page()->parent == (uint32_t)getppid();
}

static void a_fork_has_a_page_of_its_own(void **state)
{
    (void)state;
    char path[64];
    kept = malloc(5000);
    free(kept);
    kept = malloc(100);
    pid_t child = fork();
    if (child == 0)
        _exit(counts_on_from_its_parents_blocks() ? 0 : 1);
    int status;
    waitpid(child, &status, 0);
    snprintf(path, sizeof path, "/dev/shm/heapmeter.%d", child);
    role(HEAP_HARNESS, 0);
    assert_int_equal(status, 0);
    assert_int_equal(access(path, R_OK), 0);
    unlink(path);
    role(HEAP_CLIENT, 7);
    LIVE_IS(100, 1);
    free(kept);
}

static void the_page_is_readable_from_outside(void **state)
{
    (void)state;
    char path[64];
    struct heapmeter_page outside;
    kept = malloc(12345);
    role(HEAP_HARNESS, 0);
    snprintf(path, sizeof path, "/dev/shm/heapmeter.%d", getpid());
    FILE *file = fopen(path, "r");
    assert_non_null(file);
    assert_int_equal(fread(&outside, sizeof outside, 1, file), 1);
    fclose(file);
    assert_int_equal(outside.magic, HEAPMETER_MAGIC);
    assert_int_equal(outside.counts[HEAP_CLIENT].live_bytes - before.live_bytes, 12345);
    assert_string_equal(outside.phases[outside.phase], "test");
    free(kept);
}

static void a_program_starts_without_an_error(void **state)
{
    (void)state;
    assert_int_equal(errno_of_main, 0);
}

int main(void)
{
    errno_of_main = errno;
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_program_starts_without_an_error),
        cmocka_unit_test_setup(requested_bytes_are_counted_not_usable_ones, begin),
        cmocka_unit_test_setup(calloc_counts_and_zeroes, begin),
        cmocka_unit_test_setup(realloc_drops_the_old_size_before_it_adds_the_new_one, begin),
        cmocka_unit_test_setup(aligned_blocks_are_aligned_and_counted, begin),
        cmocka_unit_test_setup(an_odd_alignment_is_raised_as_glibc_does, begin),
        cmocka_unit_test_setup(operators_of_cxx_are_counted_over_any_allocator, begin),
        cmocka_unit_test_setup(a_free_by_another_name_is_counted, begin),
        cmocka_unit_test_setup(what_cannot_be_had_counts_nothing, begin),
        cmocka_unit_test_setup(the_peak_is_of_the_phase_and_keeps_its_blocks, begin),
        cmocka_unit_test_setup(a_block_belongs_to_who_allocated_it, begin),
        cmocka_unit_test_setup(cumulative_counts_only_grow, begin),
        cmocka_unit_test_setup(the_total_is_the_sum_of_the_roles, begin),
        cmocka_unit_test_setup(threads_lose_no_count, begin),
        cmocka_unit_test_setup(a_fork_has_a_page_of_its_own, begin),
        cmocka_unit_test_setup(the_page_is_readable_from_outside, begin),
    };
    int failed = cmocka_run_group_tests(tests, find_meter, NULL);
    char path[64];
    snprintf(path, sizeof path, "/dev/shm/heapmeter.%d", getpid());
    unlink(path);
    return failed;
}
