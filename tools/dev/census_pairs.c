/* Established sessions for the cost of a census (bench_census.py). census_pairs CERTIFICATE KEY SESSIONS: half of them
 * are of clients, half of servers, in memory, each after its handshake. */
#include <openssl/ssl.h>
#include <stdio.h>
#include <stdlib.h>

int main(int argc, char **argv)
{
    if (argc != 4)
        return 2;
    SSL_CTX *server_context = SSL_CTX_new(TLS_server_method()), *client_context = SSL_CTX_new(TLS_client_method());
    if (SSL_CTX_use_certificate_file(server_context, argv[1], SSL_FILETYPE_PEM) != 1 ||
        SSL_CTX_use_PrivateKey_file(server_context, argv[2], SSL_FILETYPE_PEM) != 1)
        return 1;
    SSL_CTX_set_session_cache_mode(server_context, SSL_SESS_CACHE_OFF);
    for (long i = 0; i < atol(argv[3]) / 2; i++) {
        SSL *server = SSL_new(server_context), *client = SSL_new(client_context);
        BIO *of_server, *of_client;
        BIO_new_bio_pair(&of_server, 4096, &of_client, 4096);
        SSL_set_bio(server, of_server, of_server);
        SSL_set_bio(client, of_client, of_client);
        SSL_set_accept_state(server);
        SSL_set_connect_state(client);
        for (int step = 0; step < 20 && (SSL_in_init(server) || SSL_in_init(client)); step++) {
            SSL_do_handshake(client);
            SSL_do_handshake(server);
        }
        if (SSL_in_init(server) || SSL_in_init(client))
            return 1;
        SSL_read(client, &(char){0}, 1); /* the tickets */
    }
    puts("ready");
    fflush(stdout);
    getchar();
    return 0;
}
