"""Records of large files, kept as they were read and checked, so that each file is checked once.

The cache of a file is build/records/NAME.cache, which git ignores; see base/cache_file.py. Its key stands for the file,
its manifest, and the code of this package. It has the small fields of every record, and then the bulk of each (BULK),
which is read from the cache when it is used: of a recording of 57 MB most tables need less than a tenth."""

import io
import pickle
from collections.abc import Sequence
from functools import cache, cached_property
from pathlib import Path
from typing import Any, TypeVar

from pydantic import BaseModel, PrivateAttr

from tlsmem.base.cache_file import cache_place, compute_digest, digest_code, read_cache, write_cache
from tlsmem.base.paths import ROOT
from tlsmem.base.repository import MANIFEST
from tlsmem.schema.harness_output import HeapCounts, Heaps, LiveBlocks, PhaseSites, TemporaryBlocks
from tlsmem.schema.recording_files import SEALED
from tlsmem.schema.records import Phase, Record
from tlsmem.schema.roles import Process

BULK = ("phases", "sites", "timings")
BLOCKS: dict[str, type[BaseModel]] = {  # of the sites of a phase
    "live": LiveBlocks,
    "temporary": TemporaryBlocks,
    "peak": LiveBlocks,
}
LEAST_BYTES, LEAST_SEALED_BYTES = 64 << 10, 4 << 10  # a smaller file is read anew as fast
FOLDER = ROOT / "build/records"
CODE = ("schema/read_records.py", "schema/record_cache.py")  # what reads and checks records
Span = tuple[int, int]  # begin and end in the bulk of the cache
Model = TypeVar("Model", bound=BaseModel)


class Bulk:
    """The bulk of one record in a cache: the bytes of each field, by name. The record and its copies share it."""

    def __init__(self, content: memoryview, spans: dict[str, Span]) -> None:
        self.content, self.spans = content, spans

    @cached_property
    def phases(self) -> list[Phase]:
        """The phases of all processes, which the record of each process takes its own from."""
        found: list[Phase] = self.read("phases")
        return found

    @cached_property
    def digest(self) -> bytes:
        """Stands for all fields, without reading them."""
        return compute_digest(*map(self.packed, BULK))

    def read(self, name: str) -> Any:
        """Return the field's value; None where the record has none."""
        if name not in self.spans:
            return None
        return pickle.loads(self.packed(name))

    def packed(self, name: str) -> memoryview:
        """Return the field as the cache has it; no bytes where the record has none."""
        begin, end = self.spans.get(name, (0, 0))
        return self.content[begin:end]


class CachedRecord(Record):
    """A record whose bulk is read when it is first used. `select_process` makes one with the phases of a process.

    Call stacks (`sites`) are not kept: they are most of a recording, and what is made of them is smaller."""

    _bulk: Bulk = PrivateAttr()
    _process: Process | None = PrivateAttr(default=None)

    def __getattr__(self, name: str) -> Any:
        if name not in BULK:
            raise AttributeError(name)
        bulk, process = (private_values(self)[part] for part in ("_bulk", "_process"))
        if name == "sites":
            return bulk.read(name)
        value = bulk.phases if name == "phases" else bulk.read(name)
        if name == "phases" and process:
            value = [phase for phase in value if phase.process == process]
        self.__dict__[name] = value
        return value

    def select_process(self, process: Process) -> Record:
        """Return the run as one of its processes saw it, as Record.select_process does, without reading the phases."""
        if self.status != "measured" or self.roles != "split" or process == "both":
            return super().select_process(process)
        values = {name: value for name, value in self.__dict__.items() if name != "phases"}
        private = {"_bulk": private_values(self)["_bulk"], "_process": process}
        return fill(object.__new__(CachedRecord), values, private)

    @property
    def has_phases_apart(self) -> bool:
        return not private_values(self)["_process"] and super().has_phases_apart

    @property
    def has_sites(self) -> bool:
        return "sites" in private_values(self)["_bulk"].spans

    def bulk_digest(self) -> str:
        """Return a digest of the phases, sites and timings, without reading them."""
        private = private_values(self)
        return compute_digest((private["_process"] or "").encode(), private["_bulk"].digest).hex()

    def __eq__(self, other: object) -> bool:
        return are_equal(self, other, Record)

    def model_dump(self, **options: Any) -> dict[str, Any]:
        self.read_bulk()
        return super().model_dump(**options)

    def model_dump_json(self, **options: Any) -> str:
        self.read_bulk()
        return super().model_dump_json(**options)

    def read_bulk(self) -> None:
        """Read all fields and put them into the order in which they are written."""
        read_fields(self)
        for phase in self.phases:
            for part in (phase.heap, phase.sites):
                if part:
                    read_fields(part)


def private_values(model: BaseModel) -> dict[str, Any]:
    """Return a model's private attributes from where pydantic keeps them: its own access is slow."""
    assert model.__pydantic_private__ is not None
    return model.__pydantic_private__


def read_fields(model: BaseModel) -> None:
    """Read the fields of a model that are read when they are used, and put all into the order of their definition."""
    values = {name: getattr(model, name) for name in field_names(type(model))}
    object.__setattr__(model, "__dict__", values)


def load(file: Path, content: bytes) -> list[Record] | None:
    """Return the records of a file with this content, sealed or not; None when they are not in the cache."""
    if is_small(file, content):
        return None
    kept = read_cache(cache_place(FOLDER, file), compute_key(file, content))
    if kept is None:
        return None
    head = 8 + int.from_bytes(kept[:8], "little")
    fields, spans = pickle.loads(kept[8:head])
    return [rebuild_record(values, Bulk(kept[head:], places)) for values, places in zip(fields, spans, strict=True)]


def store(file: Path, content: bytes, records: Sequence[Record]) -> None:
    """Write the records of a file with this content into the cache, completely or not at all. A failure is ignored."""
    if is_small(file, content):
        return
    known: dict[tuple[type, bytes], object] = {}
    bulk, spans = io.BytesIO(), []
    for record in records:
        places: dict[str, Span] = {}
        for name in BULK:
            if (value := getattr(record, name)) is not None:
                begin = bulk.tell()
                bulk.write(dump(value))
                places[name] = begin, bulk.tell()
        spans.append(places)
    fields = [{name: share(record.__dict__[name], known) for name in small_fields()} for record in records]
    head = dump((fields, spans))
    kept = b"".join((len(head).to_bytes(8, "little"), head, bulk.getvalue()))
    write_cache(cache_place(FOLDER, file), compute_key(file, content), kept)


def is_small(file: Path, content: bytes) -> bool:
    """Return whether reading the file again is as fast as reading the cache."""
    return len(content) < (LEAST_SEALED_BYTES if file.name.endswith(SEALED) else LEAST_BYTES)


def compute_key(file: Path, content: bytes) -> bytes:
    """Return a digest of the file's content, of its manifest, and of the code that reads them."""
    manifest = file.with_name(MANIFEST)
    return compute_digest(digest_code(CODE), content, manifest.read_bytes() if manifest.exists() else b"")


def small_fields() -> list[str]:
    """Return the names of a record's fields that are read at once."""
    return [name for name in Record.model_fields if name not in BULK]


def share(value: object, known: dict[tuple[type, bytes], object]) -> object:
    """Return one object for all values that are equal: pickle then writes it once, and reading makes it once."""
    if isinstance(value, (BaseModel, str, list)):
        return known.setdefault((type(value), dump(value)), value)
    return value


def are_equal(model: BaseModel, other: object, kind: type[BaseModel]) -> bool:
    """Return whether the other model is of this kind, cached or not, and has the same values."""
    names = field_names(kind)
    return isinstance(other, kind) and all(getattr(model, name) == getattr(other, name) for name in names)


class CachedHeaps(Heaps):
    """Heaps whose counts are made when they are first used: most tables use one owner of six."""

    _counts: dict[str, tuple[int, ...]] = PrivateAttr()

    def __getattr__(self, name: str) -> Any:
        if name not in Heaps.model_fields:
            raise AttributeError(name)
        counts = self.__dict__[name] = rebuild(HeapCounts, *private_values(self)["_counts"][name])
        return counts

    def __eq__(self, other: object) -> bool:
        return are_equal(self, other, Heaps)


class CachedPhaseSites(PhaseSites):
    """Sites of a phase whose blocks are read whenever they are used, and not kept: there may be thousands."""

    _blocks: dict[str, bytes] = PrivateAttr()

    def __getattr__(self, name: str) -> Any:
        if name not in BLOCKS:
            raise AttributeError(name)
        values = pickle.loads(private_values(self)["_blocks"][name])
        return values and [rebuild(BLOCKS[name], *one) for one in values]

    def __eq__(self, other: object) -> bool:
        return are_equal(self, other, PhaseSites)


class Pickler(pickle.Pickler):
    """Writes a model as its class and its values: a third of the bytes of pydantic's own way, faster to read."""

    def reducer_override(self, value: object) -> Any:
        """Return the function and the arguments that make a model again; NotImplemented for other values."""
        if isinstance(value, Heaps):
            return rebuild_heaps, tuple(field_values(getattr(value, name)) for name in Heaps.model_fields)
        if isinstance(value, PhaseSites):
            blocks = {name: dump_blocks(getattr(value, name)) for name in BLOCKS}
            return rebuild_sites, (
                blocks,
                *(getattr(value, name) for name in PhaseSites.model_fields if name not in BLOCKS),
            )
        if isinstance(value, BaseModel):
            return rebuild, (type(value), *field_values(value))
        return NotImplemented


def dump_blocks(blocks: Sequence[BaseModel] | None) -> bytes:
    """Return the pickled values of blocks; None where they are not recorded."""
    return pickle.dumps(blocks and [field_values(one) for one in blocks])


def dump(value: object) -> bytes:
    """Return the pickled value."""
    written = io.BytesIO()
    Pickler(written, pickle.HIGHEST_PROTOCOL).dump(value)
    return written.getvalue()


@cache
def field_names(model: type[BaseModel]) -> tuple[str, ...]:
    """Return the names of the model's fields in the order of their definition."""
    return tuple(model.model_fields)


def field_values(model: BaseModel) -> tuple[Any, ...]:
    """Return the values of all fields of a model in the order of their definition."""
    return tuple(model.__dict__[name] for name in field_names(type(model)))


@cache
def fields_set(model: type[BaseModel]) -> set[str]:
    """Return the names of all fields: pydantic keeps which of them were given."""
    return set(model.model_fields)


def rebuild(model: type[Model], *values: Any) -> Model:
    """Return a model with these values, in the order of its fields; they were checked before they were kept."""
    return fill(object.__new__(model), dict(zip(field_names(model), values, strict=True)), None)


def rebuild_heaps(*counts: tuple[int, ...]) -> Heaps:
    """Return heaps from the values of each owner's HeapCounts, in the order of the fields."""
    made = object.__new__(CachedHeaps)
    return fill(made, {}, {"_counts": dict(zip(field_names(Heaps), counts, strict=True))})


def rebuild_sites(blocks: dict[str, bytes], *values: Any) -> PhaseSites:
    """Return sites from their pickled blocks and the values of the other fields, in the order of the fields."""
    names = (name for name in PhaseSites.model_fields if name not in BLOCKS)
    return fill(object.__new__(CachedPhaseSites), dict(zip(names, values, strict=True)), {"_blocks": blocks})


def rebuild_record(values: dict[str, Any], bulk: Bulk) -> Record:
    """Return a record from its small fields by name and its bulk in the cache."""
    return fill(object.__new__(CachedRecord), values, {"_bulk": bulk, "_process": None})


def fill(model: Model, values: dict[str, Any], private: dict[str, Any] | None) -> Model:
    """Give a new model its values and private attributes without checking them again, and return it."""
    object.__setattr__(model, "__dict__", values)
    object.__setattr__(model, "__pydantic_fields_set__", fields_set(type(model)))
    object.__setattr__(model, "__pydantic_extra__", None)
    object.__setattr__(model, "__pydantic_private__", private)
    return model
