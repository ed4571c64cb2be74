/* What a server keeps of its sessions, by BearSSL's own cache; included by its driver alone. */
#ifndef MEMTEST_BEARSSL_KEPT_H
#define MEMTEST_BEARSSL_KEPT_H

#include "driver.h"

#include <bearssl.h>
#include <pthread.h>
#include <stdlib.h>

/* A thread resumes one session at a time, of at most 256 threads; those longest unused go first. */
enum { KEPT_SESSIONS = 4096, KEPT_BYTES = 100 };

/* The library knows no threads: its caller has the lock. */
struct kept {
    const br_ssl_session_cache_class *vtable; /* the first, as of each of its caches */
    pthread_mutex_t lock;
    br_ssl_session_cache_lru cache;
    unsigned char store[KEPT_SESSIONS * KEPT_BYTES];
};

static void kept_save(const br_ssl_session_cache_class **kept, br_ssl_server_context *server,
                      const br_ssl_session_parameters *parameters)
{
    struct kept *own = (struct kept *)kept;
    pthread_mutex_lock(&own->lock);
    own->cache.vtable->save(&own->cache.vtable, server, parameters);
    pthread_mutex_unlock(&own->lock);
}

static int kept_load(const br_ssl_session_cache_class **kept, br_ssl_server_context *server,
                     br_ssl_session_parameters *parameters)
{
    struct kept *own = (struct kept *)kept;
    pthread_mutex_lock(&own->lock);
    int found = own->cache.vtable->load(&own->cache.vtable, server, parameters);
    pthread_mutex_unlock(&own->lock);
    return found;
}

static struct kept *kept_new(void)
{
    static const br_ssl_session_cache_class alone = {sizeof(struct kept), kept_save, kept_load};
    struct kept *kept = calloc(1, sizeof *kept);
    if (!kept)
        die("out of memory");
    kept->vtable = &alone;
    pthread_mutex_init(&kept->lock, NULL);
    br_ssl_session_cache_lru_init(&kept->cache, kept->store, sizeof kept->store);
    return kept;
}

#endif
