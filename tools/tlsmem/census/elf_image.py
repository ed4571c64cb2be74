"""An ELF file of x86-64 as the census reads it: strings, what refers to them, functions by address and by name.

Nothing of the file is executed or loaded. A stripped file has no names, but its unwind table still says where each
function begins, as a program that throws no exception has it too."""

import mmap
import re
import struct
from collections.abc import Iterator
from functools import cached_property
from typing import BinaryIO, NamedTuple

import numpy as np
import numpy.typing as npt
from elftools.common.exceptions import ELFError
from elftools.elf.elffile import ELFFile
from elftools.elf.sections import SymbolTableSection
from elftools.elf.segments import NoteSegment

X86_64 = 62
DATA_RELATIVE_4 = 0x3B  # encoding of the unwind table that all linkers write
COUNT_4 = 0x03
RELATIVE = 8  # the kind of a relocation, R_X86_64_RELATIVE
SYMBOL_KINDS = (6, 7)  # those that put a function's address into a slot: R_X86_64_GLOB_DAT, R_X86_64_JUMP_SLOT
LOW = 0xFFFFFFFF
PAGE = 4096
LONGEST_PATH = 200  # of a source file, as a string has it
PRINTABLE_END = re.compile(rb"[ -~]*\Z")
UNREADABLE = (ELFError, OSError, ValueError, struct.error)


class Segment(NamedTuple):
    """A part of the file that is loaded: `size` bytes at `offset`, for addresses from `start` on."""

    offset: int
    start: int
    size: int
    is_code: bool


class Function(NamedTuple):
    """Addresses of a function, the end excluded, and its bytes."""

    start: int
    end: int
    code: bytes


class ElfImage:
    """An open ELF file. Raises one of UNREADABLE for what is no ELF file of 64 bits."""

    def __init__(self, file: BinaryIO) -> None:
        self.elf = ELFFile(file)
        if self.elf.elfclass != 64 or not self.elf.little_endian:
            raise ValueError("no ELF file of 64 bits")
        self.content = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
        self.is_x86_64 = self.elf["e_machine"] == "EM_X86_64"
        heads = list(self.elf.iter_segments())
        self.segments = [
            Segment(one["p_offset"], one["p_vaddr"], one["p_filesz"], bool(one["p_flags"] & 1))
            for one in heads
            if one["p_type"] == "PT_LOAD"
        ]
        self.notes = [one for one in heads if isinstance(one, NoteSegment)]
        self.is_relocated = self.elf["e_type"] == "ET_DYN"
        self.relro = [(one["p_vaddr"], one["p_memsz"]) for one in heads if one["p_type"] == "PT_GNU_RELRO"]
        self.unwind_tables = [one for one in heads if one["p_type"] == "PT_GNU_EH_FRAME"]

    def close(self) -> None:
        self.content.close()

    @cached_property
    def build_id(self) -> str | None:
        """The build id in hexadecimal digits; None where the file has none."""
        for segment in self.notes:
            for note in segment.iter_notes():
                if note["n_type"] == "NT_GNU_BUILD_ID":
                    return str(note["n_desc"])
        return None

    def address_of(self, offset: int) -> int | None:
        """Return the address at which a byte of the file is loaded; None where it is not."""
        for one in self.segments:
            if one.offset <= offset < one.offset + one.size:
                return offset - one.offset + one.start
        return None

    def read(self, address: int, size: int) -> bytes:
        """Return bytes as the file has them at an address; fewer where it has fewer."""
        for one in self.segments:
            if one.start <= address < one.start + one.size:
                begin = address - one.start + one.offset
                return self.content[begin : min(begin + size, one.offset + one.size)]
        return b""

    def read_pointer(self, address: int) -> int:
        """Return the pointer at an address as it is once the file is loaded, as an address of the file; 0 where there
        is none."""
        entries = self.relative_relocations
        place = int(np.searchsorted(entries[:, 0], address))
        if place < len(entries) and entries[place, 0] == address:
            return int(entries[place, 1])
        return int.from_bytes(self.read(address, 8), "little")

    @property
    def base(self) -> int:
        """The address of the file's first byte that is loaded, as a multiple of a page."""
        return min((one.start for one in self.segments), default=0) // PAGE * PAGE

    @cached_property
    def relocations(self) -> npt.NDArray[np.int64]:
        """What is written when the file is loaded: rows of address, kind below the symbol's number, and value."""
        found = [np.zeros((0, 3), np.int64)]
        for section in self.elf.iter_sections("SHT_RELA"):
            each = section["sh_entsize"]
            content = self.content[section["sh_offset"] : section["sh_offset"] + section["sh_size"] // each * each]
            found.append(np.frombuffer(content, "<i8").reshape(-1, 3))
        return np.concatenate(found)

    @cached_property
    def relative_relocations(self) -> npt.NDArray[np.int64]:
        """What is written relative to where the file is loaded: rows of address and value, in order."""
        found = self.relocations[self.relocations[:, 1] & LOW == RELATIVE][:, ::2]
        ordered: npt.NDArray[np.int64] = found[np.argsort(found[:, 0], kind="stable")]
        return ordered

    def find_slot(self, name: str) -> int | None:
        """Return where the address of another file's function is written when that is loaded, or called first."""
        table = self.elf.get_section_by_name(".dynsym")
        if not isinstance(table, SymbolTableSection):
            return None
        kinds, symbols = self.relocations[:, 1] & LOW, self.relocations[:, 1] >> 32
        numbers = [number for number in self.numbers_of(table, {name}) if table.get_symbol(number).name == name]
        places = self.relocations[np.isin(kinds, SYMBOL_KINDS) & np.isin(symbols, numbers), 0]
        return int(places[0]) if len(places) else None

    def find_source_names(self, name: str) -> list[range]:
        """Return where strings lie that end in the name of a source file, as `ssl/ssl_lib.c`: the addresses from which
        they may begin. Allocations of a library pass such names."""
        found, wanted = [], name.encode() + b"\0"
        at = self.content.find(wanted)
        while at >= 0:
            path = PRINTABLE_END.search(self.content[max(0, at - LONGEST_PATH) : at])
            before = len(path[0]) if path else 0
            is_whole = not before or self.content[at - 1 : at] == b"/"
            address = self.address_of(at)
            if is_whole and address is not None:
                found.append(range(address - before, address + 1))
            at = self.content.find(wanted, at + 1)
        return found

    def find_references(self, targets: range) -> list[int]:
        """Return the addresses of 4 bytes of code that lead to one of these: relative to their end, or absolute."""
        found: list[int] = []
        for one in self.segments:
            code = np.frombuffer(self.content, np.uint8, one.size, one.offset) if one.is_code else ()
            for shift in range(4 if len(code) else 0):
                words = np.asarray(code)[shift : shift + (one.size - shift) // 4 * 4].view("<i4")
                places = np.arange(len(words), dtype=np.int64) * 4 + (one.start + shift)
                leads = lies_in(words + places, range(targets.start - 4, targets.stop - 4))
                if targets.stop < 1 << 31:
                    leads |= lies_in(words, targets)
                found += places[leads].tolist()
        return sorted(found)

    @cached_property
    def function_starts(self) -> npt.NDArray[np.int64]:
        """The addresses at which functions begin, in order; none where the file has no unwind table of the usual
        form."""
        for segment in self.unwind_tables:
            table = self.content[segment["p_offset"] : segment["p_offset"] + segment["p_filesz"]]
            if len(table) >= 12 and table[0] == 1 and table[2] == COUNT_4 and table[3] == DATA_RELATIVE_4:
                (count,) = struct.unpack_from("<I", table, 8)
                pairs = np.frombuffer(table, "<i4", min(2 * count, (len(table) - 12) // 4), 12)
                return np.sort(pairs[::2].astype(np.int64) + segment["p_vaddr"])
        return np.zeros(0, np.int64)

    def function_at(self, address: int) -> Function | None:
        """Return the function that has an address in it."""
        starts = self.function_starts
        number = int(np.searchsorted(starts, address, side="right")) - 1
        if number < 0:
            return None
        start = int(starts[number])
        end = int(starts[number + 1]) if number + 1 < len(starts) else self.code_end(start)
        code = self.read(start, end - start)
        return Function(start, start + len(code), code) if address < start + len(code) else None

    def functions_near(self, address: int, count: int) -> list[Function]:
        """Return so many functions before an address and behind it, in the order of their addresses."""
        number = int(np.searchsorted(self.function_starts, address, side="right"))
        starts = self.function_starts[max(0, number - count) : number + count]
        return [one for start in starts.tolist() if (one := self.function_at(start))]

    def code_end(self, address: int) -> int:
        return next((one.start + one.size for one in self.segments if one.start <= address < one.start + one.size), 0)

    def find_functions(self, names: set[str]) -> dict[str, Function]:
        """Return the functions of these names, as far as the file has them."""
        found: dict[str, Function] = {}
        for symbol_name, start, size in self.iterate_symbols(names):
            if symbol_name not in found and (code := self.read(start, size)):
                found[symbol_name] = Function(start, start + len(code), code)
        return found

    def iterate_symbols(self, names: set[str]) -> Iterator[tuple[str, int, int]]:
        """Yield name, address and size: first of exported functions, and of all others only for names that are left."""
        left = set(names)
        for kind in (".dynsym", ".symtab"):
            table = self.elf.get_section_by_name(kind)
            if left and isinstance(table, SymbolTableSection):
                for number in self.numbers_of(table, left):
                    symbol = table.get_symbol(number)
                    name = symbol.name.partition("@")[0]
                    if symbol["st_info"]["type"] == "STT_FUNC" and symbol["st_size"]:
                        left.discard(name)
                        yield name, symbol["st_value"], symbol["st_size"]

    def numbers_of(self, table: SymbolTableSection, names: set[str]) -> list[int]:
        """Return the numbers of symbols with these names. The table of a large program has 200,000: numpy looks
        through their names' places first. A name can be the end of another one's string."""
        strings = table.stringtable
        begin, size = strings["sh_offset"], strings["sh_size"]
        places = []
        for name in names:
            wanted = name.encode() + b"\0"
            at = self.content.find(wanted, begin, begin + size)
            while at >= 0:
                places.append(at - begin)
                at = self.content.find(wanted, at + 1, begin + size)
        each = table["sh_entsize"]
        content = np.frombuffer(self.content, np.uint8, table["sh_size"] // each * each, table["sh_offset"])
        of_names = content.reshape(-1, each)[:, :4].copy().view("<u4")[:, 0]
        return np.flatnonzero(np.isin(of_names, places)).tolist()


def lies_in(numbers: npt.NDArray[np.signedinteger], targets: range) -> npt.NDArray[np.bool_]:
    return (numbers >= targets.start) & (numbers < targets.stop)
