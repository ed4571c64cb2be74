"""What the instructions of a TLS library's file say: the sizes of its structures, and where their fields are.

For files of x86-64 alone, and so are the packages that it needs."""

from collections.abc import Iterable

from tlsmem.census.elf_image import ElfImage, Function
from tlsmem.census.instructions import (
    Allocation,
    find_allocations,
    find_constant_calls,
    find_fields_read,
    find_returned_address,
)
from tlsmem.census.objects import BIO, CONTEXT, RECORD_LAYER, SESSION, TICKET, X509

ALLOCATING = {  # objects of OpenSSL by the source file that allocates them, each the largest that it allocates so
    SESSION: "ssl/ssl_lib.c",
    TICKET: "ssl/ssl_sess.c",
    RECORD_LAYER: "ssl/record/methods/tls_common.c",
    BIO: "crypto/bio/bio_lib.c",
}
LEAST_SSL_BYTES = 2048  # an SSL of any release has more, an SSL_CTX has less
LEAST_GNUTLS_BYTES = 1024
READERS = {  # functions that read one field each, by what it says
    "is_server": "SSL_is_server",
    "in_init": "SSL_in_init",
    "handshake": "SSL_get_state",
    "read_bio": "SSL_get_rbio",
}
BEFORE = "SSL_in_before"  # reads `handshake` and the field of the state machine's own state
X509_ITEM = "X509_it"
ITEM_SIZE_AT, ITEM_BYTES = 40, 56  # of sizeof(X509) in an ASN1_ITEM


def openssl_sizes(image: ElfImage) -> dict[str, int]:
    """Return the sizes of OpenSSL's objects, those that the file has code of."""
    by_source = {name: find_allocations(image, source) for name, source in ALLOCATING.items()}
    of_lib = by_source.pop(SESSION)
    ssl = max((one for one in of_lib if one.bytes >= LEAST_SSL_BYTES), default=None)
    sizes: dict[str, int] = {}
    if ssl:
        sizes[SESSION] = ssl.bytes
        sizes |= largest(CONTEXT, (one for one in of_lib if one.bytes < LEAST_SSL_BYTES and one.callee == ssl.callee))
    for name, allocations in by_source.items():
        # CRYPTO_zalloc is what allocates structures; in a file with a TLS part, what allocates an SSL is that.
        sizes |= largest(name, (one for one in allocations if not ssl or one.callee == ssl.callee))
    item = image.find_functions({X509_ITEM}).get(X509_ITEM)
    size = item and read_item_size(image, item)
    return sizes | ({X509: size} if size else {})


def largest(name: str, allocations: Iterable[Allocation]) -> dict[str, int]:
    sizes = [one.bytes for one in allocations]
    return {name: max(sizes)} if sizes else {}


def read_item_size(image: ElfImage, function: Function) -> int | None:
    """Return the size that the ASN1_ITEM has which a function returns."""
    place = find_returned_address(function)
    item = image.read(place, ITEM_BYTES) if place else b""
    size = int.from_bytes(item[ITEM_SIZE_AT : ITEM_SIZE_AT + 8], "little")
    return size if 0 < size < 1 << 16 else None


def openssl_fields(image: ElfImage) -> dict[str, int]:
    """Return the offsets of an SSL's fields, of functions that the file still names."""
    functions = image.find_functions({*READERS.values(), BEFORE})
    # Since OpenSSL 3.2 they read the kind of the object first, at offset 0.
    read = {name: find_fields_read(function) - {0} for name, function in functions.items()}
    fields = {what: next(iter(read[name])) for what, name in READERS.items() if len(read.get(name, ())) == 1}
    machine = read.get(BEFORE, set()) - {fields.get("handshake")}
    return fields | ({"machine": machine.pop()} if len(machine) == 1 else {})


def gnutls_sizes(image: ElfImage) -> dict[str, int]:
    """Return the size of a session: gnutls_init() has one call of calloc(1, size) that is so large."""
    function = image.find_functions({"gnutls_init"}).get("gnutls_init")
    calls = find_constant_calls(function) if function else set()
    sizes = {size for number, size in calls if number == 1 and LEAST_GNUTLS_BYTES <= size < 1 << 16}
    return {SESSION: sizes.pop()} if len(sizes) == 1 else {}
