"""What a program's file says of the heap meter's view of it: whether it is preloaded, which allocators there are."""

import contextlib
import os
import shutil
import stat
import struct
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO

from tlsmem.base.paths import HEAP_METER, ROOT
from tlsmem.run import heap_page


def find_closed_folder(file: Path) -> Path | None:
    """Return the outermost directory above the file that other users may not enter; None where there is none."""
    with contextlib.suppress(OSError):
        return next((one for one in reversed(file.parents) if not one.stat().st_mode & stat.S_IXOTH), None)
    return None


METER_IS_CLOSED_BY = find_closed_folder(ROOT / HEAP_METER)
NO_PRELOAD = (
    "a program with capabilities or of another architecture ignores LD_PRELOAD, and one that has changed its user may "
    "not be allowed to read the meter's library"
) + (f": other users may not enter {METER_IS_CLOSED_BY}; chmod o+x lets them" if METER_IS_CLOSED_BY else "")
CLEARED = "it was started without LD_PRELOAD in its environment (`env -i` does that)"
SET_ID = "it is set-user-ID or set-group-ID, and the loader then ignores LD_PRELOAD"
STATIC = "it is statically linked, and LD_PRELOAD is the dynamic loader's"
NARROW = "it is a 32-bit program, and the meter is a 64-bit library"
OTHER_MACHINE = "it is a program for {}, and the meter is for {}"
MUSL = "its C library is musl, and with the meter, which needs glibc, it does not start"
SCRIPTS = 4  # that interpret each other, as far as Linux goes

MACHINES = {62: "x86-64", 183: "arm64"}  # by the number in the head of an ELF file
ELF_32, ELF_64, PT_INTERP, SHT_STRTAB = b"\x7fELF\x01", b"\x7fELF\x02", 3, 3
UNREADABLE = (OSError, struct.error, ValueError, OverflowError)  # what a file that is no sound program may raise
GO = "Go's"
ALLOCATORS = {  # by a function that each of them has under its own name, where malloc is another's
    "je_malloc": "jemalloc",
    "_rjem_malloc": "jemalloc",
    "mi_malloc": "mimalloc",
    "tc_malloc": "tcmalloc",
    "rpmalloc": "rpmalloc",
    "scalable_malloc": "TBB's",
    "sn_malloc": "snmalloc",
    "runtime.mallocgc": GO,
    ".note.go.buildid": GO,  # a section, which a stripped program has too
}


def why_unmetered(command: str, preloaded: bool = True) -> str:
    """Why the loader did not take the meter along, as far as the file tells, and what its environment was."""
    try:
        file = find_interpreter(Path(shutil.which(command) or command))
        mode, reason = file.stat().st_mode, why_not_loadable(file)
    except UNREADABLE:
        return NO_PRELOAD if preloaded else CLEARED
    if reason:
        return reason
    if mode & 0o6000:
        return SET_ID
    return NO_PRELOAD if preloaded else CLEARED


def find_interpreter(file: Path) -> Path:
    """Of a script the program that runs it."""
    for _ in range(SCRIPTS):
        with file.open("rb") as script:
            first = script.readline(256)
        words = first[2:].split() if first.startswith(b"#!") else []
        if not words:
            break
        file = Path(os.fsdecode(words[0]))
    return file


def why_not_loadable(file: Path) -> str | None:
    """Return why no environment lets the program load the meter: its format, or the loader that it names."""
    with file.open("rb") as program:
        head = program.read(64)
        if head.startswith(ELF_32):
            return NARROW
        if not head.startswith(ELF_64):
            return None
        machine, own = find_machine(head), read_machine(ROOT / HEAP_METER)
        if own and machine != own:
            return OTHER_MACHINE.format(*(MACHINES.get(one, f"machine {one}") for one in (machine, own)))
        (table,), (each, count) = struct.unpack_from("<Q", head, 32), struct.unpack_from("<HH", head, 54)
        entries = read_part(program, table, each * count)
        for at in range(0, each * count, each):
            kind, _flags, offset, _address, _physical, size = struct.unpack_from("<IIQQQQ", entries, at)
            if kind == PT_INTERP:
                return MUSL if b"/ld-musl-" in read_part(program, offset, size) else None
    return STATIC


def find_machine(head: bytes) -> int:
    """Return the number of the architecture in the head of an ELF file."""
    return int(struct.unpack_from("<H", head, 18)[0])


def read_machine(file: Path) -> int | None:
    """Return the number of the architecture of an ELF file; None where there is no such file."""
    try:
        with file.open("rb") as program:
            return find_machine(program.read(64))
    except (OSError, struct.error):
        return None


def explain_failed_start(command: str) -> str:
    """Return why the OS did not start a command, as far as its file tells: what follows the OS's own words."""
    try:
        file = find_interpreter(Path(shutil.which(command) or command))
        reason = why_not_loadable(file)
    except UNREADABLE:
        return ""
    return f" ({reason})" if reason else ""


def own_allocator(file: Path) -> str | None:
    """The allocator besides malloc that the program names in its symbols, if it has any left.

    None too where the file cannot be read: what is said of it then is said by others."""
    try:
        names = list(symbol_names(file))
    except UNREADABLE:
        return None
    return next((title for name, title in ALLOCATORS.items() for part in names if f"\0{name}\0".encode() in part), None)


def foresee_go(command: str) -> str | None:
    """Return, before a Go program runs, that the meter does not see its heap, and what does; None for others."""
    try:
        file = find_interpreter(Path(shutil.which(command) or command))
    except UNREADABLE:
        return None
    if own_allocator(file) != GO:
        return None
    return (
        f"{heap_page.printable(file.name)} is a Go program: the heap meter does not see Go's heap, so the figures are "
        "without it. Use Go's own: GODEBUG=gctrace=1, the package runtime/metrics, and two heap profiles of "
        "net/http/pprof, which `tools/tls-memtest heap read --diff OLD NEW` compares, as `go tool pprof` does"
    )


def symbol_names(file: Path) -> Iterator[bytes]:
    """The tables of strings of an ELF file of 64 bits."""
    with file.open("rb") as program:
        head = program.read(64)
        if not head.startswith(ELF_64):
            return
        (table,), (each, count) = struct.unpack_from("<Q", head, 40), struct.unpack_from("<HH", head, 58)
        entries = read_part(program, table, each * count)
        for at in range(0, each * count, each):
            kind, _flags, _address, offset, size = struct.unpack_from("<IQQQQ", entries, at + 4)
            if kind == SHT_STRTAB:
                yield read_part(program, offset, size)


def read_part(program: BinaryIO, offset: int, size_bytes: int) -> bytes:
    """Return a part of the file, at most what there is: a damaged head may name any size."""
    program.seek(offset)
    return program.read(min(size_bytes, os.fstat(program.fileno()).st_size))
