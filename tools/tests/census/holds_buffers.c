/* Holds TLS sessions with memory BIOs that keep bytes, for tests of the census: holds_buffers COUNT LEAST STEP FEW LARGE.
 * Session i has LEAST + i * STEP bytes waiting to be read, but for the first FEW, which have LARGE. Prints the bytes of
 * the chunks that they take, as malloc counts them, and ends with stdin. */
#include <malloc.h>
#include <openssl/ssl.h>
#include <stdio.h>
#include <stdlib.h>

static size_t in_use(void)
{
    struct mallinfo2 info = mallinfo2();
    return info.uordblks + info.hblkhd;
}

int main(int argc, char **argv)
{
    static char bytes[1 << 20];
    if (argc != 6)
        return 2;
    int count = atoi(argv[1]), least = atoi(argv[2]), step = atoi(argv[3]), few = atoi(argv[4]), large = atoi(argv[5]);
    SSL_CTX *context = SSL_CTX_new(TLS_server_method());
    SSL_free(SSL_new(context)); /* what the first session makes and the library keeps is there then */
    size_t before = in_use();
    for (int i = 0; i < count; i++) {
        BIO *to_read = BIO_new(BIO_s_mem());
        SSL *session = SSL_new(context);
        BIO_write(to_read, bytes, i < few ? large : least + i * step);
        SSL_set_bio(session, to_read, BIO_new(BIO_s_mem()));
    }
    printf("{\"in_use\":%zu}\n", in_use() - before);
    fflush(stdout);
    return getchar() == 0;
}
