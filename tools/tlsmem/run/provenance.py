"""Where a figure comes from: binary, build, commit and machine; and with them, the record and the key of a run."""

import hashlib
import subprocess
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from tlsmem.base.errors import UserError
from tlsmem.base.paths import HEAP_METER, ROOT
from tlsmem.base.repository import changed_files, git
from tlsmem.config.definitions import Allocator, Suite
from tlsmem.config.run import Run, argv
from tlsmem.config.timed_matrix import TimedRun
from tlsmem.run import cpu_features
from tlsmem.run.preload import HEAP_METERS, allocator_record
from tlsmem.run.symbolizer import resolve_stacks
from tlsmem.run.validate import Outcome
from tlsmem.schema import timed_record
from tlsmem.schema.harness_output import CountedPart, Environment, Model, Thread, ThreadLine, describe_error
from tlsmem.schema.machine import read_machine
from tlsmem.schema.records import SCHEMA, RecordLine, cell_key, run_key, run_path
from tlsmem.schema.run_origins import AllocatorRecord, Machine, Peer, Sha256, SourceRecord


def timed_run_fields(run: Run, outcome: Outcome) -> dict[str, Any]:
    """None of memory. Of a run that was to be counted its times say nothing."""
    if not isinstance(run, TimedRun):
        return {}
    known: dict[str, Any] = {"threads": run.threads, "rounds": run.rounds, "size_bytes": run.size_bytes}
    known |= {"noise": outcome.noise and outcome.noise.model_dump()}
    if outcome.status != "measured":
        return known
    known |= {
        "sealed": outcome.measured_end.sealed,
        "instructions": outcome.instructions and outcome.instructions.model_dump(),
    }
    return known | ({"timings": list(map(timing, outcome.threads))} if run.meter == "time" else {})


def timing(line: ThreadLine) -> dict[str, Any]:
    said = line.model_dump(include=set(Thread.model_fields))
    return said | {"parts": list(map(part, line.parts))}


def part(one: CountedPart) -> dict[str, Any]:
    said = one.model_dump(exclude={"histogram"})
    return said | ({"histogram": timed_record.encode_histogram(one.histogram)} if one.histogram else {})


HARNESSES = ROOT / "build/harness"


class Manifest(Model):
    """What the build says of a harness."""

    stack: str
    binary_sha256: Sha256
    source: SourceRecord | None
    compiler: str
    flags: str
    licence: str


@dataclass(frozen=True)
class Provenance:
    """All that the runs of a campaign share, found once."""

    suites: dict[str, Suite]
    allocators: dict[str, Allocator]
    machine: Machine = field(default_factory=read_machine)

    def declared(self, run: Run) -> dict[str, Any]:
        """The fields of the record that are known before the run."""
        build, features = read_manifest(run.stack), cpu_features.features(run)
        fields = {
            **build.model_dump(),
            "schema": SCHEMA,
            "meter_sha256": sha256(ROOT / HEAP_METER) if run.meter in HEAP_METERS else None,
            "allocator": self.allocator(run).model_dump(),
            "suite": run.suite,
            "scenario": run.scenario,
            "sessions": run.sessions,
            "window": run.window,
            "meter": run.meter,
            "roles": run.roles,
            "env": run.env,
            "cpu_features": features and features.model_dump(),
            "peer": run.peer and peer(run.peer, None).model_dump(),
            "repeat": run.repeat,
            "argv": argv(run, self.suites[run.suite]),
            "machine": self.machine.model_dump(),
        }
        return fields | {"path": run_path(fields)}

    def allocator(self, run: Run) -> AllocatorRecord:
        return installed(run.allocator, self.allocators[run.allocator])

    def key(self, run: Run) -> str:
        return run_key(self.declared(run))

    def cell_key(self, run: Run) -> str:
        return cell_key(self.declared(run))

    def record(self, run: Run, outcome: Outcome) -> RecordLine:
        declared, said, end = self.declared(run), outcome.run, outcome.end
        commit, dirty = checkout()
        fields = declared | {
            "key": run_key(declared),
            "argv": list(outcome.argv),
            "peer": run.peer and peer(run.peer, outcome.peer_reported).model_dump(),
            "reported": said.reported if said else None,
            "negotiated": end.negotiated.model_dump() if end and end.negotiated else None,
            "commit": commit,
            "dirty": dirty,
            "started_at": outcome.started_at,
            "elapsed_ns": outcome.elapsed_ns,
            "status": outcome.status,
            "reason": outcome.reason,
            "environment": said.model_dump(include=set(Environment.model_fields)) if said else None,
            "phases": [phase.model_dump() for phase in outcome.phases],
            "sites": resolve_stacks(outcome.stacks, ROOT).model_dump() if outcome.stacks else None,
        }
        return RecordLine.model_validate(fields | timed_run_fields(run, outcome))


@cache
def installed(name: str, allocator: Allocator) -> AllocatorRecord:
    return allocator_record(name, allocator)


def peer(stack: str, reported: str | None) -> Peer:
    return Peer(**read_manifest(stack).model_dump() | {"reported": reported})


def is_built(stack: str) -> bool:
    return (HARNESSES / stack).exists() and (HARNESSES / f"{stack}.json").exists()


def unavailable_reason(stack: str) -> str | None:
    """Why it is not to be had, as the build said when it was last asked for it."""
    try:
        return (HARNESSES / f"{stack}.unavailable").read_text().strip()
    except OSError:
        return None


def describe_missing(stack: str) -> str:
    """Of a stack without a harness: why, and the way out."""
    if reason := unavailable_reason(stack):
        return f"{stack} is not to be had: {reason}"
    return f"{stack} is not built: make it with `tools/tls-memtest build {stack}`"


@cache
def read_manifest(stack: str) -> Manifest:
    """Raises UserError when there is no harness, or another one than its manifest describes."""
    binary, described = HARNESSES / stack, HARNESSES / f"{stack}.json"
    way_out = f"make it with `tools/tls-memtest build {stack}`"
    try:
        found = Manifest.model_validate_json(described.read_bytes())
        matches = found.binary_sha256 == sha256(binary)
    except OSError:
        raise UserError(describe_missing(stack)) from None
    except ValidationError as error:
        raise UserError(f"{described}: {describe_error(error)}; {way_out}") from None
    if not matches:
        raise UserError(f"{binary}: not the binary that its manifest describes; {way_out}")
    return found


@cache
def sha256(file: Path) -> str:
    return hashlib.sha256(file.read_bytes()).hexdigest()


def describe_making(started_at: str, elapsed_ns: int, reason: str | None) -> dict[str, Any]:
    """Return the fields of a record that say how a run of a real server was made; `reason`: why it failed."""
    commit, dirty = checkout()
    return {
        "commit": commit,
        "dirty": dirty,
        "started_at": started_at,
        "elapsed_ns": elapsed_ns,
        "status": "failed" if reason else "measured",
        "reason": reason,
    }


@cache
def checkout() -> tuple[str, bool]:
    """The commit, and whether anything but data/ differs from it; `unknown` outside a clone."""
    try:
        return git("rev-parse", "HEAD"), bool(changed_files())
    except (FileNotFoundError, subprocess.CalledProcessError):
        return "unknown", True
