/* Two buffers as a wire: a BIO that copies what is written into one, and reads out of the other. */
#ifndef LOOPS_OPENSSL_FLOW_H
#define LOOPS_OPENSSL_FLOW_H

#include <openssl/bio.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

static struct flow {
    char *bytes;
    size_t room, written, read; /* written and read: since it was empty */
} flows[2];                     /* by who writes */
static BIO_METHOD *flow_method;

static int flow_write(BIO *bio, const char *bytes, int size)
{
    struct flow *out = BIO_get_data(bio);
    if ((size_t)size > out->room - out->written)
        return -1;
    memcpy(out->bytes + out->written, bytes, (size_t)size);
    out->written += (size_t)size;
    return size;
}

static int flow_read(BIO *bio, char *bytes, int most)
{
    struct flow *in = BIO_get_data(bio) == flows ? flows + 1 : flows;
    size_t size = in->written - in->read < (size_t)most ? in->written - in->read : (size_t)most;
    BIO_clear_retry_flags(bio);
    if (size == 0) {
        BIO_set_retry_read(bio);
        return -1;
    }
    memcpy(bytes, in->bytes + in->read, size);
    in->read += size;
    if (in->read == in->written)
        in->read = in->written = 0;
    return (int)size;
}

static long flow_ctrl(BIO *bio, int command, long value, void *pointer)
{
    (void)bio, (void)value, (void)pointer;
    return command == BIO_CTRL_FLUSH;
}

static bool flows_open(size_t room)
{
    for (int role = 0; role < 2; role++)
        flows[role] = (struct flow){.bytes = malloc(room), .room = room};
    flow_method = BIO_meth_new(BIO_get_new_index() | BIO_TYPE_SOURCE_SINK, "flow");
    return flow_method && flows[0].bytes && flows[1].bytes && BIO_meth_set_write(flow_method, flow_write) &&
           BIO_meth_set_read(flow_method, flow_read) && BIO_meth_set_ctrl(flow_method, flow_ctrl);
}

static BIO *flow_bio(int role)
{
    BIO *bio = BIO_new(flow_method);
    if (bio) {
        BIO_set_data(bio, &flows[role]);
        BIO_set_init(bio, 1);
    }
    return bio;
}

static bool flow_unread(int writer)
{
    return flows[writer].written > 0;
}

#endif
