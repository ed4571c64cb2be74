"""The message of pprof's files, profile.proto: `encode` and `decode` of its bytes, as they are inside the gzip.

Written here, not by the package `protobuf` (1 MB): its seven messages have 40 fields, and a file from anywhere must be
read in bounded memory, which a generated parser does not promise: two bytes make an empty sample. Texts are resolved:
a field holds the text, not its number in string_table."""

from collections.abc import Iterable, Iterator
from itertools import pairwise
from typing import Any, Literal, NamedTuple, TypeVar

import numpy as np

from tlsmem.profile.pprof_samples import LONGEST_VARINT, BadMessage, PackedSamples, Samples

MOST_FIELDS = 4_000_000  # of one file, without its samples; of the bytes of packed numbers, eight count as one
WORD, SIGN = 1 << 64, 1 << 63
VARINT, FIXED_64, BYTES, FIXED_32 = 0, 1, 2, 5  # wire types


class ValueType(NamedTuple):
    """What one number of each sample is: "inuse_space" in "bytes"."""

    type: str = ""
    unit: str = ""


class Label(NamedTuple):
    """A text or a number that a sample has besides."""

    key: str = ""
    text: str = ""
    number: int = 0
    unit: str = ""


class Sample(NamedTuple):
    """A call stack: ids of locations, innermost first; and a value for each of the file's sample types."""

    locations: tuple[int, ...] = ()
    values: tuple[int, ...] = ()
    labels: tuple[Label, ...] = ()


class Mapping(NamedTuple):
    """A part of a file as it was mapped. pprof takes the first one for the program."""

    id: int = 0
    start: int = 0
    limit: int = 0
    offset: int = 0
    file: str = ""
    build_id: str = ""
    has_functions: bool = False
    has_files: bool = False
    has_lines: bool = False
    has_inlined: bool = False


class Line(NamedTuple):
    """A function by its id, and the line in it; 0 where that is not known."""

    function: int = 0
    line: int = 0


class Location(NamedTuple):
    """An address, and the functions there, innermost first: all but the last are inlined. Mapping 0: not known."""

    id: int = 0
    mapping: int = 0
    address: int = 0
    lines: tuple[Line, ...] = ()


class Function(NamedTuple):
    """`name` as people read it; `system_name` as the linker knows it."""

    id: int = 0
    name: str = ""
    system_name: str = ""
    file: str = ""
    start_line: int = 0


class Message(NamedTuple):
    """A whole file. `period`: bytes of allocations from one sample to the next; 0 where that is not told."""

    sample_types: tuple[ValueType, ...] = ()
    samples: tuple[Sample, ...] = ()
    mappings: tuple[Mapping, ...] = ()
    locations: tuple[Location, ...] = ()
    functions: tuple[Function, ...] = ()
    drop_frames: str = ""
    keep_frames: str = ""
    time_ns: int = 0
    duration_ns: int = 0
    period_type: ValueType = ValueType()
    period: int = 0
    comments: tuple[str, ...] = ()
    default_sample_type: str = ""
    doc_url: str = ""


class Embedded(NamedTuple):
    """The kind of a field that holds messages."""

    message: type[Any]
    is_repeated: bool = True


Kind = Literal["uint64", "int64", "bool", "text", "texts", "uint64s", "int64s"] | Embedded
SAMPLE, STRING_TABLE = 2, 6  # of Message
LABELS = 3  # of Sample
SAMPLE_KEYS = b"\x0a\x12\x1a"  # before the bytes of its three fields
TELLING = 3  # fields that no other form begins with
LAST_FIELD = 15  # of Message
FIELDS: dict[type[Any], dict[int, tuple[str, Kind]]] = {
    ValueType: {1: ("type", "text"), 2: ("unit", "text")},
    Label: {1: ("key", "text"), 2: ("text", "text"), 3: ("number", "int64"), 4: ("unit", "text")},
    Sample: {1: ("locations", "uint64s"), 2: ("values", "int64s"), 3: ("labels", Embedded(Label))},
    Mapping: {
        1: ("id", "uint64"),
        2: ("start", "uint64"),
        3: ("limit", "uint64"),
        4: ("offset", "uint64"),
        5: ("file", "text"),
        6: ("build_id", "text"),
        7: ("has_functions", "bool"),
        8: ("has_files", "bool"),
        9: ("has_lines", "bool"),
        10: ("has_inlined", "bool"),
    },
    Line: {1: ("function", "uint64"), 2: ("line", "int64")},
    Location: {
        1: ("id", "uint64"),
        2: ("mapping", "uint64"),
        3: ("address", "uint64"),
        4: ("lines", Embedded(Line)),
    },
    Function: {
        1: ("id", "uint64"),
        2: ("name", "text"),
        3: ("system_name", "text"),
        4: ("file", "text"),
        5: ("start_line", "int64"),
    },
    Message: {
        1: ("sample_types", Embedded(ValueType)),
        2: ("samples", Embedded(Sample)),
        3: ("mappings", Embedded(Mapping)),
        4: ("locations", Embedded(Location)),
        5: ("functions", Embedded(Function)),
        7: ("drop_frames", "text"),
        8: ("keep_frames", "text"),
        9: ("time_ns", "int64"),
        10: ("duration_ns", "int64"),
        11: ("period_type", Embedded(ValueType, is_repeated=False)),
        12: ("period", "int64"),
        13: ("comments", "texts"),
        14: ("default_sample_type", "text"),
        15: ("doc_url", "text"),
    },
}
Range = tuple[int, int]  # where the bytes of a field begin and end
M = TypeVar("M")


def decode(content: bytes) -> Message:
    """Return the message in these bytes; every id in it leads to something that is there. Raises BadMessage."""
    message, samples = decode_with_samples(content)
    rows: list[Sample] = []
    for locations, lengths in samples.locations:
        for begin, end in pairwise([0, *np.cumsum(lengths).tolist()]):
            at = len(rows)
            ids = tuple(message.locations[one].id for one in locations[begin:end].tolist())
            labels = samples.label_sets[int(samples.labels[at])]
            rows.append(Sample(ids, tuple(samples.values[at].tolist()), labels))
    return message._replace(samples=tuple(rows))


def decode_with_samples(content: bytes) -> tuple[Message, Samples]:
    """Return the message without its samples, and these, whose locations are indices into those of the message. Raises
    as decode."""
    decoder = Decoder(content)
    found = decoder.decode()
    check_ids(found)
    ids = [location.id for location in found.locations]
    return found, Samples(decoder.samples, len(found.sample_types), ids, decoder.label)


def begins_message(start: bytes) -> bool:
    """Return whether these bytes, the first of a file, are fields of a message: some, or all that there are."""
    decoder, count = Decoder(start), 0
    try:
        for number, value in decoder.fields((0, len(start))):
            _, kind = FIELDS[Message].get(number, ("", "text"))
            has_bytes = number == STRING_TABLE or isinstance(kind, Embedded)
            if number not in range(1, LAST_FIELD + 1) or (kind != "texts" and isinstance(value, int) == has_bytes):
                return False
            count += 1
    except BadMessage:
        return count >= TELLING
    return count > 0


def check_ids(message: Message) -> None:
    """Raise BadMessage where an id is missing or is there twice."""
    known = {}
    for name, those in (
        ("mapping", message.mappings),
        ("function", message.functions),
        ("location", message.locations),
    ):
        known[name] = {one.id for one in those}
        if len(known[name]) < len(those) or 0 in known[name]:
            raise BadMessage(f"it has a {name} whose id is 0 or another's")
    for location in message.locations:
        if location.mapping and location.mapping not in known["mapping"]:
            raise BadMessage(f"its location {location.id} is in the mapping {location.mapping}, which is not there")
        for line in location.lines:
            if line.function not in known["function"]:
                raise BadMessage(f"its location {location.id} has the function {line.function}, which is not there")


class Decoder:
    """Reads one file. Strings stand behind what names them as a rule, so they are read first."""

    def __init__(self, content: bytes) -> None:
        self.content, self.left = content, MOST_FIELDS
        self.strings: list[str] = []
        self.samples = PackedSamples()

    def decode(self) -> Message:
        others = []
        for number, value in self.fields((0, len(self.content))):
            if number == SAMPLE:
                self.left += 1
                self.samples.add(self.sample_fields(*self.range(value)))
            elif number == STRING_TABLE:
                start, end = self.range(value)
                self.strings.append(self.content[start:end].decode(errors="replace"))
            else:
                others.append((number, value))
        if not self.strings or self.strings[0]:
            raise BadMessage("it has no string_table that begins with an empty string")
        self.samples.finish()
        return self.build(Message, others)

    def sample_fields(self, at: int, end: int) -> Iterator[tuple[int, bytes]]:
        """Yield number and bytes of each field of a sample, of numbers and labels. There may be millions."""
        content = self.content
        while at < end:
            key, start = content[at], at + 2
            stop = start + content[at + 1] if start <= end else start
            if key in SAMPLE_KEYS and stop - start < 0x80 and stop <= end:  # as nearly all are
                yield key >> 3, content[start:stop]
                at = stop
                continue
            whole, at = self.varint(at, end)
            start = at
            if whole & 7 == BYTES:
                length, start = self.varint(at, end)
                at = start + length
            elif whole & 7 == VARINT:
                if whole >> 3 == LABELS:
                    raise BadMessage("it has a number where a message or a string is expected")
                _, at = self.varint(at, end)
            elif whole & 7 in (FIXED_32, FIXED_64):
                at += 4 if whole & 7 == FIXED_32 else 8
                whole = 0
            else:
                raise BadMessage(f"it has a field of the unknown wire type {whole & 7} at byte {at - 1:,}")
            if at > end:
                raise BadMessage("it ends within a field")
            yield whole >> 3, content[start:at]

    def label(self, content: bytes) -> Label:
        decoder = Decoder(content)
        decoder.strings = self.strings
        return decoder.message(Label, (0, len(content)))

    def message(self, kind: type[M], where: Range) -> M:
        return self.build(kind, self.fields(where))

    def build(self, kind: type[M], fields: Iterable[tuple[int, int | Range]]) -> M:
        found: dict[str, Any] = {}
        known = FIELDS[kind]
        for number, value in fields:
            name, field = known.get(number, (None, None))
            if name is None or field is None:
                continue  # of a newer version
            if isinstance(field, Embedded):
                part = self.message(field.message, self.range(value))
                if field.is_repeated:
                    found.setdefault(name, []).append(part)
                else:
                    found[name] = part
            elif field in ("uint64s", "int64s", "texts"):
                numbers = [value] if isinstance(value, int) else self.packed(value)
                those = map(signed, numbers) if field == "int64s" else numbers
                found.setdefault(name, []).extend(map(self.text, numbers) if field == "texts" else those)
            elif not isinstance(value, int):
                raise BadMessage(f"its field {name} is no number")
            else:
                found[name] = self.scalar(field, value)
        return kind(**{name: tuple(one) if isinstance(one, list) else one for name, one in found.items()})

    def scalar(self, kind: str, value: int) -> int | str:
        if kind == "text":
            return self.text(value)
        return signed(value) if kind == "int64" else value != 0 if kind == "bool" else value

    def text(self, number: int) -> str:
        if number >= len(self.strings):
            raise BadMessage(f"it names string {number:,} of {len(self.strings):,}")
        return self.strings[number]

    def range(self, value: int | Range) -> Range:
        if isinstance(value, int):
            raise BadMessage("it has a number where a message or a string is expected")
        return value

    def packed(self, where: Range) -> list[int]:
        at, end = where
        self.spend((end - at) // 8)
        if self.content[at:end].isascii():  # a byte for each number
            return [*self.content[at:end]]
        found = []
        while at < end:
            value, at = self.varint(at, end)
            found.append(value)
        return found

    def fields(self, where: Range) -> Iterator[tuple[int, int | Range]]:
        """Yield the number of each field, and its integer or where its bytes are."""
        at, end = where
        varint = self.varint
        while at < end:
            self.left -= 1
            if self.left < 0:
                self.spend(0)
            key, at = varint(at, end)
            kind = key & 7
            if kind == VARINT:
                value, at = varint(at, end)
                yield key >> 3, value
                continue
            if kind == BYTES:
                length, at = varint(at, end)
            elif kind in (FIXED_32, FIXED_64):
                length = 4 if kind == FIXED_32 else 8
            else:
                raise BadMessage(f"it has a field of the unknown wire type {kind} at byte {at - 1:,}")
            if length > end - at:
                raise BadMessage(f"it ends within a field, at byte {at:,}")
            if kind == BYTES:
                yield key >> 3, (at, at + length)
            at += length

    def spend(self, count: int) -> None:
        self.left -= count
        if self.left < 0:
            raise BadMessage(f"it has more than {MOST_FIELDS:,} fields")

    def varint(self, at: int, end: int) -> tuple[int, int]:
        """Return the number that begins at this byte, and the byte after it."""
        content, found, shift = self.content, 0, 0
        if at < end and content[at] < 0x80:  # as most are
            return content[at], at + 1
        while at < end:
            byte = content[at]
            at += 1
            found |= (byte & 0x7F) << shift
            if byte < 0x80:
                if found >= WORD:
                    break
                return found, at
            shift += 7
            if shift == 7 * LONGEST_VARINT:
                break
        else:
            raise BadMessage(f"it ends within a number, at byte {at:,}")
        raise BadMessage(f"it has a number of more than 64 bits, before byte {at:,}")


def signed(value: int) -> int:
    """Return the int64 whose bits a varint holds."""
    return value - WORD if value >= SIGN else value


def encode(message: Message) -> bytes:
    """Return the bytes of a message, to be packed by gzip. Its strings are numbered as they come.

    Raises ValueError for a number that has no 64 bits."""
    strings = {"": 0}
    body = encode_fields(message, strings)
    table = b"".join(sized(STRING_TABLE, one.encode(errors="replace")) for one in strings)
    return body + table


def encode_fields(message: Any, strings: dict[str, int]) -> bytes:
    parts = []
    for number, (name, kind) in FIELDS[type(message)].items():
        value = getattr(message, name)
        if isinstance(kind, Embedded):
            those = value if kind.is_repeated else [value] if any(value) else []
            parts += [sized(number, encode_fields(one, strings)) for one in those]
        elif kind in ("uint64s", "int64s", "texts"):
            if value:
                packed = (strings.setdefault(one, len(strings)) if kind == "texts" else one for one in value)
                parts.append(sized(number, b"".join(map(varint, packed))))
        elif value:
            whole = strings.setdefault(value, len(strings)) if kind == "text" else int(value)
            parts.append(varint(number << 3 | VARINT) + varint(whole))
    return b"".join(parts)


def sized(number: int, content: bytes) -> bytes:
    return varint(number << 3 | BYTES) + varint(len(content)) + content


def varint(value: int) -> bytes:
    if not -SIGN <= value < WORD:
        raise ValueError(f"{value}: a number of pprof's files has 64 bits")
    value %= WORD
    found = bytearray()
    while value > 0x7F:
        found.append(value & 0x7F | 0x80)
        value >>= 7
    found.append(value)
    return bytes(found)
