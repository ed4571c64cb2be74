"""What is declared of a run beside its figures, and what of it two sides do not share: a reason not to compare them."""

import re
from collections.abc import Callable, Collection, Iterable, Sequence
from typing import NamedTuple

from tlsmem.base.nearest import suggest_nearest
from tlsmem.schema import harness_output
from tlsmem.schema.recorded_arguments import harness_arguments
from tlsmem.schema.records import RecordLine
from tlsmem.stats.missing import NOT_RECORDED
from tlsmem.stats.series import allocator_name, cpu_name, peer_name
from tlsmem.store.record import Record
from tlsmem.tables.settings import allocator_as_used

VERSION = re.compile(r"\d[\w.]*")
OWN_STACK = "the same stack"
FLAGS = "CPU flags"


def argument(name: str) -> Callable[[Record], str]:
    return lambda record: harness_arguments(record).get(name, "")


def compiler_names(record: Record) -> str:
    """Without versions: `gcc`, `clang`, `rustc, gcc`."""
    return ", ".join(word.strip() for word in VERSION.sub("", record.compiler).split(",") if word.strip())


def cpu_features(record: Record) -> str:
    found = record.cpu_features
    said = " ".join(f"{name}={value}" for name, value in (found.variables if found else {}).items())
    return f"{cpu_name(record)} ({said})" if said else cpu_name(record)


def environment(record: Record) -> str:
    found = record.environment
    return f"{record.env} (randomisation {found.aslr}, huge pages {found.thp})" if found else record.env


PATH_FIELDS = {"XCR0": "xcr0", "libc build": "libc_build_id", "page size": "page_bytes", FLAGS: "flags"}


def path_field(name: str) -> Callable[[Record], str | None]:
    return lambda one: str(getattr(one.machine.path, name)) if one.machine.path else None


# By the aspect that allows it to differ, where it is compared by that: `--by stack` is of compilers too. None: what
# does not count where the path of the run is recorded, or not.
ASPECTS_BY_METER: dict[str, dict[str, Callable[[Record], str | None]]] = {
    "stack": {"compiler": lambda one: one.compiler, "flags": lambda one: one.flags or "none"},
    "allocator": {"allocator": allocator_as_used},
    "suite": {
        name: argument(name)
        for name in ("protocol", "cipher", "group", "client_groups", "certs", "auth", "tickets", "store")
    },
    "window": {"window": lambda one: str(one.window)},
    "roles": {"roles": lambda one: one.roles, "peer": lambda one: peer_name(one) or OWN_STACK},
    "env": {"environment": environment, "threads": argument("threads")},
    "cpu": {"CPU features": cpu_features},
    "machine": {
        "machine": lambda one: f"{one.machine.cpu}, {one.machine.cpus} CPUs",
        "machine path": lambda one: one.machine.path_name or NOT_RECORDED,
        **{what: path_field(name) for what, name in PATH_FIELDS.items()},
        "kernel": lambda one: None if one.machine.path else one.machine.kernel,
        "system": lambda one: None if one.machine.path else one.machine.os,
        "libc": lambda one: None if one.machine.path else one.machine.libc,
    },
    "options": {name: argument(name) for name in ("options", "data", "size")},
}
ALLOWED = {"compiler": ("stack",), "cpu": ("cpu",)}  # --by this: those too
ASPECT_VALUES: dict[str, Callable[[Record], str]] = {  # what --by tells sides apart by
    "stack": lambda one: one.stack,
    "allocator": allocator_name,
    "compiler": compiler_names,
    "roles": lambda one: one.roles,
    "window": lambda one: str(one.window),
    "cpu": cpu_name,
    "env": lambda one: one.env,
    "suite": lambda one: one.suite,
}


class SettingDifference(NamedTuple):
    what: str
    old: str
    new: str

    def describe(self, sides: tuple[str, str]) -> str:
        """Return what differs, with the names of the two sides."""
        return f"{self.what} is {self.old} in {sides[0]} and {self.new} in {sides[1]}"


def find_differences(old: Sequence[Record], new: Sequence[Record], by: Collection[str] = ()) -> list[SettingDifference]:
    """Of the runs of two sides that are measured by one meter; without what those that are compared `by` allow."""
    allowed = {*by, *(aspect for one in by for aspect in ALLOWED.get(one, ()))}
    found = []
    for aspect, details in ASPECTS_BY_METER.items():
        for name, of in details.items() if aspect not in allowed else ():
            values = [set(map(of, runs)) for runs in (old, new)]
            if None in values[0] | values[1] or values[0] == values[1]:
                continue
            texts = [[value for value in side if value is not None] for side in values]
            found.append(SettingDifference(name, *(flags_apart(texts) if name == FLAGS else map(join_values, texts))))
    return found


def flags_apart(sides: Sequence[Iterable[str]]) -> list[str]:
    """The flags that one side has and the other has not."""
    old, new = ({flag for text in texts for flag in text.split()} for texts in sides)
    return [" ".join(sorted(ours - others)) or "none of them" for ours, others in ((old, new), (new, old))]


def join_values(values: Iterable[str]) -> str:
    return " or ".join(sorted(set(values))) or "not told"


def select_value(records: Iterable[Record], by: str, value: str) -> list[Record]:
    """Raises ValueError with a sentence that names what is there when no run has it."""
    records = list(records)
    found = [one for one in records if ASPECT_VALUES[by](one) == value]
    if not found:
        there = sorted({ASPECT_VALUES[by](one) for one in records})
        raise ValueError(
            f"no runs of {by} {value}; there are: {', '.join(there) or 'none'}{suggest_nearest(value, there)}"
        )
    return found


def comparison_notes(old: Sequence[Record], new: Sequence[Record], names: tuple[str, str]) -> list[str]:
    """What is no reason to refuse, and a reader must know: sentences."""
    made = {
        "the toolkit that measured": lambda one: f"{one.commit[:12]}{' with changes' if one.dirty else ''}",
        "the heap meter": lambda one: (one.meter_sha256 or "")[:12],
        "the kernel": lambda one: one.machine.kernel if one.machine.path else "",
    }
    found = []
    for name, of in made.items():
        sides = [join_values(filter(None, map(of, runs))) for runs in (old, new)]
        if sides[0] != sides[1] and "not told" not in sides:
            found.append(f"{name[0].upper()}{name[1:]} is {sides[0]} in {names[0]} and {sides[1]} in {names[1]}.")
    return [*found, *schema_notes(old, new, names)]


def schema_notes(old: Sequence[Record], new: Sequence[Record], names: tuple[str, str]) -> list[str]:
    """Which fields one side lacks, where their schemas are of different versions."""
    versions = [max((one.schema_ for one in runs), default=0) for runs in (old, new)]
    if versions[0] == versions[1] or 0 in versions:
        return []
    fields = [fields_of(runs) for runs in (old, new)]
    older = versions.index(min(versions))
    lacking = sorted(fields[1 - older] - fields[older])
    said = f"{names[older]} is of schema {versions[older]}, the other of {versions[1 - older]}"
    return [f"{said}: it lacks {', '.join(lacking)}." if lacking else f"{said}; nothing that is compared is missing."]


def fields_of(runs: Sequence[Record]) -> set[str]:
    """That the runs and their phases have."""
    found = {name for one in runs for name in RecordLine.model_fields if getattr(one, name, None) is not None}
    phases = (phase for one in runs for phase in one.phases)
    return found | {
        name for phase in phases for name in harness_output.Phase.model_fields if getattr(phase, name, None) is not None
    }
