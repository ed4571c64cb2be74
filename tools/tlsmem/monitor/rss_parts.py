"""What the resident memory of a process consists of, read from outside by build/core/heapwalk."""

import json
import subprocess
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from tlsmem.base.errors import UserError
from tlsmem.base.paths import FETCH_CORE, HEAP_WALK, ROOT

MIB = 2**20
OUTDATED = f"{HEAP_WALK} is of another version than this command: {FETCH_CORE}"


@dataclass(frozen=True)
class RssParts:
    """RssAnon of a process in bytes, and the parts that it divides into; a part that is not known is None.

    `live`: requested bytes in the heap; without the heap meter, chunks in use with their headers. `overhead`: rounding,
    headers and malloc's own structures. `cached`: freed chunks in a thread's cache or a fastbin. `free`: other free
    chunks. `mmapped`: chunks with a mapping of their own. `heap`: the region [heap], where it is not divided.
    `absent_bytes`: live, and in no part, as it is not resident. `found_bytes`: requested bytes that are live in
    malloc's chunks, resident or not; only under the heap meter."""

    pid: int
    anon_bytes: int
    parts: dict[str, int | None]
    absent_bytes: int | None
    found_bytes: int | None
    undivided: str | None  # why the heap is not divided
    is_exact: bool = True  # malloc counts as many chunks with a mapping of their own as were found

    @property
    def unexplained_bytes(self) -> int:
        """Return what RssAnon has beyond the sum of the parts; negative where the parts have more."""
        return self.anon_bytes - sum(filter(None, self.parts.values()))

    @property
    def kept_bytes(self) -> int | None:
        """Return what was freed, and malloc keeps."""
        cached, free = self.parts["cached"], self.parts["free"]
        return None if cached is None or free is None else cached + free

    def fields(self) -> dict[str, Any]:
        """Return what a record of the process has."""
        found = {f"{name}_bytes": size for name, size in self.parts.items()}
        rest = {"absent_bytes": self.absent_bytes, "unexplained_bytes": self.unexplained_bytes}
        return {"anon_bytes": self.anon_bytes} | found | rest | {"undivided": self.undivided, "exact": self.is_exact}


def read_rss(pids: Iterable[int]) -> dict[int, RssParts | str]:
    """Return the parts of each process, or why it could not be read.

    Raises UserError where heapwalk is not built."""
    return {line["pid"]: line["refused"] if "refused" in line else parse(line) for line in walk_heaps(pids)}


def walk_heaps(pids: Iterable[int]) -> list[dict[str, Any]]:
    """Return what heapwalk says of each process: docs/reference/records.md has the keys.

    Raises UserError where heapwalk is not built, or is of another version."""
    processes = list(map(str, pids))
    if not processes:
        return []
    with start_heapwalk(processes) as process:
        try:
            return parse_lines(process.communicate()[0])
        except BaseException:
            process.kill()
            raise


def start_heapwalk(words: Sequence[str], **options: Any) -> subprocess.Popen[bytes]:
    """Start heapwalk with these words, and options of Popen. Raises UserError where it is not built."""
    try:
        return subprocess.Popen([str(ROOT / HEAP_WALK), *words], stdout=subprocess.PIPE, **options)
    except FileNotFoundError:
        raise UserError(f"{HEAP_WALK} is not there: {FETCH_CORE}") from None


def parse_lines(text: bytes) -> list[dict[str, Any]]:
    """Return the objects that heapwalk printed. Raises UserError for what is none, as of another version."""
    try:
        lines: list[dict[str, Any]] = list(map(json.loads, text.splitlines()))
        is_outdated = any("pid" not in line for line in lines)
    except (ValueError, TypeError):
        is_outdated = True
    if is_outdated:
        raise UserError(OUTDATED)
    return lines


def parse(line: dict[str, Any]) -> RssParts:
    """Return the parts in a line of heapwalk's. Raises UserError where the line lacks some."""
    try:
        return divide(line)
    except KeyError:
        raise UserError(OUTDATED) from None


def divide(line: dict[str, Any]) -> RssParts:
    mappings = {"stacks": line["stack_bytes"], "files": line["file_bytes"], "other": line["other_bytes"]}
    if "undivided" in line:
        parts = dict.fromkeys(("live", "overhead", "cached", "free", "mmapped")) | {"heap": line["heap_bytes"]}
        return RssParts(line["pid"], line["rss_anon_bytes"], parts | mappings, None, None, line["undivided"])
    live, mapped = line.get("requested", line["used"]), line.get("mmapped_requested", line["mmapped"])
    parts = {
        "live": live["resident_bytes"],
        "overhead": line["used"]["resident_bytes"] - live["resident_bytes"] + line["own_bytes"],
        **{name: line[name]["resident_bytes"] for name in ("cached", "free", "mmapped")},
        "heap": None,
    }
    absent = sum(one["bytes"] - one["resident_bytes"] for one in (live, mapped))
    found = live["bytes"] + mapped["bytes"] if "requested" in line else None
    return RssParts(line["pid"], line["rss_anon_bytes"], parts | mappings, absent, found, None, line["exact"])


def describe_size(size: int) -> str:
    """Return it in bytes below 1 MiB, and in MiB above."""
    return f"{size:,} B" if size < MIB else f"{size / MIB:,.1f} MiB"
