/* What a client's chain holds at a server that has verified it, counted by the memory hooks of the system's OpenSSL: no
 * meter of this project is in it. It parses and verifies the chain 1,000 times, keeps all, and divides; then it makes
 * the names alone, and the keys. usage: one_certificate CHAIN ROOT (PEM); prints `chain`, `names` and `keys` in bytes
 */
#include "counted_openssl.h"
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/x509.h>
#include <openssl/x509_vfy.h>
#include <stdio.h>

enum { TIMES = 1000, MOST = 8 };

static X509 *sent[MOST];
static int count;
static X509_STORE *store;

static void read_chain(const char *file)
{
    BIO *in = BIO_new_file(file, "r");
    must(in != NULL, file);
    while (count < MOST && (sent[count] = PEM_read_bio_X509(in, NULL, NULL, NULL)))
        count++;
    must(count > 0, file);
    BIO_free(in);
}

/* As a server does with what its client proves that it has the key of: the signature here is none. */
static void use_key(EVP_PKEY *key)
{
    unsigned char signature[256] = {1}, message[] = "signed";
    EVP_MD_CTX *ctx = EVP_MD_CTX_new();
    must(EVP_DigestVerifyInit(ctx, NULL, EVP_sha256(), NULL, key), "EVP_DigestVerifyInit");
    EVP_DigestVerify(ctx, signature, sizeof signature, message, sizeof message);
    EVP_MD_CTX_free(ctx);
    ERR_clear_error(); /* which are kept by the thread */
}

static X509 *parse(int at)
{
    unsigned char *der = NULL;
    const int size = i2d_X509(sent[at], &der);
    const unsigned char *from = der;
    X509 *made = d2i_X509(NULL, &from, size);
    must(made != NULL, "d2i_X509");
    OPENSSL_free(der);
    return made;
}

static void chain(void)
{
    STACK_OF(X509) *peers = sk_X509_new_null();
    for (int i = 0; i < count; i++)
        sk_X509_push(peers, parse(i));
    X509_STORE_CTX *ctx = X509_STORE_CTX_new();
    must(X509_STORE_CTX_init(ctx, store, sk_X509_value(peers, 0), peers), "X509_STORE_CTX_init");
    X509_STORE_CTX_set_default(ctx, "ssl_client");
    must(X509_verify_cert(ctx) == 1, "X509_verify_cert");
    X509_STORE_CTX_get1_chain(ctx); /* is kept beside the peers */
    X509_STORE_CTX_free(ctx);
    use_key(X509_get0_pubkey(sk_X509_value(peers, 0)));
}

static void name(const X509_NAME *of)
{
    unsigned char *der = NULL;
    const int size = i2d_X509_NAME(of, &der);
    const unsigned char *from = der;
    must(d2i_X509_NAME(NULL, &from, size) != NULL, "d2i_X509_NAME");
    OPENSSL_free(der);
}

static void names(void)
{
    for (int i = 0; i < count; i++) {
        name(X509_get_subject_name(sent[i]));
        name(X509_get_issuer_name(sent[i]));
    }
}

static void keys(void)
{
    for (int i = 0; i < count; i++) {
        unsigned char *der = NULL;
        const int size = i2d_X509_PUBKEY(X509_get_X509_PUBKEY(sent[i]), &der);
        const unsigned char *from = der;
        X509_PUBKEY *made = d2i_X509_PUBKEY(NULL, &from, size);
        must(made != NULL, "d2i_X509_PUBKEY");
        OPENSSL_free(der);
        use_key(X509_PUBKEY_get0(made));
    }
}

static void report(const char *what, void (*make)(void))
{
    make(); /* with what the library takes once */
    const size_t before = live;
    for (int i = 0; i < TIMES; i++)
        make();
    printf("%s %zu\n", what, (live - before) / TIMES);
    must((live - before) % TIMES == 0, "making the same each time");
}

int main(int argc, char **argv)
{
    must(argc == 3 && CRYPTO_set_mem_functions(take, resize, drop), "one_certificate CHAIN ROOT");
    read_chain(argv[1]);
    store = X509_STORE_new();
    must(X509_STORE_load_locations(store, argv[2], NULL), argv[2]);
    report("chain", chain);
    report("names", names);
    report("keys", keys);
    return 0;
}
