/* The wire as a BIO of its own kind: one for both directions, which holds no bytes. */
#include "openssl_parts.h"

#include <pthread.h>

static BIO_METHOD *wire_method;
static pthread_once_t wire_method_once = PTHREAD_ONCE_INIT;

static int wire_bio_write(BIO *bio, const char *bytes, int size)
{
    size_t taken = wire_write(BIO_get_data(bio), bytes, size);
    BIO_clear_retry_flags(bio);
    if (taken == 0)
        BIO_set_retry_write(bio);
    return taken ? (int)taken : -1;
}

static int wire_bio_read(BIO *bio, char *bytes, int size)
{
    size_t given = wire_read(BIO_get_data(bio), bytes, size);
    BIO_clear_retry_flags(bio);
    if (given == 0)
        BIO_set_retry_read(bio);
    return given ? (int)given : -1;
}

static long wire_bio_ctrl(BIO *bio, int command, long number, void *pointer)
{
    (void)bio, (void)number, (void)pointer;
    return command == BIO_CTRL_FLUSH;
}

static void wire_method_new(void)
{
    wire_method = BIO_meth_new(BIO_get_new_index() | BIO_TYPE_SOURCE_SINK, "wire");
    openssl_check(wire_method && BIO_meth_set_write(wire_method, wire_bio_write) &&
                      BIO_meth_set_read(wire_method, wire_bio_read) && BIO_meth_set_ctrl(wire_method, wire_bio_ctrl),
                  "BIO_meth_new");
}

void wire_bio_prepare(void)
{
    pthread_once(&wire_method_once, wire_method_new);
}

BIO *wire_bio_new(struct wire *wire)
{
    BIO *bio = BIO_new(wire_method);
    openssl_check(bio, "BIO_new");
    BIO_set_data(bio, wire);
    BIO_set_init(bio, 1);
    return bio;
}
