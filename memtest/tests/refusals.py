"""What each library says of a server that is not to be trusted, by kind and by the family of stacks that it is.

One line a family; several words where its versions differ, of which a sentence has just one. They are the library's
own, but where a driver has to look itself, as mbedTLS takes any key, or to say it: BearSSL has codes only."""

ISSUER, NO_FILE = "unable to get local issuer certificate", "No such file or directory"
REFUSED = {
    "another root": {
        "awslc": (ISSUER,),
        "bearssl": ("does not lead to the root",),
        "boringssl": (ISSUER,),
        "gnutls": ("The certificate issuer is unknown",),
        "go": ("certificate signed by unknown authority",),
        "libressl": (ISSUER,),
        "mbedtls": ("The certificate is not correctly signed by the trusted CA",),
        "openssl": (ISSUER,),
        "rustls": ("UnknownIssuer",),
        "s2n": ("Certificate is untrusted",),
        "wolfssl": ("ASN no signer error",),
    },
    "another name": {
        "awslc": ("Hostname mismatch",),
        "bearssl": ("is not for this host",),
        "boringssl": ("Hostname mismatch",),
        "gnutls": ("The name in the certificate does not match",),
        "go": ("certificate is valid for elsewhere.test, not localhost",),
        "libressl": ("error number 62",),  # all that 3.1 has for it
        "mbedtls": ("does not match with the expected CN",),
        "openssl": ("hostname mismatch", "Hostname mismatch"),  # 1.1.1's with a capital
        "rustls": ("certificate not valid for name", "NotValidForName"),
        "s2n": ("Certificate is not valid for the supplied hostname",),
        "wolfssl": ("peer subject name mismatch",),
    },
    "another key": {
        "awslc": ("KEY_VALUES_MISMATCH",),
        "bearssl": ("is not by the key of its certificate",),  # its server does not look at its key
        "boringssl": ("KEY_VALUES_MISMATCH",),
        "gnutls": ("The certificate and the given key do not match",),
        "go": ("private key does not match public key",),
        "libressl": ("key values mismatch",),
        "mbedtls": ("is not the key of chain.pem",),
        "openssl": ("key values mismatch",),
        "rustls": ("KeyMismatch", "peer certificate: BadSignature"),  # 0.22's server does not look at its key
        "s2n": ("public and private key do not match",),
        "wolfssl": ("verify problem based on signature",),  # its server does not either
    },
    "missing": {
        "awslc": (NO_FILE,),
        "bearssl": (NO_FILE,),
        "boringssl": (NO_FILE,),
        "gnutls": ("Error while reading file",),
        "go": ("no such file or directory",),
        "libressl": (NO_FILE,),
        "mbedtls": ("Read/write of file failed",),
        "openssl": (NO_FILE,),
        "rustls": (NO_FILE,),
        "s2n": (NO_FILE,),
        "wolfssl": ("Input/output error on file",),
    },
}


def family(stack: str) -> str:
    """The library that speaks."""
    return stack.partition("@")[0].partition("+")[0]
