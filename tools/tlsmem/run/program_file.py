"""What a program's file says of the heap meter's view of it: whether it is preloaded, which allocators there are."""

import os
import shutil
import struct
from collections.abc import Iterator
from pathlib import Path

NO_PRELOAD = (
    "a program that is statically linked, set-user-ID or of another architecture ignores LD_PRELOAD, and one that has "
    "changed its user cannot report"
)
CLEARED = "it was started without LD_PRELOAD in its environment (`env -i` does that)"
SET_ID = "it is set-user-ID or set-group-ID, and the loader then ignores LD_PRELOAD"
STATIC = "it is statically linked, and LD_PRELOAD is the dynamic loader's"
SCRIPTS = 4  # that interpret each other, as far as Linux goes

ELF_64, PT_INTERP, SHT_STRTAB = b"\x7fELF\x02", 3, 3
ALLOCATORS = {  # by a function that each of them has under its own name, where malloc is another's
    "je_malloc": "jemalloc",
    "_rjem_malloc": "jemalloc",
    "mi_malloc": "mimalloc",
    "tc_malloc": "tcmalloc",
    "rpmalloc": "rpmalloc",
    "scalable_malloc": "TBB's",
    "sn_malloc": "snmalloc",
    "runtime.mallocgc": "Go's",
}


def why_unmetered(command: str, preloaded: bool = True) -> str:
    """Why the loader did not take the meter along, as far as the file tells, and what its environment was."""
    try:
        file = find_interpreter(Path(shutil.which(command) or command))
        mode, is_bare = file.stat().st_mode, is_static(file)
    except (OSError, struct.error, ValueError):
        return NO_PRELOAD if preloaded else CLEARED
    if is_bare:
        return STATIC
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


def is_static(file: Path) -> bool:
    """Whether it is an ELF file of 64 bits that names no loader."""
    with file.open("rb") as program:
        head = program.read(64)
        if not head.startswith(ELF_64):
            return False
        (table,), (each, count) = struct.unpack_from("<Q", head, 32), struct.unpack_from("<HH", head, 54)
        program.seek(table)
        entries = program.read(each * count)
    return not any(struct.unpack_from("<I", entries, at * each)[0] == PT_INTERP for at in range(count))


def own_allocator(file: Path) -> str | None:
    """The allocator besides malloc that the program names in its symbols, if it has any left.

    None too where the file cannot be read: what is said of it then is said by others."""
    try:
        names = list(symbol_names(file))
    except (OSError, struct.error):
        return None
    return next((title for name, title in ALLOCATORS.items() for part in names if f"\0{name}\0".encode() in part), None)


def symbol_names(file: Path) -> Iterator[bytes]:
    """The tables of strings of an ELF file of 64 bits."""
    with file.open("rb") as program:
        head = program.read(64)
        if not head.startswith(ELF_64):
            return
        (table,), (each, count) = struct.unpack_from("<Q", head, 40), struct.unpack_from("<HH", head, 58)
        program.seek(table)
        entries = program.read(each * count)
        for at in range(0, each * count, each):
            kind, _flags, _address, offset, size = struct.unpack_from("<IQQQQ", entries, at + 4)
            if kind == SHT_STRTAB:
                program.seek(offset)
                yield program.read(size)
