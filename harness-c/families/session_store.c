/* Where a server keeps its sessions when its library leaves that to the application. */
#include "session_store.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

enum { STORE_BUCKETS = 256 }; /* by the first byte of an id, which is random */

struct kept {
    struct kept *next;
    size_t id_bytes, value_bytes;
    unsigned char bytes[]; /* the id, then the value */
};

struct session_store {
    struct bucket {
        pthread_mutex_t lock;
        struct kept *first;
    } buckets[STORE_BUCKETS];
};

struct session_store *store_new(void)
{
    struct session_store *store = calloc(1, sizeof *store);
    if (!store)
        die("session store: out of memory");
    for (int i = 0; i < STORE_BUCKETS; i++)
        pthread_mutex_init(&store->buckets[i].lock, NULL);
    return store;
}

/* Its bucket, locked. */
static struct bucket *store_enter(struct session_store *store, const void *id)
{
    struct bucket *bucket = &store->buckets[*(const unsigned char *)id];
    pthread_mutex_lock(&bucket->lock);
    return bucket;
}

/* Where the pointer to it is, or would be. */
static struct kept **store_find(struct bucket *bucket, const void *id, size_t id_bytes)
{
    struct kept **at = &bucket->first;
    while (*at && ((*at)->id_bytes != id_bytes || memcmp((*at)->bytes, id, id_bytes) != 0))
        at = &(*at)->next;
    return at;
}

static void store_drop(struct kept **at)
{
    struct kept *kept = *at;
    if (!kept)
        return;
    *at = kept->next;
    free(kept);
}

void store_remove(struct session_store *store, const void *id, size_t id_bytes)
{
    struct bucket *bucket = store_enter(store, id);
    store_drop(store_find(bucket, id, id_bytes));
    pthread_mutex_unlock(&bucket->lock);
}

void store_put(struct session_store *store, const void *id, size_t id_bytes, const void *value, size_t bytes)
{
    struct kept *kept = malloc(sizeof *kept + id_bytes + bytes);
    if (!kept)
        die("session store: out of memory");
    kept->id_bytes = id_bytes;
    kept->value_bytes = bytes;
    memcpy(kept->bytes, id, id_bytes);
    memcpy(kept->bytes + id_bytes, value, bytes);
    struct bucket *bucket = store_enter(store, id);
    store_drop(store_find(bucket, id, id_bytes));
    kept->next = bucket->first;
    bucket->first = kept;
    pthread_mutex_unlock(&bucket->lock);
}

void *store_get(struct session_store *store, const void *id, size_t id_bytes, size_t *bytes)
{
    struct bucket *bucket = store_enter(store, id);
    const struct kept *kept = *store_find(bucket, id, id_bytes);
    void *copy = kept ? malloc(kept->value_bytes) : NULL;
    if (kept && !copy)
        die("session store: out of memory");
    if (kept)
        memcpy(copy, kept->bytes + id_bytes, *bytes = kept->value_bytes);
    pthread_mutex_unlock(&bucket->lock);
    return copy;
}

void store_free(struct session_store *store)
{
    for (int i = 0; store && i < STORE_BUCKETS; i++) {
        while (store->buckets[i].first)
            store_drop(&store->buckets[i].first);
        pthread_mutex_destroy(&store->buckets[i].lock);
    }
    free(store);
}
