/* The compression of certificates, RFC 8879, in stacks that are built with it. */
#include "openssl_parts.h"

#ifndef CERTIFICATE_COMPRESSION

void certificates_compress(SSL_CTX *ctx, enum role role)
{
    (void)ctx, (void)role;
}

#elif defined OPENSSL_IS_BORINGSSL || defined OPENSSL_IS_AWSLC

#include <brotli/decode.h>
#include <brotli/encode.h>
#include <openssl/bytestring.h>
#include <openssl/pool.h>

enum { BROTLI = 2 }; /* RFC 8879, 7.3 */

static int brotli_compress(SSL *ssl, CBB *out, const uint8_t *in, size_t in_size)
{
    uint8_t *to;
    size_t size = BrotliEncoderMaxCompressedSize(in_size);
    (void)ssl;
    return CBB_reserve(out, &to, size) &&
           BrotliEncoderCompress(BROTLI_DEFAULT_QUALITY, BROTLI_DEFAULT_WINDOW, BROTLI_DEFAULT_MODE, in_size, in, &size,
                                 to) &&
           CBB_did_write(out, size);
}

/* The library has compared the length with what it takes of certificates. */
static int brotli_decompress(SSL *ssl, CRYPTO_BUFFER **out, size_t size, const uint8_t *in, size_t in_size)
{
    uint8_t *to;
    const size_t announced = size;
    (void)ssl;
    *out = CRYPTO_BUFFER_alloc(&to, size);
    if (*out && BrotliDecoderDecompress(in_size, in, &size, to) == BROTLI_DECODER_RESULT_SUCCESS && size == announced)
        return 1;
    CRYPTO_BUFFER_free(*out);
    *out = NULL;
    return 0;
}

/* The library has no algorithm of its own: as browsers and servers have it. */
void certificates_compress(SSL_CTX *ctx, enum role role)
{
    (void)role;
    openssl_check(SSL_CTX_add_cert_compression_alg(ctx, BROTLI, brotli_compress, brotli_decompress),
                  "SSL_CTX_add_cert_compression_alg");
}

#else

#include <openssl/err.h>

/* By every algorithm that the library was built with: its clients then take what they prefer. A client compresses when
 * it is asked for its certificate. */
void certificates_compress(SSL_CTX *ctx, enum role role)
{
    if (role == ROLE_SERVER && !SSL_CTX_compress_certs(ctx, 0)) /* as of ML-DSA's, which become no shorter */
        ERR_clear_error();
}

#endif