"""What a file has of TLS libraries: which, of which version, and the sizes of their objects as its instructions say.

A size in a table of versions would be wrong: Debian's OpenSSL 3.0.22 allocates another size for a session than the
upstream release. The answer follows from the file alone and is kept by its build id."""

import hashlib
import re
from dataclasses import asdict
from typing import BinaryIO

from tlsmem.base.cache_file import digest_code
from tlsmem.base.memo import recall
from tlsmem.census.elf_image import UNREADABLE, ElfImage
from tlsmem.census.library import CRYPTO, GNUTLS, OPENSSL, LibraryFile

SSL_SOURCE, BIO_SOURCE = "ssl/ssl_lib.c", "crypto/bio/bio_lib.c"  # whose names OpenSSL's allocations pass
OTHERS = {  # that are recognised and not counted, by how their file's name begins
    "libwolfssl.": "wolfSSL",
    "libmbedtls.": "Mbed TLS",
    "libs2n.": "s2n-tls",
    "libssl3.": "NSS",
    "libnss3.": "NSS",
    "libboringssl.": "BoringSSL",
}
RUSTLS = re.compile(rb"rustls-(\d+\.\d+\.\d+)/src/")
GO = b"crypto/tls.(*Conn)."
BANNERS = {
    "LibreSSL": re.compile(rb"LibreSSL (\d+\.\d+\.\d+)"),
    OPENSSL: re.compile(rb"OpenSSL (\d+\.\d+\.\d+[a-z]?)[-\w.+ ]* \d+ [A-Z][a-z][a-z] \d{4}"),
}


def identify(file: BinaryIO, name: str) -> LibraryFile | None:
    """Return what a file has of a TLS library; None where it has nothing, or is no ELF file of 64 bits.

    `name` is the last part of its path."""
    try:
        image = ElfImage(file)
    except UNREADABLE:
        return None
    try:
        key = image.build_id or hashlib.blake2b(image.content, digest_size=20).hexdigest()
        found = recall(
            "census",
            [key, len(image.content), name],
            digest_code(("census/library_file.py",)),
            lambda: compute(image, name),
        )
    except UNREADABLE:
        return None
    finally:
        image.close()
    return LibraryFile(**found) if found else None


def compute(image: ElfImage, name: str) -> dict[str, object] | None:
    """As identify(), as JSON has it."""
    library = name_library(image, name)
    if not library:
        return None
    version = find_version(image, library)
    found = LibraryFile(library, version)
    if image.is_x86_64 and library in (OPENSSL, CRYPTO, GNUTLS):
        from tlsmem.census import object_sizes  # what it needs is there on x86-64 alone

        if library == GNUTLS:
            found = LibraryFile(library, version, object_sizes.gnutls_sizes(image), object_sizes.gnutls_fields(image))
        else:
            sizes = object_sizes.openssl_sizes(image)
            fields = object_sizes.openssl_fields(image) | object_sizes.openssl_places(image, sizes)
            found = LibraryFile(library, version, sizes, fields)
    return asdict(found)


def name_library(image: ElfImage, name: str) -> str | None:
    """Return whose TLS library the file has, by its name or by strings that each has."""
    if name.startswith("libgnutls."):
        return GNUTLS
    for start, library in OTHERS.items():
        if name.startswith(start):
            return library
    content = image.content
    if content.find(b"ssl/ssl_lib.cc\0") >= 0:
        return "AWS-LC" if content.find(b"AWS-LC") >= 0 else "BoringSSL"
    has_ssl, is_libssl = image.find_source_names(SSL_SOURCE), name.startswith("libssl.")
    if has_ssl or is_libssl:
        return "LibreSSL" if BANNERS["LibreSSL"].search(content) or is_libre(image) else OPENSSL
    if RUSTLS.search(content):
        return "rustls"
    if content.find(GO) >= 0:
        return "Go's crypto/tls"
    is_crypto = name.startswith("libcrypto.") or image.find_source_names(BIO_SOURCE)
    return CRYPTO if is_crypto else None


def is_libre(image: ElfImage) -> bool:
    """Return whether a library without a banner is LibreSSL's, which alone has this function."""
    return bool(image.find_functions({"SSL_CTX_use_certificate_chain_mem"})) and not image.find_functions(
        {"SSL_CTX_new_ex"}
    )


def find_version(image: ElfImage, library: str) -> str | None:
    if library == "rustls":
        pattern = RUSTLS
    else:
        pattern = BANNERS.get(OPENSSL if library == CRYPTO else library, re.compile(rb"(?!)"))
    found = pattern.search(image.content)
    return found[1].decode() if found else None
