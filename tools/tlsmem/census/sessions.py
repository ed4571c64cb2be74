"""The TLS sessions in a heap: which chunks are one, in what state each is, and what each holds.

A session is a chunk of the exact size of the library's structure in which a pointer leads to the library's own data,
its methods. What it holds is found by following pointers from it: chunks that lead back to a session are the
application's, and those that several sessions or a context lead to are shared. Only structures are read, and of them
only what is a pointer, a kind or a state; record buffers are not."""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from functools import cache

import numpy as np
import numpy.typing as npt

from tlsmem.census.heap_walk import Places, Pointers, Words
from tlsmem.census.library import BIO, CONTEXT, GNUTLS, RECORD_LAYER, SESSION, TICKET, X509, Library
from tlsmem.census.live_heap import (
    LARGEST_READ_BYTES,
    UNIT_BYTES,
    Beginning,
    LiveHeap,
    Mark,
    read_starts,
)
from tlsmem.census.sockets import (
    NEEDED_GNUTLS,
    Descriptors,
    SocketState,
    confirm_closed,
    pair,
    read_endpoints,
    read_types,
)
from tlsmem.census.target import Memory

METHOD_WORDS = range(1, 4)  # where an SSL has its method, by release
BIO_METHOD_WORDS = range(2)  # and a BIO
LOW = np.uint64(0xFFFFFFFF)
STACK_DATA_AT, LARGEST_STACK_BYTES = 8, 64  # in an OPENSSL_STACK; of its chunk
# For the number of sessions, so many pointers are enough: to a chunk of one size, or to any.
LEAST_SHARE, LEAST_SHARE_TO_ANY = 0.05, 0.25
NO_OWNER, SHARED = -1, 1 << 40
NO_OFFSET = -1
TABLE_SHARE = 4  # of numbers that are counted in a table: it has at most so many times as many entries
SAMPLE = 1000  # sessions, to find a field by what they have there
RECORD_TYPES = range(20, 24)  # of TLS: change_cipher_spec, alert, handshake, application_data
LONGEST_WRITE_BYTES = np.uint64(1 << 32)
PROTOCOLS = (0x300, 0x301, 0x302, 0x303, 0x304, 0xFEFF, 0xFEFD)  # what an SSL_SESSION begins with
SERIAL_KINDS = (2, 0x102)  # V_ASN1_INTEGER, V_ASN1_NEG_INTEGER: the type of a serial number, with which an X509 begins
LONGEST_SERIAL_BYTES = 64
LARGEST_BIO_TYPE = 0x7FF  # an index, and a bit each for a descriptor, a filter, and a source or sink
BEFORE, OK = 0, 1  # OSSL_HANDSHAKE_STATE
UNINITIALISED = 0  # MSG_FLOW_STATE
NEEDED = {"handshake", "in_init"}  # fields that tell a state
STATE_FIELDS = {*NEEDED, "machine", "is_server"}
NEEDED_BIO = {"bio_method", "bio_data"}  # fields that tell what a BIO of the program's own has
SESSION_FIELDS = (*sorted(STATE_FIELDS), "read_bio", "ex_data", *sorted(NEEDED_GNUTLS))


Values = Mapping[str, Words]  # of each session, by the name of the field
Weights = npt.NDArray[np.float64]


class State(StrEnum):
    CREATED = "created"
    HALF_OPEN = "half-open"
    ESTABLISHED = "established"
    UNKNOWN = "unknown"


class Role(StrEnum):
    SERVER = "server"
    CLIENT = "client"
    UNKNOWN = "unknown"


ENTITIES = {1: Role.SERVER, 2: Role.CLIENT}  # with which a session of GnuTLS begins


@dataclass(frozen=True)
class SessionGroup:
    """Sessions of one library, role and state: how many, the bytes that they alone hold, in chunks with headers, and
    how many have what of a socket. `own_bio_bytes`: those of `bytes` that the program keeps in BIOs of its own, of
    which GnuTLS has none; None where the library's file does not say what a BIO is."""

    role: Role
    state: State
    count: int
    bytes: int
    own_bio_bytes: int | None
    resident_bytes: int
    mmapped_bytes: int  # of those that are resident, in mappings of their own
    sockets: Counter[SocketState]


@dataclass(frozen=True)
class LibraryCensus:
    """What a library has in a heap. `objects`: how many there are by kind."""

    library: Library
    groups: tuple[SessionGroup, ...]
    objects: dict[str, int]

    @property
    def sessions(self) -> int:
        return sum(group.count for group in self.groups)


def count_sessions(
    memory: Memory,
    heap: LiveHeap,
    library: Library,
    list_open: Callable[[], Sequence[Descriptors | None]],
    walk_again: Callable[[], LiveHeap],
) -> LibraryCensus:
    """Return the sessions of a library; `list_open` gives what descriptors the process has open, once the sessions are
    read; `walk_again` its heap at a later time. Raises OSError when the process ends meanwhile."""
    roots, values, of_roots = find_sessions(heap, library)
    kinds = name_states(library, values, len(roots))
    numbers = number_kinds(kinds)
    owners = find_owners(memory, heap, library, roots, of_roots, values, numbers)
    endpoints = read_endpoints(memory, heap, library, values, len(roots))
    sockets = pair(endpoints, list_open())
    if SocketState.CLOSED in sockets:
        sockets = confirm_closed(memory, heap, roots, sockets, walk_again)
    owned = np.flatnonzero((owners >= 0) & (owners != SHARED))
    is_kept, is_mmapped = find_kept_in_bios(memory, heap, library, owners)[owned], heap.is_mmapped[owned]
    by_root = [
        np.bincount(owners[owned], weights, len(roots)).astype(np.int64)
        for weights in (
            heap.sizes[owned],
            heap.sizes[owned] * is_kept,
            heap.resident[owned],
            heap.resident[owned] * is_mmapped,
        )
    ]
    has_known_bios = library.found.library == GNUTLS or tells_bios(library)
    groups = []
    for role, state in sorted(set(kinds)):
        number = numbers == numbers[kinds.index((role, state))]
        held, own_bio, resident, mmapped = (int(sums[number].sum()) for sums in by_root)
        counts = Counter(sockets[one] for one in np.flatnonzero(number))
        own = own_bio if has_known_bios else None
        groups.append(SessionGroup(role, state, int(number.sum()), held, own, resident, mmapped, counts))
    return LibraryCensus(library, tuple(groups), count_objects(heap, library))


def list_beginnings(library: Library) -> Iterator[Beginning]:
    """Yield how the objects begin that are counted: what find_sessions() and count_objects() look for."""
    sizes = library.sizes
    if library.found.library == GNUTLS:
        for entity in ENTITIES:
            yield Beginning(Mark.SESSION, sizes[SESSION], 0, entity, entity + 1, int(LOW))
        return
    for word in METHOD_WORDS:
        yield Beginning(Mark.SESSION, sizes[SESSION], word, *library.mapped.bounds)
    for protocol in PROTOCOLS if TICKET in sizes else ():
        yield Beginning(Mark.TICKET, sizes[TICKET], 0, protocol, protocol + 1, int(LOW))
    for word in BIO_METHOD_WORDS if BIO in sizes else ():
        yield Beginning(Mark.BIO, sizes[BIO], word, *library.mapped_crypto.bounds)
    for kind in SERIAL_KINDS if X509 in sizes else ():
        yield Beginning(Mark.X509, sizes[X509], 1, kind << 32, (kind << 32) + LONGEST_SERIAL_BYTES + 1)


def find_marked(heap: LiveHeap, library: Library, mark: Mark, name: str) -> Places:
    """Return the chunks that may be an object of the library, and began as one when the heap was walked through."""
    chunks = heap.find_marked(mark)
    return chunks[library.find(heap, chunks, name)]


def find_sessions(heap: LiveHeap, library: Library) -> tuple[Places, Values, Pointers]:
    """Return which chunks are sessions, what these have in the fields that are known, and the pointers in them. All is
    read at once: to read a field of each of many takes as long as to read all of each."""
    chunks = find_marked(heap, library, Mark.SESSION, SESSION)
    known = {name: library.fields[name] for name in SESSION_FIELDS if name in library.fields}
    offsets = {name: offset for name, offset in known.items() if offset + 2 * 8 <= library.sizes[SESSION]}
    if "ex_data" in offsets:
        offsets["ex_data_stack"] = offsets["ex_data"] + 8
    if library.found.library == GNUTLS:
        offsets["entity"] = 0
    else:
        offsets |= {f"word {word}": 8 * word for word in METHOD_WORDS}
    pointers, fields = heap.read_pointers(chunks, list(offsets.values()))
    values = dict(zip(offsets, fields, strict=True))
    if library.found.library == GNUTLS:
        is_session = np.isin(values["entity"] & LOW, list(ENTITIES))
    else:
        has_method = [library.mapped.has(values[f"word {word}"]) for word in METHOD_WORDS]
        is_session = np.logical_or.reduce(has_method)
    is_of_session = is_session[np.searchsorted(chunks, pointers[0])]
    of_sessions = {name: column[is_session] for name, column in values.items()}
    return chunks[is_session], of_sessions, select_pointers(pointers, is_of_session)


def name_states(library: Library, values: Values, count: int) -> list[tuple[Role, State]]:
    """Return role and state of each session, by their fields."""
    if library.found.library == GNUTLS:
        return [(ENTITIES[entity], State.UNKNOWN) for entity in (values["entity"] & LOW).tolist()]
    if not values.keys() >= NEEDED:
        return [(Role.UNKNOWN, State.UNKNOWN)] * count
    unset = np.ones(count, np.uint64)
    columns = [values.get(name, unset) & LOW for name in ("handshake", "in_init", "machine", "is_server")]
    return [name_state("is_server" in values, *row) for row in np.stack(columns, axis=1).tolist()]


@cache  # of few states, for many sessions
def name_state(has_role: bool, handshake: int, in_init: int, machine: int, is_server: int) -> tuple[Role, State]:
    """Return role and state as the fields of a session have them. The role of one that is only created is not decided:
    a method for both roles sets that of a server."""
    if handshake == BEFORE and machine == UNINITIALISED:
        return Role.UNKNOWN, State.CREATED
    role = (Role.SERVER if is_server else Role.CLIENT) if has_role else Role.UNKNOWN
    return role, State.ESTABLISHED if handshake == OK and not in_init else State.HALF_OPEN


def count_objects(heap: LiveHeap, library: Library) -> dict[str, int]:
    """Return how many objects there are of each kind that can be told by its size and its beginning."""
    found: dict[str, int] = {}
    if TICKET in library.sizes:
        (first,) = heap.read_fields(find_marked(heap, library, Mark.TICKET, TICKET), 0)
        found[TICKET] = int(np.isin(first & LOW, PROTOCOLS).sum())
    if BIO in library.sizes:
        words = heap.read_fields(find_marked(heap, library, Mark.BIO, BIO), *(8 * word for word in BIO_METHOD_WORDS))
        found[BIO] = int(np.logical_or.reduce([library.mapped_crypto.has(one) for one in words]).sum())
    if X509 in library.sizes:
        (second,) = heap.read_fields(find_marked(heap, library, Mark.X509, X509), 8)
        kinds, lengths = second >> np.uint64(32), second & LOW
        is_serial = np.isin(kinds, SERIAL_KINDS) & (lengths <= LONGEST_SERIAL_BYTES)
        found[X509] = int(is_serial.sum())
    return found


def number_kinds(kinds: Sequence[tuple[Role, State]]) -> Places:
    """Return a number for role and state of each session."""
    numbers = {kind: number for number, kind in enumerate(dict.fromkeys(kinds))}
    return np.array([numbers[kind] for kind in kinds], np.int64)


def find_owners(
    memory: Memory,
    heap: LiveHeap,
    library: Library,
    roots: Places,
    of_roots: Pointers,
    values: Values,
    kinds: Places,
) -> Places:
    """Return for each chunk which session holds it, by the session's number; SHARED, or NO_OWNER. `kinds`: numbers of
    roles and states.

    A chunk is that session's from which the fewest pointers lead to it; of several as near, that one's whose field
    leads to a chunk of this size most often. So fields that still lead to what was freed, where another session's chunk
    is by now, do not make that shared. It is shared where sessions, or a session and a context, lead to it alike.

    The library clears most structures when it allocates them, but not arrays and buffers. What is in these and was
    never written is what an earlier block left there. So in blocks that are of no kind that is known to be cleared, a
    pointer counts if it has enough like it, for the number of sessions of the same role and state."""
    is_root = np.zeros(len(heap.addresses), bool)
    is_root[roots] = True
    is_cleared = is_root.copy()
    for mark, name in ((Mark.TICKET, TICKET), (Mark.BIO, BIO), (Mark.X509, X509)):
        is_cleared[find_marked(heap, library, mark, name)] = True
    owners = np.full(len(heap.addresses), NO_OWNER)
    owners[roots] = np.arange(len(roots))
    direct = find_distinct(of_roots[1])
    contexts = direct[library.find(heap, direct, CONTEXT)]
    owners[contexts] = SHARED
    lent = find_lent(memory, heap, library, roots)
    frontier = np.concatenate([roots, contexts])
    is_closed = np.zeros(len(heap.addresses), bool)  # to the application's chunks nothing leads
    is_closed[find_attached(heap, values)] = True
    is_closed[direct] = False
    pointers = join(of_roots, heap.read_pointers(contexts)[0])
    sessions = np.append(np.bincount(kinds), 0)
    kind_of_owner = np.append(kinds, len(sessions) - 1)  # what is shared is of a kind of its own
    while len(frontier):
        sources, targets, offsets = pointers
        weights = weigh(heap, frontier, pointers)
        is_record_layer = library.find(heap, sources, RECORD_LAYER)
        may_lead_back = is_root[sources] | is_record_layer | library.find(heap, sources, CONTEXT)
        is_seldom = ~is_cleared[sources] & ~is_record_layer
        kinds_of = kind_of_owner[np.minimum(owners[sources[is_seldom]], len(kinds))]
        is_seldom[is_seldom] = have_few_alike(heap, sessions, kinds_of, select_pointers(pointers, is_seldom))
        of_application = sources[is_root[targets] & ~may_lead_back & ~is_seldom]
        owners[of_application] = NO_OWNER
        is_closed[of_application] = True
        is_new = (owners[targets] == NO_OWNER) & ~is_closed[targets] & ~is_closed[sources]
        is_new &= ~(is_root[sources] & (offsets == lent))
        is_new &= ~is_seldom
        frontier = assign(owners, sources[is_new], targets[is_new], weights[is_new])
        frontier = frontier[heap.sizes[frontier] <= LARGEST_READ_BYTES]
        pointers, _ = heap.read_pointers(frontier)
    return owners


def tells_bios(library: Library) -> bool:
    """Return whether the library's file says what a BIO is, and where it has its method and data."""
    return BIO in library.sizes and library.fields.keys() >= NEEDED_BIO


def find_kept_in_bios(memory: Memory, heap: LiveHeap, library: Library, owners: Places) -> npt.NDArray[np.bool_]:
    """Return which chunks sessions hold through the data of BIOs of the program's own. Such a BIO has a method from
    BIO_meth_new(), which is in the heap. What its data leads to is the program's, but for structures of the library,
    such as a BIO that it wraps."""
    is_kept = np.zeros(len(heap.addresses), bool)
    if not tells_bios(library):
        return is_kept
    owned = np.flatnonzero((owners >= 0) & (owners != SHARED))
    bios = owned[library.find(heap, owned, BIO)]
    methods, data = heap.read_fields(bios, library.fields["bio_method"], library.fields["bio_data"])
    types, is_own = read_types(memory, heap, library, methods)
    is_own &= (types > 0) & (types <= LARGEST_BIO_TYPE)
    is_library = np.zeros(len(heap.addresses), bool)
    is_library[find_marked(heap, library, Mark.BIO, BIO)] = True
    is_library[bios[is_own]] = True
    sources, targets = bios[is_own], heap.find(data[is_own])
    sources, targets = sources[targets >= 0], targets[targets >= 0]
    while len(targets):
        is_new = (owners[targets] == owners[sources]) & ~is_kept[targets] & ~is_library[targets]
        is_new &= ~library.find(heap, targets, RECORD_LAYER, TICKET)
        frontier = find_distinct(targets[is_new])
        is_kept[frontier] = True
        (sources, targets, _), _ = heap.read_pointers(frontier[heap.sizes[frontier] <= LARGEST_READ_BYTES])
    return is_kept


def join(*parts: Pointers) -> Pointers:
    """Return the pointers of all."""
    sources, targets, offsets = (np.concatenate(part) for part in zip(*parts, strict=True))
    return sources, targets, offsets


def find_attached(heap: LiveHeap, values: Values) -> Places:
    """Return the chunks that the application has attached to sessions, by SSL_set_ex_data(): those to which the array
    of the stack in the field leads. Before the stack, the field has a context since OpenSSL 3.0."""
    if "ex_data" not in values:
        return np.zeros(0, np.int64)
    stacks = find_chunks(heap, np.concatenate([values["ex_data"], values["ex_data_stack"]]))
    stacks = stacks[heap.sizes[stacks] - heap.lead_bytes - heap.behind_bytes <= LARGEST_STACK_BYTES]
    (arrays,) = heap.read_fields(stacks, STACK_DATA_AT)
    (_, attached, _), _ = heap.read_pointers(find_chunks(heap, arrays))
    return attached


def find_lent(memory: Memory, heap: LiveHeap, library: Library, roots: Places) -> int:
    """Return where in an SSL, in words, the application's buffer is from which it writes, or NO_OFFSET.

    An SSL still leads to the last one (wpend_buf), which may be freed and another's by then. Before it are how many
    bytes were to be written, the type of the record, and how many were (wpend_tot, wpend_type, wpend_ret). Since
    OpenSSL 3.2 the last of these is not there, and the first is 0 once all are written."""
    if library.found.library == GNUTLS or not len(roots):
        return NO_OFFSET
    sample = np.sort(roots)[:: len(roots) // SAMPLE + 1]
    rows = read_starts(memory, heap, sample, library.sizes[SESSION] // 8)
    lowest, highest = heap.addresses[[0, -1]].astype(np.uint64)
    is_buffer = (rows >= lowest) & (rows <= highest)
    total, kind, done, buffer = rows[:, :-3], rows[:, 1:-2] & LOW, rows[:, 2:-1], is_buffer[:, 3:]
    is_written = is_record_type(kind) & (total == done) & (total > 0) & (total < LONGEST_WRITE_BYTES) & buffer
    is_reset = is_record_type(rows[:, 1:-1]) & (rows[:, :-2] == 0) & is_buffer[:, 2:]
    counts = np.stack([is_written.sum(axis=0), is_reset.sum(axis=0)[1:]])  # by where the pointer is, from word 3 on
    return int(np.argmax(counts.max(axis=0))) + 3 if counts.any() else NO_OFFSET


def is_record_type(words: Words) -> npt.NDArray[np.bool_]:
    found: npt.NDArray[np.bool_] = (words >= np.uint64(RECORD_TYPES.start)) & (words < np.uint64(RECORD_TYPES.stop))
    return found


def find_chunks(heap: LiveHeap, pointers: Words) -> Places:
    """Return the chunks to the beginning of which pointers lead, each once."""
    chunks = find_distinct(heap.find(pointers))
    return chunks[chunks >= 0]


def find_distinct(chunks: Places) -> Places:
    """Return each once, in order. NumPy's unique() takes 20 times as long: since 2.3 it fills a table of hashes."""
    ordered = np.sort(chunks)
    return ordered[np.append(True, ordered[1:] != ordered[:-1])] if len(ordered) else ordered


def number_values(values: Places) -> tuple[Places, Places, Places]:
    """Return the distinct values in order, for each value which of them it is, and how often each is there, as NumPy's
    unique() does. It sorts; where the values are small for their number, a table of all up to the largest takes a tenth
    of the time."""
    if not len(values) or int(values.max()) >= TABLE_SHARE * len(values):
        distinct, which, counts = np.unique(values, return_inverse=True, return_counts=True)
        return distinct, which.ravel(), counts
    table = np.bincount(values)
    distinct = np.flatnonzero(table)
    return distinct, (np.cumsum(table > 0) - 1)[values], table[distinct]


def weigh(heap: LiveHeap, frontier: Places, pointers: Pointers) -> Weights:
    """Return for each pointer in which share of the chunks of its chunk's size the same field leads to a chunk of the
    same size as here."""
    sources, targets, offsets = pointers
    sizes, _, alike = number_values(heap.sizes[frontier] // UNIT_BYTES)
    of_source = np.searchsorted(sizes, heap.sizes[sources] // UNIT_BYTES)
    target_sizes, of_target, _ = number_values(heap.sizes[targets] // UNIT_BYTES)
    fields = of_source * (int(offsets.max(initial=0)) + 1) + offsets
    _, field, counts = number_values(fields * len(target_sizes) + of_target)
    found: Weights = counts[field] / alike[of_source]
    return found


def have_few_alike(heap: LiveHeap, sessions: Places, kinds: Places, pointers: Pointers) -> npt.NDArray[np.bool_]:
    """Return which pointers have few like them: from a chunk of the same kind and size, at the same offset, to any
    chunk. Of those that lead to a chunk of one size, fewer suffice. Sizes may be 16 bytes apart: malloc does not divide
    what is left if it is less than a chunk.

    `sessions`: how many there are of each kind; `kinds`: those of the chunks that the pointers are in, as numbers."""
    sources, targets, offsets = pointers
    units, target_units = heap.sizes[sources] // UNIT_BYTES, heap.sizes[targets] // UNIT_BYTES
    # With room for the sizes next to the largest and to the smallest.
    step, width = int(offsets.max(initial=0)) + 1, int(target_units.max(initial=0)) + 3
    fields, of_field, counts = number_values((kinds * (int(units.max(initial=0)) + 3) + units + 1) * step + offsets)
    to_any = add_near(fields, counts, (-step, 0, step))[of_field]
    pairs, of_pair, counts = number_values(of_field * width + target_units + 1)
    steps = [a * step * width + b for a in (-1, 0, 1) for b in (-1, 0, 1)]
    to_size = add_near(fields[pairs // width] * width + pairs % width, counts, steps)[of_pair]
    few: npt.NDArray[np.bool_] = to_size < LEAST_SHARE * sessions[kinds]
    return few & (to_any < LEAST_SHARE_TO_ANY * sessions[kinds])


def add_near(numbers: Places, counts: Places, steps: Iterable[int]) -> Places:
    """Return for each number, of distinct ones in order, the sum of the counts of all that are so far from it."""
    sums = np.zeros(len(numbers), np.int64)
    for step in steps if len(numbers) else ():
        places = np.minimum(np.searchsorted(numbers, numbers + step), len(numbers) - 1)
        sums += np.where(numbers[places] == numbers + step, counts[places], 0)
    return sums


def select_pointers(pointers: Pointers, chosen: npt.NDArray[np.bool_]) -> Pointers:
    sources, targets, offsets = pointers
    return sources[chosen], targets[chosen], offsets[chosen]


def assign(owners: Places, sources: Places, targets: Places, weights: Weights) -> Places:
    """Give chunks without an owner that of the chunks whose pointers to them weigh most; return them, each once."""
    found, which, _ = number_values(targets)
    heaviest = np.zeros(len(found))
    np.maximum.at(heaviest, which, weights)
    is_heaviest = weights == heaviest[which]
    given, which = owners[sources[is_heaviest]], which[is_heaviest]
    least, most = np.full(len(found), SHARED), np.full(len(found), NO_OWNER)
    np.minimum.at(least, which, given)
    np.maximum.at(most, which, given)
    owners[found] = np.where(least == most, least, SHARED)
    return found


def add_up(groups: Iterable[SessionGroup]) -> Counter[State]:
    """Return how many sessions there are in each state."""
    found: Counter[State] = Counter()
    for group in groups:
        found[group.state] += group.count
    return found


def add_up_sockets(groups: Iterable[SessionGroup]) -> Counter[SocketState]:
    """Return how many sessions have what of a socket."""
    found: Counter[SocketState] = Counter()
    for group in groups:
        found.update(group.sockets)
    return found


def describe_states(groups: Iterable[SessionGroup]) -> str:
    """Return how many there are in each state that is told."""
    counts = add_up(groups)
    shown = [State.ESTABLISHED, State.HALF_OPEN, State.CREATED]
    return ", ".join(f"{counts[state]:,} {state}" for state in shown if counts[state])
