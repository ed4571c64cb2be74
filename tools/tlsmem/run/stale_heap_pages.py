"""Pages of the heap meter in /dev/shm whose process is gone: a killed runner's, and those of a harness's children."""

import contextlib
import struct
from pathlib import Path

PAGES = Path("/dev/shm")
MAGIC, BYTES, PARENT_AT = 0x3152544D50414548, 4096, 3376  # as in docs/records.md


def sweep(folder: Path = PAGES) -> None:
    """Removes them; a page is a dead process's when it says so itself, and so does its name.

    As long as its parent lives it is the parent's to read and to remove, which heap.py does."""
    for page in folder.glob("heapmeter.*"):
        with contextlib.suppress(OSError):  # another's, or removed meanwhile
            if dead(page):
                page.unlink()


def dead(page: Path) -> bool:
    if not page.is_file() or page.stat().st_size != BYTES:
        return False
    content = page.read_bytes()
    (magic, pid), (parent,) = struct.unpack_from("=QI", content), struct.unpack_from("=I", content, PARENT_AT)
    return magic == MAGIC and page.suffix == f".{pid}" and not alive(pid) and not alive(parent)


def alive(pid: int) -> bool:
    """A zombie is dead: nothing counts in its page any more."""
    try:
        return Path(f"/proc/{pid}/stat").read_bytes().rpartition(b") ")[2][:1] not in b"ZX"
    except OSError:
        return False
