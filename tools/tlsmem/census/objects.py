"""Names of what is counted: libraries, and their objects as their documentation names them."""

OPENSSL, CRYPTO, GNUTLS = "OpenSSL", "libcrypto", "GnuTLS"
SESSION, TICKET, CONTEXT, RECORD_LAYER, BIO, X509 = "SSL", "SSL_SESSION", "SSL_CTX", "record layer", "BIO", "X509"
