"""What a harness prints: one JSON object a line, a run, its phases and an end. See docs/records.md."""

from difflib import get_close_matches
from typing import Annotated, Any, Literal

import pydantic
from pydantic import BaseModel, ConfigDict, Field, NonNegativeInt, PositiveInt, ValidationError, model_serializer

Sessions = Annotated[int, Field(ge=2, multiple_of=2)]
Window = PositiveInt | Literal["all"]
Meter = Literal["rss", "heap"]


class Model(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True, frozen=True)


class Heap(Model):
    """One role's requested bytes and blocks: live at the end of the phase, at its peak, and since the process began."""

    live_bytes: NonNegativeInt
    live_blocks: NonNegativeInt
    peak_bytes: NonNegativeInt
    peak_blocks: NonNegativeInt
    cumulative_bytes: NonNegativeInt
    cumulative_blocks: NonNegativeInt


class Heaps(Model):
    client: Heap
    server: Heap
    client_context: Heap
    server_context: Heap
    harness: Heap
    total: Heap


class Phase(Model):
    """The meters at the end of one phase; a peak is that of the phase."""

    phase: str
    process: Literal["both", "client", "server"]
    rss_bytes: NonNegativeInt
    rss_anon_bytes: NonNegativeInt
    rss_file_bytes: NonNegativeInt
    rss_shmem_bytes: NonNegativeInt
    peak_rss_bytes: NonNegativeInt
    minor_faults: NonNegativeInt
    major_faults: NonNegativeInt
    wire_bytes: NonNegativeInt
    heap: Heaps | None = None

    @model_serializer(mode="wrap")
    def absent_when_not_metered(self, serialize) -> dict[str, Any]:
        fields = serialize(self)
        if self.heap is None:
            fields.pop("heap", None)
        return fields


class Negotiated(Model):
    protocol: str
    cipher: str
    group: str
    group_from: Literal["session", "offer"]
    resumed: bool
    client_verified: bool
    server_verified: bool


class Environment(Model):
    aslr: Literal["off", "on"]
    thp: Literal["off", "on"]
    cpu: NonNegativeInt | None
    notes: list[str]


class RunLine(Environment):
    """The first line: what the harness is and what it was asked."""

    record: Literal["run"]
    schema_: Literal[1] = Field(alias="schema")
    stack: str
    reported: str
    scenario: Literal["memory"]
    sessions: Sessions
    role: Literal["both"]
    window: Window
    meter: Meter


class PhaseLine(Phase):
    record: Literal["phase"]

    def phase_only(self) -> Phase:
        return Phase.model_construct(**{name: getattr(self, name) for name in Phase.model_fields})


class EndLine(Model):
    """The last line; without it there was no measurement."""

    record: Literal["end"]
    status: Literal["measured", "unsupported"]
    negotiated: Negotiated | None = None
    elapsed_ns: NonNegativeInt | None = None
    reason: str | None = None


Line = RunLine | PhaseLine | EndLine
LINE: pydantic.TypeAdapter[Line] = pydantic.TypeAdapter(Annotated[Line, Field(discriminator="record")])


def sentence(error: ValidationError) -> str:
    """The first thing that is wrong, as `place: what`; a foreign schema explains all else, and a wrong key
    that another is missing."""
    first = min(error.errors(), key=lambda one: (one["loc"][-1:] != ("schema",), one["type"] != "extra_forbidden"))
    place = ".".join(str(part) for part in first["loc"])
    what = f"no such key{nearest(first['loc'], error)}" if first["type"] == "extra_forbidden" else first["msg"]
    return f"{place}: {what}" if place else what


def nearest(wrong: tuple, error: ValidationError) -> str:
    """The key that is missing beside it and looks like it, as the end of a sentence."""
    missing = [one["loc"] for one in error.errors() if one["type"] == "missing"]
    beside = [str(place[-1]) for place in missing if place[:-1] == wrong[:-1]]
    return "".join(f"; did you mean {key}?" for key in get_close_matches(str(wrong[-1]), beside, n=1))
