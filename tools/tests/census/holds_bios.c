/* Holds TLS sessions with BIOs of several kinds, for tests of the census.
 *
 * Prints where a BIO has the number of its descriptor, as {"offset":N}, and ends with stdin. There are 3 sessions that
 * read through a buffer before their socket, 2 with a BIO of the program's own that copies that of a socket, as
 * PostgreSQL has it, and 1 of these whose socket is closed; 4 with one of its own that hides the socket, as HAProxy has
 * it, and keeps what it has read in blocks of its own, as Node.js does; 5 with memory BIOs. */
#include <openssl/ssl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

enum { BUFFERED = 3, COPIED = 3, HIDDEN = 4, IN_MEMORY = 5, NUMBER = 0x12345678, STATE_BYTES = 40, BUFFER_BYTES = 9000 };
static SSL_CTX *context;

static int socket_make(void)
{
    int ends[2];
    return socketpair(AF_UNIX, SOCK_STREAM, 0, ends) ? -1 : ends[0];
}

static void session_make(BIO *bio)
{
    SSL_set_bio(SSL_new(context), bio, bio);
}

static BIO *own_bio_make(int type, int number)
{
    BIO_METHOD *method = BIO_meth_new(type, "own");
    BIO *bio;
    BIO_meth_set_create(method, BIO_meth_get_create(BIO_s_socket()));
    BIO_meth_set_ctrl(method, BIO_meth_get_ctrl(BIO_s_socket()));
    bio = BIO_new(method);
    BIO_set_fd(bio, number, BIO_NOCLOSE);
    return bio;
}

static int number_offset(void)
{
    char *bio = (char *)BIO_new_socket(NUMBER, BIO_NOCLOSE);
    for (int offset = 0, found; offset < 128; offset += 4)
        if (memcpy(&found, bio + offset, sizeof found), found == NUMBER)
            return offset;
    return -1;
}

int main(void)
{
    context = SSL_CTX_new(TLS_server_method());
    for (int i = 0; i < BUFFERED; i++)
        session_make(BIO_push(BIO_new(BIO_f_buffer()), BIO_new_socket(socket_make(), BIO_NOCLOSE)));
    for (int i = 0; i < COPIED; i++) {
        int number = socket_make();
        session_make(own_bio_make(BIO_get_new_index() | BIO_TYPE_SOURCE_SINK | BIO_TYPE_DESCRIPTOR, number));
        if (i == 0)
            close(number);
    }
    for (int i = 0; i < HIDDEN; i++) {
        BIO *bio = own_bio_make(BIO_get_new_index() | BIO_TYPE_SOURCE_SINK, socket_make());
        void **state = calloc(1, STATE_BYTES);
        *state = calloc(1, BUFFER_BYTES);
        BIO_set_data(bio, state);
        session_make(bio);
    }
    for (int i = 0; i < IN_MEMORY; i++)
        session_make(BIO_new(BIO_s_mem()));
    printf("{\"offset\":%d}\n", number_offset());
    fflush(stdout);
    return getchar() == 0;
}
