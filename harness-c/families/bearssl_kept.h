/* What a server keeps of its sessions, by BearSSL's own cache. */
#ifndef MEMTEST_BEARSSL_KEPT_H
#define MEMTEST_BEARSSL_KEPT_H

#include "driver.h"

#include <bearssl.h>
#include <pthread.h>

/* A thread resumes one session at a time, of at most 256 threads; those longest unused go first. */
enum { KEPT_SESSIONS = 4096, KEPT_BYTES = 100 };

/* The library knows no threads: its caller has the lock. */
struct kept {
    const br_ssl_session_cache_class *vtable; /* the first, as of each of its caches */
    pthread_mutex_t lock;
    br_ssl_session_cache_lru cache;
    unsigned char store[KEPT_SESSIONS * KEPT_BYTES];
};

struct kept *kept_new(void);

#endif
