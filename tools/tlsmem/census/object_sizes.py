"""What the instructions of a TLS library's file say: the sizes of its structures, and where their fields are.

For files of x86-64 alone, and so are the packages that it needs."""

from collections.abc import Iterable, Mapping

from iced_x86 import OpAccess

from tlsmem.census.elf_image import ElfImage, Function
from tlsmem.census.instructions import (
    Allocation,
    find_allocations,
    find_constant_calls,
    find_copied,
    find_fields,
    find_passed_offsets,
    find_returned_address,
    find_stored,
)
from tlsmem.census.library import BIO, CONTEXT, RECORD_LAYER, SESSION, TICKET, X509

ALLOCATING = {  # objects of OpenSSL by the source file that allocates them, each the largest that it allocates so
    SESSION: "ssl/ssl_lib.c",
    TICKET: "ssl/ssl_sess.c",
    RECORD_LAYER: "ssl/record/methods/tls_common.c",
    BIO: "crypto/bio/bio_lib.c",
}
LEAST_SSL_BYTES = 2048  # an SSL of any release has more, an SSL_CTX has less
LEAST_GNUTLS_BYTES = 1024
READERS = {  # functions that read one field each of an SSL, by what it says
    "is_server": "SSL_is_server",
    "in_init": "SSL_in_init",
    "handshake": "SSL_get_state",
    "read_bio": "SSL_get_rbio",
    "method": "SSL_get_ssl_method",
}
CONTEXT_METHOD = "SSL_CTX_get_ssl_method"
ALLOCATOR = "CRYPTO_get_mem_functions"  # copies which function allocates
MALLOC = "malloc"
STATE_FIELDS = {"is_server", "in_init", "handshake", "machine"}
STATE_SOURCE = "ssl/statem/statem.c"
NEAR_FUNCTIONS, NEAR_CLEAR = 40, 6  # functions to look through
LONGEST_READER_BYTES, LONGEST_CALLER_BYTES = 128, 400
APPLICATION_DATA = "SSL_set_ex_data"  # passes on where an SSL has what the application has attached to it
BIO_READERS = {  # the same of a BIO
    "bio_method": "BIO_method_type",
    "bio_next": "BIO_next",
    "bio_data": "BIO_get_data",
    "bio_init": "BIO_get_init",
    "bio_shutdown": "BIO_get_shutdown",
    "bio_flags": "BIO_test_flags",
    "bio_retry_reason": "BIO_get_retry_reason",
}
SOCKET_METHOD = "BIO_s_socket"
METHOD_FUNCTIONS = range(2, 16)  # words of a BIO_METHOD, behind its type and name, at most
GNUTLS_READERS = {"transport": "gnutls_transport_get_ptr"}
GNUTLS_WRITERS = {"pull_function": "gnutls_transport_set_pull_function"}
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
    """Return the offsets of fields of an SSL and of a BIO, of functions that the file still names."""
    functions = image.find_functions(
        {*READERS.values(), *BIO_READERS.values(), BEFORE, SOCKET_METHOD, APPLICATION_DATA, CONTEXT_METHOD}
    )
    read = {name: find_fields(function) for name, function in functions.items()}
    # Since OpenSSL 3.2 those of an SSL read the kind of the object first, at offset 0.
    of_ssl = {name: offsets - {0} for name, offsets in read.items()}
    fields = name_fields(READERS, of_ssl) | name_fields(BIO_READERS, read)
    machine = of_ssl.get(BEFORE, set()) - {fields.get("handshake")}
    attached = find_passed_offsets(functions[APPLICATION_DATA]) if APPLICATION_DATA in functions else set()
    number = find_number(image, functions, {offset for name, offset in fields.items() if name in BIO_READERS})
    if not fields.keys() >= STATE_FIELDS:
        fields |= find_state_fields(image)
    fields |= name_only("ex_data", attached) | name_only("context_method", read.get(CONTEXT_METHOD, set()))
    return fields | name_only("machine", machine) | name_only("bio_number", number)


def find_state_fields(image: ElfImage) -> dict[str, int]:
    """Return the offsets of the fields that tell a state, of a file without names of functions.

    One after the other are, in a source file whose name others of its functions pass: SSL_get_state(), SSL_in_init(),
    SSL_is_init_finished(), which reads what both do, and SSL_in_before(). Behind them is ossl_statem_clear(), which
    resets the fields. SSL_set_accept_state() and SSL_set_connect_state() call that, and store who is the server."""
    places = {place for names in image.find_source_names(STATE_SOURCE) for place in image.find_references(names)}
    near = {one.start: one for place in places for one in image.functions_near(place, NEAR_FUNCTIONS)}
    functions = [near[start] for start in sorted(near)]
    read = [find_fields(one) - {0} if one.end - one.start <= LONGEST_READER_BYTES else set() for one in functions]
    for number, (state, init, both, before) in enumerate(zip(read, read[1:], read[2:], read[3:], strict=False)):
        if len(state) == len(init) == 1 and both == state | init and len(before) == 2 and state < before:
            (handshake,), (in_init,), (machine,) = state, init, before - state
            for one in functions[number + 4 : number + 4 + NEAR_CLEAR]:
                if find_stored(one) >= {(handshake, 0), (machine, 0)}:
                    found = {"handshake": handshake, "in_init": in_init, "machine": machine}
                    return found | find_role_field(image, one, set(found.values()))
    return {}


def find_role_field(image: ElfImage, clear: Function, others: set[int]) -> dict[str, int]:
    """Return the offset to which one of the functions that call `clear` stores 1, and another one 0."""
    callers = {image.function_at(place) for place in image.find_references(range(clear.start, clear.start + 1))}
    stored = [find_stored(one) for one in callers if one and one.end - one.start <= LONGEST_CALLER_BYTES]
    ones, zeros = ({offset for one in stored for offset, value in one if value == wanted} for wanted in (1, 0))
    return name_only("is_server", (ones & zeros) - others)


def openssl_places(image: ElfImage, sizes: Mapping[str, int]) -> dict[str, int]:
    """Return addresses in the file: in one with a TLS part, where it has its methods; in one with libcrypto's part,
    where the functions are kept that allocate."""
    found: dict[str, int] = {}
    if SESSION in sizes and image.is_relocated and image.relro:
        found |= {"base": image.base, "relro": image.relro[0][0], "relro_bytes": image.relro[0][1]}
    if BIO in sizes:
        function = image.find_functions({ALLOCATOR}).get(ALLOCATOR)
        place = function and find_copied(function)
        found |= {"malloc_function": place} if place else {}
        found |= malloc_places(image)
    return found


def malloc_places(image: ElfImage) -> dict[str, int]:
    """Return where the file has the address of malloc once it is loaded."""
    slot = image.find_slot(MALLOC)
    return {"crypto_base": image.base} | ({"malloc_slot": slot} if slot else {})


def name_fields(functions: Mapping[str, str], read: Mapping[str, set[int]]) -> dict[str, int]:
    """Return the offset that each function reads, if it is one, by what the field says."""
    found: dict[str, int] = {}
    for what, name in functions.items():
        found |= name_only(what, read.get(name, set()))
    return found


def name_only(what: str, offsets: set[int]) -> dict[str, int]:
    return {what: next(iter(offsets))} if len(offsets) == 1 else {}


def find_number(image: ElfImage, functions: Mapping[str, Function], others: set[int]) -> set[int]:
    """Return the offset of the descriptor's number in a BIO. No function of its own reads it: it is the field that the
    functions of BIO_s_socket() read, besides those that have one."""
    method = find_returned_address(functions[SOCKET_METHOD]) if SOCKET_METHOD in functions else None
    if not method or len(others) < len(BIO_READERS):
        return set()
    found: set[int] = set()
    for word in METHOD_FUNCTIONS:
        place = image.read_pointer(method + 8 * word)
        function = image.function_at(place) if place else None
        if place and not function:
            break  # the method ends before
        found |= find_fields(function) if function else set()
    return found - others


def gnutls_fields(image: ElfImage) -> dict[str, int]:
    """Return the offsets of a session's fields that say how it reads."""
    functions = image.find_functions({*GNUTLS_READERS.values(), *GNUTLS_WRITERS.values()})
    read = {name: find_fields(function) for name, function in functions.items()}
    written = {name: find_fields(function, OpAccess.WRITE) for name, function in functions.items()}
    return name_fields(GNUTLS_READERS, read) | name_fields(GNUTLS_WRITERS, written) | malloc_places(image)


def gnutls_sizes(image: ElfImage) -> dict[str, int]:
    """Return the size of a session: gnutls_init() has one call of calloc(1, size) that is so large."""
    function = image.find_functions({"gnutls_init"}).get("gnutls_init")
    calls = find_constant_calls(function) if function else set()
    sizes = {size for number, size in calls if number == 1 and LEAST_GNUTLS_BYTES <= size < 1 << 16}
    return {SESSION: sizes.pop()} if len(sizes) == 1 else {}
