/* What a server's sessions are kept in where its library keeps none, against known answers. */
#include "../../harness-c/families/session_store.c" /* a bucket is looked into */

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>

#include <cmocka.h>

enum { ID_BYTES = 32, MANY = 100000, THREADS = 4, ROUNDS = 1500, OWN = 48 };

_Noreturn void die(const char *format, ...)
{
    print_error("%s\n", format);
    exit(1);
}

/* All in one bucket: ids differ in their ends only. */
static const void *id_of(unsigned number, char id[ID_BYTES])
{
    memset(id, 'a', ID_BYTES);
    memcpy(id + ID_BYTES - sizeof number, &number, sizeof number);
    return id;
}

static bool holds(struct session_store *store, const void *id, size_t id_bytes, const char *value)
{
    size_t bytes = 0;
    char *found = store_get(store, id, id_bytes, &bytes);
    bool same = found && bytes == strlen(value) && memcmp(found, value, bytes) == 0;
    free(found);
    return same;
}

static void what_is_kept_is_found_under_its_id_alone(void **state)
{
    (void)state;
    struct session_store *store = store_new();
    store_put(store, "one", 3, "first", 5);
    store_put(store, "onf", 3, "second", 6);
    store_put(store, "on", 2, "third", 5);
    assert_true(holds(store, "one", 3, "first"));
    assert_true(holds(store, "onf", 3, "second"));
    assert_true(holds(store, "on", 2, "third"));
    assert_null(store_get(store, "o", 1, &(size_t){0}));
    assert_null(store_get(store, "one more", 8, &(size_t){0}));
    store_free(store);
}

static void what_is_kept_again_replaces_what_was(void **state)
{
    (void)state;
    struct session_store *store = store_new();
    store_put(store, "one", 3, "old", 3);
    store_put(store, "one", 3, "newer", 5);
    assert_true(holds(store, "one", 3, "newer"));
    store_remove(store, "one", 3);
    assert_null(store_get(store, "one", 3, &(size_t){0}));
    store_remove(store, "one", 3);
    store_free(store);
}

/* Of ids in all buckets, each is still there after all others have come. */
static void nothing_is_evicted(void **state)
{
    (void)state;
    struct session_store *store = store_new();
    char id[16], value[16];
    for (int number = 0; number < MANY; number++) {
        snprintf(id, sizeof id, "%c%08d", number % STORE_BUCKETS, number);
        snprintf(value, sizeof value, "%d", number);
        store_put(store, id, 9, value, strlen(value));
    }
    for (int number = 0; number < MANY; number++) {
        snprintf(id, sizeof id, "%c%08d", number % STORE_BUCKETS, number);
        snprintf(value, sizeof value, "%d", number);
        assert_true(holds(store, id, 9, value));
    }
    store_free(store);
    store_free(NULL);
}

static struct session_store *shared;
static pthread_barrier_t together;

/* Keeps, replaces, finds and forgets its own ids, in the bucket that all threads use; what it missed, or NULL. */
static void *use_shared(void *first)
{
    unsigned from = (unsigned)(size_t)first;
    static char missed[] = "missed";
    char id[ID_BYTES];
    pthread_barrier_wait(&together);
    for (unsigned round = 0; round < ROUNDS; round++) {
        for (unsigned number = from; number < from + OWN; number++)
            store_put(shared, id_of(number, id), ID_BYTES, "kept", 4);
        for (unsigned number = from; number < from + OWN; number++) {
            if (!holds(shared, id_of(number, id), ID_BYTES, "kept"))
                return missed;
            store_remove(shared, id, ID_BYTES);
        }
    }
    return NULL;
}

static void threads_share_a_bucket(void **state)
{
    (void)state;
    pthread_t threads[THREADS];
    shared = store_new();
    pthread_barrier_init(&together, NULL, THREADS);
    for (size_t i = 0; i < THREADS; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, use_shared, (void *)(i * 100)), 0);
    for (size_t i = 0; i < THREADS; i++) {
        void *missed;
        pthread_join(threads[i], &missed);
        assert_null(missed);
    }
    assert_null(shared->buckets['a'].first);
    store_free(shared);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_kept_is_found_under_its_id_alone),
        cmocka_unit_test(what_is_kept_again_replaces_what_was),
        cmocka_unit_test(nothing_is_evicted),
        cmocka_unit_test(threads_share_a_bucket),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
