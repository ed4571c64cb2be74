/* A large heap for the cost of a census (bench_census.py). census_heap SESSIONS BLOCKS BYTES SMALL: so many SSLs, blocks
 * of BYTES that are no session's, and small blocks between them. */
#include <openssl/ssl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int main(int argc, char **argv)
{
    if (argc != 5)
        return 2;
    long sessions = atol(argv[1]), blocks = atol(argv[2]), bytes = atol(argv[3]), small = atol(argv[4]);
    SSL_CTX *context = SSL_CTX_new(TLS_server_method());
    for (long i = 0; i < blocks; i++) {
        memset(malloc(bytes), 1, bytes);
        for (long j = i * small / blocks; j < (i + 1) * small / blocks; j++) {
            size_t size = 24 + j * 16 % 160;
            memset(malloc(size), 2, size);
        }
        if (i * sessions / blocks != (i + 1) * sessions / blocks)
            SSL_new(context);
    }
    puts("ready");
    fflush(stdout);
    getchar();
    return 0;
}
