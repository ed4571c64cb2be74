"""Which recording a plan stands on: the newest in data/ that has what is needed, or those that were named.

The user's own, in data/local, are used only when named: plans without names are the same on every machine."""

import functools
from collections.abc import Sequence
from pathlib import Path

from tlsmem.base.nearest import suggest_nearest
from tlsmem.base.paths import ROOT
from tlsmem.schema import records
from tlsmem.schema.records import Record

DATA = Path("data")


def find_recordings(named: Sequence[Path] | None) -> list[Path]:
    """Recordings, the newest first; those that were named in their order. ValueError when there is none."""
    if named:
        for one in named:
            if not one.exists():
                raise ValueError(f"{one}: there is no such recording; recordings are directories under data/")
        return list(named)
    found = sorted((one for one in (ROOT / DATA).glob("20*/") if any(one.glob("*.jsonl"))), reverse=True)
    if not found:
        raise ValueError("data: there is no committed recording; --recording names yours, in data/local")
    return found


def display_name(recording: Path) -> str:
    """As people name it."""
    whole = recording.resolve()
    return str(whole.relative_to(ROOT)) if whole.is_relative_to(ROOT) else str(recording)


def stacks(recording: Path) -> list[str]:
    files = [recording] if recording.is_file() else sorted(recording.glob("*.jsonl"))
    return [one.name.removesuffix(".jsonl") for one in files]


@functools.cache
def load_stack(recording: Path, stack: str) -> tuple[Record, ...]:
    """Its runs; none where the recording has not the stack."""
    file = recording if recording.is_file() else recording / f"{stack}.jsonl"
    return tuple(one for one in records.load(file) if one.stack == stack) if file.exists() else ()


def describe_unknown(stack: str, among: Sequence[Path]) -> str:
    """A sentence: what there is instead."""
    there = sorted({name for one in among for name in stacks(one)})
    where = ", ".join(map(display_name, among))
    return f"no runs of {stack} in {where}{suggest_nearest(stack, there)}"
