/* Where a server keeps its sessions when its library leaves that to the application: s2n-tls and GnuTLS have callbacks
 * for it, and nothing behind them. Threads share it; each bucket has a lock of its own, so that they hardly ever wait
 * here. Nothing is evicted: what was kept is found until the context is freed. */
#ifndef MEMTEST_SESSION_STORE_H
#define MEMTEST_SESSION_STORE_H

#include "driver.h"

struct session_store *store_new(void);
void store_put(struct session_store *store, const void *id, size_t id_bytes, const void *value, size_t bytes);
/* A copy by malloc, or NULL when there is none. */
void *store_get(struct session_store *store, const void *id, size_t id_bytes, size_t *bytes);
void store_remove(struct session_store *store, const void *id, size_t id_bytes);
void store_free(struct session_store *store); /* NULL: nothing */

#endif
