/* Who visits what, against known answers: every session once, on the thread whose pair it is. */
#include "core.h"

#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { PAIRS = 10, THREADS = 3 };

struct run run = {.threads = THREADS};

_Noreturn void die(const char *format, ...)
{
    print_error("%s\n", format);
    exit(1);
}

void peer_must_live(void)
{
}

/* What one round or two did: by session, who and how often; and in which order. */
static struct round {
    pthread_t by[PAIRS][2];
    unsigned visits[PAIRS][2];
    size_t order[4 * PAIRS], count;
} was;

static void visited(size_t pair, enum role role, void *with)
{
    struct round *round = with;
    round->by[pair][role] = pthread_self();
    round->visits[pair][role]++;
    round->order[round->count++] = pair;
}

static const struct pairs all = {.count = PAIRS, .has = {true, true}};

static int fresh(void **state)
{
    (void)state;
    memset(&was, 0, sizeof was);
    return 0;
}

static void every_session_is_visited_once(void **state)
{
    (void)state;
    each(all, visited, &was);
    for (size_t pair = 0; pair < PAIRS; pair++)
        for (enum role role = ROLE_CLIENT; role <= ROLE_SERVER; role++)
            assert_int_equal(was.visits[pair][role], 1);
}

static void only_what_is_here_is_visited(void **state)
{
    (void)state;
    each((struct pairs){.first = 4, .count = 3, .has = {false, true}}, visited, &was);
    assert_int_equal(was.count, 3);
    for (size_t pair = 0; pair < PAIRS; pair++) {
        assert_int_equal(was.visits[pair][ROLE_CLIENT], 0);
        assert_int_equal(was.visits[pair][ROLE_SERVER], pair >= 4 && pair < 7);
    }
}

static bool is_odd(size_t pair)
{
    return pair % 2;
}

static void pairs_that_a_filter_leaves_out_are_not_visited(void **state)
{
    (void)state;
    each((struct pairs){.count = PAIRS, .has = {true, true}, .has_pair = is_odd}, visited, &was);
    for (size_t pair = 0; pair < PAIRS; pair++)
        assert_int_equal(was.visits[pair][ROLE_SERVER], pair % 2);
}

static void threads_take_turns_each_with_its_share(void **state)
{
    (void)state;
    each(all, visited, &was);
    const size_t order[PAIRS] = {0, 3, 6, 9, 1, 4, 7, 2, 5, 8};
    for (size_t i = 0; i < 2 * PAIRS; i++)
        assert_int_equal(was.order[i], order[i / 2]);
    for (size_t pair = 0; pair < PAIRS; pair++)
        for (size_t other = 0; other < PAIRS; other++)
            assert_int_equal(pthread_equal(was.by[pair][ROLE_CLIENT], was.by[other][ROLE_SERVER]) != 0,
                             pair % THREADS == other % THREADS);
}

static void elsewhere_is_the_next_thread(void **state)
{
    (void)state;
    static struct round there;
    memset(&there, 0, sizeof there);
    each(all, visited, &was);
    each_elsewhere(all, visited, &there);
    for (size_t pair = 0; pair + 1 < PAIRS; pair++) {
        assert_true(pthread_equal(there.by[pair][ROLE_SERVER], was.by[pair + 1][ROLE_SERVER]));
        assert_false(pthread_equal(there.by[pair][ROLE_SERVER], was.by[pair][ROLE_SERVER]));
    }
}

static void the_main_thread_waits(void **state)
{
    (void)state;
    each(all, visited, &was);
    for (size_t pair = 0; pair < PAIRS; pair++)
        assert_false(pthread_equal(was.by[pair][ROLE_CLIENT], pthread_self()));
}

static void one_thread_is_the_main_one(void **state)
{
    (void)state;
    run.threads = 1;
    each(all, visited, &was);
    each_elsewhere(all, visited, &was);
    run.threads = THREADS;
    for (size_t i = 0; i < 2 * PAIRS; i++)
        assert_int_equal(was.order[i], i / 2);
    for (size_t pair = 0; pair < PAIRS; pair++)
        assert_true(pthread_equal(was.by[pair][ROLE_SERVER], pthread_self()));
}

static pthread_t called[THREADS + 2];
static size_t calls;

static void note_thread(void)
{
    called[calls++] = pthread_self();
}

static void every_thread_is_called_once_the_main_one_last(void **state)
{
    (void)state;
    calls = 0;
    on_every_thread(note_thread);
    assert_int_equal(calls, THREADS + 1);
    each(all, visited, &was); /* of pair k, thread k */
    for (size_t thread = 0; thread < THREADS; thread++)
        assert_true(pthread_equal(called[thread], was.by[thread][ROLE_CLIENT]));
    assert_true(pthread_equal(called[THREADS], pthread_self()));
}

static void the_only_thread_is_called_once(void **state)
{
    (void)state;
    calls = 0;
    run.threads = 1;
    on_every_thread(note_thread);
    run.threads = THREADS;
    assert_int_equal(calls, 1);
    assert_true(pthread_equal(called[0], pthread_self()));
}

static int open_threads(void **state)
{
    (void)state;
    threads_open();
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(every_session_is_visited_once, fresh),
        cmocka_unit_test_setup(only_what_is_here_is_visited, fresh),
        cmocka_unit_test_setup(pairs_that_a_filter_leaves_out_are_not_visited, fresh),
        cmocka_unit_test_setup(threads_take_turns_each_with_its_share, fresh),
        cmocka_unit_test_setup(elsewhere_is_the_next_thread, fresh),
        cmocka_unit_test_setup(the_main_thread_waits, fresh),
        cmocka_unit_test_setup(one_thread_is_the_main_one, fresh),
        cmocka_unit_test_setup(every_thread_is_called_once_the_main_one_last, fresh),
        cmocka_unit_test_setup(the_only_thread_is_called_once, fresh),
    };
    return cmocka_run_group_tests(tests, open_threads, NULL);
}
