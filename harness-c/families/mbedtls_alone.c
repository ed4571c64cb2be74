/* What sessions of several threads do one after the other. The library has locks, but not as its own defaults build it
 * (MBEDTLS_THREADING_C): so an application has them, just where the library's are. */
#include "mbedtls_alone.h"

int random_alone(void *opaque, unsigned char *bytes, size_t size)
{
    struct context *context = opaque;
    pthread_mutex_lock(&context->random_lock);
    int result = mbedtls_ctr_drbg_random(&context->random, bytes, size);
    pthread_mutex_unlock(&context->random_lock);
    return result;
}

/* What blinds an RSA key changes with every signature. TLS 1.3 signs by a key of the library's own type only: there
 * the whole step of the handshake is locked. */
int sign_alone(void *opaque, int (*random)(void *, unsigned char *, size_t), void *source,
               RSA_MODE(int mode) mbedtls_md_type_t by, unsigned size, const unsigned char *hash,
               unsigned char *signature)
{
    struct context *context = opaque;
    pthread_mutex_lock(&context->key_lock);
    int result =
        mbedtls_rsa_pkcs1_sign(mbedtls_pk_rsa(context->key), random, source, RSA_MODE(mode) by, size, hash, signature);
    pthread_mutex_unlock(&context->key_lock);
    return result;
}

size_t key_size(void *context)
{
    return mbedtls_rsa_get_len(mbedtls_pk_rsa(((struct context *)context)->key));
}

int cache_get_alone(void *opaque, CACHE_ID mbedtls_ssl_session *session)
{
    struct context *context = opaque;
    pthread_mutex_lock(&context->kept_lock);
    int result = mbedtls_ssl_cache_get(&context->cache, CACHE_ID_GIVEN session);
    pthread_mutex_unlock(&context->kept_lock);
    return result;
}

int cache_set_alone(void *opaque, CACHE_ID const mbedtls_ssl_session *session)
{
    struct context *context = opaque;
    pthread_mutex_lock(&context->kept_lock);
    int result = mbedtls_ssl_cache_set(&context->cache, CACHE_ID_GIVEN session);
    pthread_mutex_unlock(&context->kept_lock);
    return result;
}

int ticket_write_alone(void *opaque, const mbedtls_ssl_session *session, unsigned char *start, const unsigned char *end,
                       size_t *size, uint32_t *lifetime)
{
    struct context *context = opaque;
    pthread_mutex_lock(&context->kept_lock);
    int result = mbedtls_ssl_ticket_write(&context->ticket, session, start, end, size, lifetime);
    pthread_mutex_unlock(&context->kept_lock);
    return result;
}

int ticket_parse_alone(void *opaque, mbedtls_ssl_session *session, unsigned char *ticket, size_t size)
{
    struct context *context = opaque;
    pthread_mutex_lock(&context->kept_lock);
    int result = mbedtls_ssl_ticket_parse(&context->ticket, session, ticket, size);
    pthread_mutex_unlock(&context->kept_lock);
    return result;
}
