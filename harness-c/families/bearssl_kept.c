/* What a server keeps of its sessions, by BearSSL's own cache. */
#include "bearssl_kept.h"

#include <stdlib.h>

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

struct kept *kept_new(void)
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
