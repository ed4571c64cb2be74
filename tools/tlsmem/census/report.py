"""What a census says: a row for each library, role and state of each process, and one for its memory."""

from collections.abc import Iterable, Iterator, Sequence

from tlsmem.census.census import ProcessCensus
from tlsmem.census.core_file import Core
from tlsmem.census.library import BIO, TICKET, X509
from tlsmem.census.sessions import LibraryCensus, Role, SessionGroup, State, add_up_sockets, describe_states
from tlsmem.census.sockets import SocketState, tells_sockets
from tlsmem.census.target import Target
from tlsmem.tables.table import Cell, Heading, Table, integer_cell, missing_cell, text_cell

NO_FIELDS = "the library's file has no function names, so the state and role of a session are unknown"
NO_STATE = "GnuTLS's file does not show the state"
NO_ROLE = "not decided before a handshake begins"
NOT_ALLOWED = "you may not list the open files of the process"
NOT_IN_CORE = "a core does not say which sockets were open"
NO_NAMES = "the library's file has no function names"
OTHER_BIOS = "the sessions read through memory BIOs, or BIOs of the program's own"
UNKNOWN_OBJECT = "the library's file does not show the size of such an object"
CAPTION_SESSIONS = (
    "TLS sessions by role and state, counted from outside. Created: before the handshake. Half-open: in it. Bytes: "
    "malloc chunks, headers included, that sessions alone hold, resident or not; what several sessions share, such as "
    "certificates and contexts, is left out. Bytes in the program's BIOs: the part of these that the program keeps in "
    "BIOs of its own, for example as buffers. Socket open: sessions whose socket the process has open. Socket closed: "
    "sessions whose socket it has open no longer; they belong to no connection. SSL_SESSION, X509, BIO: such objects "
    "of the library in the whole process, those of sessions included; given in its first row. Size of a session's "
    "structure: from {}."
)
PARTS = (
    "TLS sessions: what they alone hold. Other live: other chunks in use, and malloc's own structures. Mmapped chunks: "
    "other chunks in use that have a mapping of their own. Cached by malloc; free, but kept: freed by the program and "
    "not returned to the OS. Files: written pages of mapped files. Other mappings: what the program maps itself."
)
CAPTION_MEMORY = (
    f"Resident anonymous memory (RssAnon) in bytes. The parts, from TLS sessions on, add up to it. {PARTS} "
    "Connections: established TCP connections that the process has open."
)
CAPTION_CORE = "Anonymous memory in {} in bytes. The parts, from TLS sessions on, add up to it. " + PARTS + " {}"
AS_RESIDENT = "The file is sparse: pages that were never written are not in it, and not counted."
AS_DUMPED = "The file is not sparse: pages that hold zeros alone are not counted, so RssAnon was somewhat more."
SESSION_COLUMNS = (
    Heading("program", "program", left=True),
    Heading("pid", "pid"),
    Heading("library", "library", left=True),
    Heading("role", "role", left=True),
    Heading("state", "state", left=True),
    Heading("sessions", "sessions"),
    Heading("bytes", "bytes"),
    Heading("bytes_per_session", "bytes/session"),
    Heading("own_bio_bytes", "bytes in the program's BIOs"),
    Heading("sockets_open", "socket open"),
    Heading("sockets_closed", "socket closed"),
)
OBJECT_COLUMNS = (Heading("ssl_sessions", TICKET), Heading("x509", X509), Heading("bio", BIO))
MEMORY_COLUMNS = (
    Heading("program", "program", left=True),
    Heading("pid", "pid"),
    Heading("sessions", "sessions"),
    Heading("connections", "connections"),
    Heading("anon_bytes", "RssAnon"),
    Heading("tls_bytes", "TLS sessions"),
    Heading("other_live_bytes", "other live"),
    Heading("cached_bytes", "cached by malloc"),
    Heading("free_bytes", "free, but kept"),
    Heading("mmapped_bytes", "mmapped chunks"),
    Heading("stacks_bytes", "stacks"),
    Heading("files_bytes", "files"),
    Heading("other_bytes", "other mappings"),
)
CORE_COLUMNS = tuple(
    Heading("dumped_bytes", "in the core", one.left) if one.key == "anon_bytes" else one for one in MEMORY_COLUMNS
)
BLANK = Cell("", None)
ALL = "all"


def summarise(found: Sequence[ProcessCensus]) -> str:
    """Return in one sentence what is found, of several processes the sums."""
    libraries = [library for process in found for library in process.libraries]
    groups = [group for library in libraries for group in library.groups]
    sessions, tls = sum(group.count for group in groups), sum(process.tls_bytes for process in found)
    anon, counted = sum(process.rss.anon_bytes for process in found), [process.connections for process in found]
    programs = list(dict.fromkeys(process.target.program for process in found))
    which = f"{len(found):,} processes" if len(found) > 1 else str(found[0].target.pid)
    titles = " and ".join(dict.fromkeys(library.library.title for library in libraries))
    states = describe_states(groups)
    said = f"{' and '.join(programs)} ({which}) hold{'s' if len(programs) == 1 else ''} {sessions:,} TLS "
    allocated = sum(group.bytes for group in groups)
    size = f"{tls:,} B" if allocated == tls else f"{allocated:,} B. Of these, {tls:,} B are resident"
    said += f"session{'' if sessions == 1 else 's'} of {titles}{f' ({states})' if states else ''} in {size}, "
    said += f"{100 * tls / max(anon, 1):.0f} % of {'its' if len(found) == 1 else 'their'} {anon:,} B of "
    said += "anonymous memory in the core" if found[0].target.is_core else "RssAnon"
    if None in counted:
        return f"{said}."
    connections = sum(filter(None, counted))
    said += f"; {connections:,} connection{' is' if connections == 1 else 's are'} established."
    return " ".join([said, *describe_sockets(groups)])


def describe_sockets(groups: Iterable[SessionGroup]) -> Iterator[str]:
    """Yield a sentence on the sockets of the sessions, if it is told of one."""
    counts = add_up_sockets(groups)
    total, closed = counts.total(), counts[SocketState.CLOSED]
    if counts[SocketState.UNKNOWN] == total:
        return
    parts = [f"{counts[SocketState.OPEN]:,} of {total:,} session{'' if total == 1 else 's'} have an open socket"]
    if closed:
        parts.append(f"the socket of {closed:,} is closed: leaked, unless the program frees them soon")
    if counts[SocketState.NOT_SET]:
        parts.append(f"{counts[SocketState.NOT_SET]:,} have no socket set")
    if counts[SocketState.UNKNOWN]:
        parts.append(f"for {counts[SocketState.UNKNOWN]:,} it is unknown")
    yield f"{'; '.join(parts)}."


def make_tables(found: Sequence[ProcessCensus]) -> list[Table]:
    """Return the table of sessions and that of memory; several processes have a last row for all."""
    sources = dict.fromkeys(one.library.source for process in found for one in process.libraries)
    caption = CAPTION_SESSIONS.format("; ".join(sources))
    sessions = Table("sessions", "TLS sessions", caption, [*SESSION_COLUMNS, *OBJECT_COLUMNS])
    for process in found:
        for library in process.libraries:
            sessions.rows += session_rows(process, library)
    memory = Table("memory", "Memory of the processes", *describe_memory([process.target for process in found]))
    memory.rows = [memory_row(process) for process in found]
    if len(found) > 1:
        memory.rows.append(row_of_sums(memory.rows))
    return [sessions, memory]


def describe_memory(targets: Sequence[Target]) -> tuple[str, Sequence[Heading]]:
    """Return caption and columns of the table of memory, of processes that run or of cores."""
    cores = [target for target in targets if isinstance(target, Core)]
    if not cores:
        return CAPTION_MEMORY, MEMORY_COLUMNS
    is_sparse = all(core.is_sparse for core in cores)
    which = "the core" if len(cores) == 1 else "cores"
    return CAPTION_CORE.format(which, AS_RESIDENT if is_sparse else AS_DUMPED), CORE_COLUMNS


def session_rows(process: ProcessCensus, library: LibraryCensus) -> Iterator[list[Cell]]:
    """Yield a row for each role and state; objects that are not a session's own are in the first."""
    head = [text_cell(process.target.program), Cell(str(process.target.pid), process.target.pid)]
    head.append(text_cell(library.library.title))
    objects = [count_cell(library, name) for name in (TICKET, X509, BIO)]
    for group in library.groups or [None]:
        yield [*head, *group_cells(group), *socket_cells(process, library, group), *objects]
        objects = [BLANK] * len(objects)


def count_cell(library: LibraryCensus, name: str) -> Cell:
    number = library.objects.get(name)
    return missing_cell(UNKNOWN_OBJECT) if number is None else integer_cell(number)


def group_cells(group: SessionGroup | None) -> list[Cell]:
    if group is None:
        return [BLANK, BLANK, integer_cell(0), integer_cell(0), BLANK, BLANK]
    role, state = text_cell(group.role), text_cell(group.state)
    if group.state == State.UNKNOWN:
        state = missing_cell(NO_STATE if group.role != Role.UNKNOWN else NO_FIELDS)
    if group.role == Role.UNKNOWN:
        role = missing_cell(NO_ROLE if group.state == State.CREATED else NO_FIELDS)
    each = integer_cell(round(group.bytes / group.count))
    own_bio = missing_cell(NO_NAMES) if group.own_bio_bytes is None else integer_cell(group.own_bio_bytes)
    return [role, state, integer_cell(group.count), integer_cell(group.bytes), each, own_bio]


def socket_cells(process: ProcessCensus, library: LibraryCensus, group: SessionGroup | None) -> list[Cell]:
    """Return how many sessions have their socket open, and closed; why it is not told, if of none."""
    if group is None:
        return [integer_cell(0), integer_cell(0)]
    if group.sockets[SocketState.UNKNOWN] == group.count:
        why = OTHER_BIOS if tells_sockets(library.library) else NO_NAMES
        return [why_no_sockets(process) if process.connections is None else missing_cell(why)] * 2
    return [integer_cell(group.sockets[state]) for state in (SocketState.OPEN, SocketState.CLOSED)]


def why_no_sockets(process: ProcessCensus) -> Cell:
    return missing_cell(NOT_IN_CORE if process.target.is_core else NOT_ALLOWED)


def memory_row(process: ProcessCensus) -> list[Cell]:
    parts = process.resident_parts
    connections = why_no_sockets(process) if process.connections is None else integer_cell(process.connections)
    names = ("tls", "other_live", "cached", "free", "mmapped", "stacks", "files", "other")
    sizes = [process.rss.anon_bytes, *(parts[name] for name in names)]
    head = [text_cell(process.target.program), Cell(str(process.target.pid), process.target.pid)]
    return [*head, integer_cell(process.sessions), connections, *map(integer_cell, sizes)]


def row_of_sums(rows: Sequence[Sequence[Cell]]) -> list[Cell]:
    """Return the sums of all columns but the first two; a value that is missing somewhere has none."""
    sums = []
    for cells in list(zip(*rows, strict=True))[2:]:
        missing = next((cell for cell in cells if cell.is_missing), None)
        sums.append(missing or integer_cell(sum(cell.value for cell in cells)))
    return [text_cell(ALL), BLANK, *sums]
