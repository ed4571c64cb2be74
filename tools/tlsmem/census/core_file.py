"""A process from its core file: what the kernel, gcore or systemd-coredump wrote when it crashed, or was asked.

A core has the memory, and the names of the files that were mapped, but not those files: they are found by their path,
and a file counts as the one that was mapped only if it begins with the same page, in which its build ID is."""

import hashlib
import io
import os
import struct
import tempfile
from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO, NamedTuple

import numpy as np
import numpy.typing as npt
from elftools.elf.elffile import ELFFile
from elftools.elf.segments import NoteSegment

from tlsmem.base.errors import Usage
from tlsmem.census.elf_image import UNREADABLE
from tlsmem.census.heap_walk import HeapWalk, Places
from tlsmem.census.target import GONE, PAGE, MappedFile, Memory, Range, Target

SHARED = ("/dev/zero", "/SYSV", "/dev/shm/", "/memfd:")  # begin the names of memory that processes share
LIBC = ("libc.so.6", "libc-2.")  # begin the names of the C library's file
WRITABLE, EXECUTABLE = 2, 1  # rights of a segment
KERNEL_HALF = 1 << 63  # addresses from here on are the kernel's
PACKED = {b"\x28\xb5\x2f\xfd": "zstd -d", b"\x04\x22\x4d\x18": "lz4 -d", b"\xfd7zX": "xz -d", b"\x1f\x8b": "gzip -d"}
STACK_POINTER_AT = 264  # in an NT_PRSTATUS of x86-64: pr_reg.rsp
AT_RANDOM, AT_SYSINFO_EHDR = 25, 33  # of the auxiliary vector: on the stack, and where the kernel's own code is
ALL_OF_IT = "for a complete core, set `ulimit -c unlimited`, free disk space, and set no limit in coredump.conf"


class Segment(NamedTuple):
    """Addresses of a mapping, the end excluded; where the core has its first `dumped` bytes."""

    start: int
    end: int
    rights: int
    offset: int
    dumped: int

    @property
    def is_writable(self) -> bool:
        return bool(self.rights & WRITABLE)


class FileRange(NamedTuple):
    """A mapping of a file: addresses, and from where on in the file, in bytes."""

    start: int
    end: int
    offset: int
    path: str


@dataclass(frozen=True)
class Notes:
    """What the notes of a core say: the process, its mapped files, its threads' stack pointers, and the auxiliary
    vector."""

    pid: int
    program: str
    files: tuple[FileRange, ...]
    stack_pointers: tuple[int, ...]
    auxiliary: dict[int, int]


@dataclass(frozen=True)
class Core(Target):
    """A core. `system` is the directory below which the files are that were mapped: "" for this machine's root."""

    path: Path
    segments: tuple[Segment, ...]
    notes: Notes
    system: str

    is_core = True

    @property
    def is_sparse(self) -> bool:
        """Whether the file leaves out pages that were never written, as the kernel writes it and a pipe does not."""
        with self.path.open("rb") as file:
            return os.lseek(file.fileno(), 0, os.SEEK_HOLE) < self.path.stat().st_size

    @property
    def title(self) -> str:
        return f"{self.path} ({self.program})"

    @property
    def is_32_bit(self) -> bool:
        return False  # read_core() has refused it

    def count_swapped(self) -> int:
        return 0

    def key_of(self, mapped: MappedFile) -> object:
        return hashlib.blake2b(self.first_page(mapped)).digest()

    def first_page(self, mapped: MappedFile) -> bytes:
        """Return the page with which the file began, as the core has it; nothing where it has not."""
        start = next((one.start for one in self.notes.files if one.path == mapped.path and not one.offset), None)
        return b"" if start is None else self.read(start, PAGE)

    def read(self, address: int, size: int) -> bytes:
        """Return the bytes at an address; fewer where the core has fewer."""
        for one in self.segments:
            if one.start <= address < one.start + one.dumped:
                with self.path.open("rb") as file:
                    most = min(size, one.start + one.dumped - address)
                    return os.pread(file.fileno(), most, one.offset + address - one.start)
        return b""

    def open_file(self, mapped: MappedFile) -> BinaryIO | None:
        page = self.first_page(mapped)
        with suppress(OSError):
            file = open(f"{self.system}{mapped.path.removesuffix(GONE)}", "rb")  # noqa: SIM115 # the caller closes it
            if page and file.read(len(page)) == page:
                file.seek(0)
                return file
            file.close()
        return None

    def describe_missing(self, mapped: MappedFile) -> str:
        page = self.first_page(mapped)
        if not page:
            return "the core does not say which file it was: bit 4 of /proc/PID/coredump_filter was not set"
        build_id = read_build_id(page)
        which = f"that was mapped, with the build ID {build_id}," if build_id else "that was mapped"
        return (
            f"the file {which} is not at {self.system}{mapped.path}; give --sysroot DIR, with a directory that has it"
        )

    def open_memory(self) -> Memory:
        return CoreMemory(self)

    def walk(self, rules: str) -> HeapWalk:
        libc = next((one for one in self.files if one.name.startswith(LIBC)), None)
        opened = self.open_file(libc) if libc else None
        if libc and not opened:
            raise Usage(
                f"{self.title}: the census needs the C library to find malloc's chunks, and "
                f"{self.describe_missing(libc)}"
            )
        with opened or io.BytesIO() as libc_file, tempfile.TemporaryFile() as mappings, self.path.open("rb") as core:
            mappings.write("".join(self.describe_mappings()).encode(errors="surrogateescape"))
            mappings.seek(0)
            files = [core.fileno(), mappings.fileno(), *([libc_file.fileno()] if opened else [])]
            words = ["--core", *map(str, files), *([] if opened else ["-1"]), str(self.pid)]
            return HeapWalk(self.title, words, rules, files)

    def describe_mappings(self) -> Iterator[str]:
        """Yield a line for each mapping, as heapwalk takes it."""
        files = {one.start: one for one in self.notes.files}
        not_private = set(self.find_kernel_mappings())
        # The page with which a file begins is dumped to tell what it is; no process has written it.
        not_private |= {
            one.start
            for one in self.segments
            if one.start in files and not files[one.start].offset and not one.is_writable
        }
        not_private |= {one.start for one in files.values() if one.path.startswith(SHARED)}
        for one in self.segments:
            name, kind = (files[one.start].path, "file") if one.start in files else ("", "other")
            if not name and any(one.start <= pointer < one.end for pointer in self.notes.stack_pointers):
                kind = "stack"
            if one.start <= self.notes.auxiliary.get(AT_RANDOM, 0) < one.end:
                kind, name = "stack", "[stack]"
            rights = f"r{'w' if one.is_writable else '-'}-{'s' if one.start in not_private else 'p'}"
            place = f"{one.start:x}-{one.end:x} {rights} {kind} {one.offset:x} {one.dumped:x}"
            yield f"{place} {name.translate({10: '?'})}\n"

    def find_kernel_mappings(self) -> Iterator[int]:
        """Yield the start of each mapping that the kernel makes in a process: its code, and the data before that."""
        end = self.notes.auxiliary.get(AT_SYSINFO_EHDR)
        for one in reversed(self.segments):
            if one.start == end or (one.end == end and not one.is_writable):
                end = one.start
                yield end
            elif one.start >= KERNEL_HALF:
                yield one.start


class CoreMemory(Memory):
    """The memory that a core has."""

    def __init__(self, core: Core) -> None:
        self.segments = core.segments  # in the order of their addresses
        self.starts = np.array([one.start // PAGE for one in core.segments])
        self.ends = np.array([-(-(one.start + one.dumped) // PAGE) for one in core.segments])
        self.file = core.path.open("rb")

    def close(self) -> None:
        self.file.close()

    def have_pages(self, pages: Places) -> npt.NDArray[np.bool_]:
        numbers = np.searchsorted(self.starts, pages, side="right") - 1
        is_there: npt.NDArray[np.bool_] = (numbers >= 0) & (pages < self.ends[numbers])
        return is_there

    def read_range(self, begin: int, into: memoryview) -> None:
        end = begin + len(into)
        into[:] = bytes(len(into))  # the last page of a segment may not be dumped to its end
        for one in self.segments:
            first, last = max(begin, one.start), min(end, one.start + one.dumped)
            if first < last:
                os.preadv(self.file.fileno(), [into[first - begin : last - begin]], one.offset + first - one.start)


def read_core(path: Path, system: str) -> Core:
    """Return the process in a core. Raises Usage where it is none, not whole, or of another kind of machine."""
    try:
        with path.open("rb") as file:
            check_kind(path, file)
            elf = ELFFile(file)
            check_machine(path, elf)
            heads = list(elf.iter_segments())
            check_size(path, max((one["p_offset"] + one["p_filesz"] for one in heads), default=0))
            notes = read_notes(one for one in heads if isinstance(one, NoteSegment))
    except Usage:  # a ValueError, as those of UNREADABLE are
        raise
    except OSError as error:
        raise Usage(f"{path}: {error.strerror}") from None
    except UNREADABLE:
        raise Usage(f"{path}: it is truncated or damaged: its headers do not lead to its notes; {ALL_OF_IT}") from None
    if not notes:
        raise Usage(f"{path}: it does not name its process and the files that the process had mapped")
    segments = tuple(
        Segment(one["p_vaddr"], one["p_vaddr"] + one["p_memsz"], one["p_flags"], one["p_offset"], one["p_filesz"])
        for one in sorted(heads, key=lambda one: one["p_vaddr"])
        if one["p_type"] == "PT_LOAD" and one["p_memsz"]
    )
    anonymous = {one.start for one in segments} - {one.start for one in notes.files}
    if not any(one.dumped for one in segments if one.is_writable and one.start in anonymous):
        raise Usage(f"{path}: it has no private memory: bit 0 of /proc/PID/coredump_filter was not set")
    return Core(notes.pid, notes.program, list_files(notes, segments), path, segments, notes, system)


def check_kind(path: Path, file: BinaryIO) -> None:
    """Raise Usage for a file that is no ELF file."""
    start = file.read(16)
    file.seek(0)
    for magic, command in PACKED.items():
        if start.startswith(magic):
            raise Usage(f"{path}: it is compressed; `{command}`, or `coredumpctl dump -o FILE`, gives the core itself")
    if start[:4] != b"\x7fELF":
        raise Usage(f"{path}: it is no core file; `gcore PID` or a crash writes one")


def check_machine(path: Path, elf: ELFFile) -> None:
    """Raise Usage for what is no core, or not of x86-64."""
    if elf["e_type"] != "ET_CORE":
        raise Usage(f"{path}: it is a program or a library, and no core file; `gcore PID` or a crash writes one")
    if elf["e_machine"] in ("EM_386", "EM_ARM") or elf.elfclass != 64:
        raise Usage(f"{path}: it is of a 32-bit program, which is not counted")
    if elf["e_machine"] != "EM_X86_64":
        raise Usage(f"{path}: it is of a program for {elf.get_machine_arch()}; only those for x86-64 are counted")


def check_size(path: Path, needed: int) -> None:
    """Raise Usage for a core that ends before what its headers say."""
    size = path.stat().st_size
    if size < needed:
        raise Usage(f"{path}: it is truncated: it has {size:,} of {needed:,} bytes; {ALL_OF_IT}")


def read_notes(segments: Iterable[NoteSegment]) -> Notes | None:
    """Return what the notes say; None where process or files are not in them. Raises one of UNREADABLE."""
    process, files = None, None
    pointers: list[int] = []
    auxiliary: dict[int, int] = {}
    for note in (note for segment in segments for note in segment.iter_notes() if note["n_name"] == "CORE"):
        content = note["n_descdata"]
        if note["n_type"] == "NT_PRPSINFO":
            process = note["n_desc"]
        elif note["n_type"] == "NT_FILE":
            files = list_ranges(content)
        elif note["n_type"] == "NT_PRSTATUS":
            pointers += struct.unpack_from("<Q", content, STACK_POINTER_AT)
        elif note["n_type"] == "NT_AUXV":
            auxiliary = dict(struct.iter_unpack("<QQ", content[: len(content) // 16 * 16]))
    if not process or files is None:
        return None
    name = process["pr_fname"].partition(b"\0")[0].decode(errors="replace")
    return Notes(process["pr_pid"], name, files, tuple(pointers), auxiliary)


def list_ranges(content: bytes) -> tuple[FileRange, ...]:
    """Return the mappings in an NT_FILE note. Raises struct.error or ValueError where it is damaged."""
    count, page = struct.unpack_from("<QQ", content)
    names = content[16 + 24 * count :].split(b"\0")
    if len(names) <= count:  # gcore counts offsets in bytes, which is a page of 1
        raise ValueError("a damaged NT_FILE note")
    places = struct.iter_unpack("<QQQ", content[16 : 16 + 24 * count])
    paths = map(os.fsdecode, names)
    return tuple(FileRange(start, end, at * page, path) for (start, end, at), path in zip(places, paths, strict=False))


def list_files(notes: Notes, segments: Iterable[Segment]) -> tuple[MappedFile, ...]:
    """Return the files that were mapped, in the order of their addresses."""
    is_code = {
        one.start: bool(one.rights & EXECUTABLE) for one in segments
    }  # gcore has no segment of what is not dumped
    ranges: dict[str, list[Range]] = {}
    for one in notes.files:
        if one.path.startswith("/") and not one.path.startswith(SHARED):
            ranges.setdefault(one.path, []).append(Range(one.start, one.end, is_code.get(one.start, True)))
    return tuple(MappedFile(path, 0, 0, tuple(parts)) for path, parts in ranges.items())


def read_build_id(page: bytes) -> str | None:
    """Return the build ID in the first page of a file."""
    without_sections = page[:40] + bytes(8) + page[48:60] + bytes(4) + page[64:]  # those are not in this page
    with suppress(*UNREADABLE):
        for segment in ELFFile(io.BytesIO(without_sections)).iter_segments():
            if isinstance(segment, NoteSegment) and segment["p_offset"] + segment["p_filesz"] <= len(page):
                for note in segment.iter_notes():
                    if note["n_type"] == "NT_GNU_BUILD_ID":
                        return str(note["n_desc"])
    return None
