#!/usr/bin/env python3
"""Ask `cost` for every recorded stack in every suite, and read the chooser of a report: is each answer of the
suite that was asked for?

An answer is what is printed as JSON. Its rows must have the stack and the suite that were asked for, its recording must
have measured runs of both, and its live heap must be what two of these runs give: this is read from the lines of the
recording, by nothing that made the answer. An answer without figures must have the command that records them, or why
nothing does. How many cells of stack, suite and role are answered is printed.

Exit status 1: an answer is of another suite, or too few cells are answered; each is named."""

import argparse
import contextlib
import functools
import io
import itertools
import json
import re
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from check_commands import Page, read_page
from oracle_commands import ASKED
from tlsmem.base import venv
from tlsmem.base.errors import UserError
from tlsmem.base.paths import ROOT
from tlsmem.cli.dispatch import run_words
from tlsmem.cli.main import run as run_command

FIGURES = {  # of a row: keys of figures, and the phase whose end they are of where they are live heap
    "live_heap_in_use_bytes": "blocked",
    "live_heap_at_rest_bytes": "established",
    "rss_at_rest_bytes": None,
    "rss_in_use_bytes": None,
}
LEAST = 14  # stacks that have an answer for each of these in both roles
FIGURE, REASON, NOTHING = "figure", "reason", "nothing"
TOLERANCE = 0.06  # bytes: figures are rounded to a tenth
VARIANT = re.compile(r"\+(low-memory|drop-peer-chain|tickets-\w+)")


class Answer(NamedTuple):
    """A figure that was printed, and for what."""

    stack: str
    suite: str  # that was asked for
    role: str
    recording: str
    phase: str | None  # None: RSS
    size: float

    def fault(self) -> str | None:
        """Return what is wrong with it; None where nothing is."""
        runs = measured_runs(self.recording, self.stack).get(self.suite, [])
        if not runs:
            return f"{self.recording or 'no recording'} has no run of it"
        if self.phase is None:
            return None if any(run["meter"] == "rss" for run in runs) else f"{self.recording} has no RSS run of it"
        found = (abs(one - self.size) < TOLERANCE for one in live_slopes(runs, self.role, self.phase))
        if any(run["meter"] == "heap" for run in runs) and not any(found):
            return f"live heap of {self.size:,} B is of no two runs of it in {self.recording}"
        return None


@functools.cache
def measured_runs(recording: str, stack: str) -> dict[str, list[dict]]:
    """Return the measured runs of memory in a recording's lines, by suite without options and tickets."""
    from tlsmem.schema import recording_files

    file = recording_files.find_stack(ROOT / recording, stack) if recording else None
    found: dict[str, list[dict]] = {}
    for line in recording_files.read_content(file).splitlines() if file else ():
        if b'"meter":"sites"' in line or b'"scenario":"memory"' not in line:
            continue
        run = json.loads(line)
        if run.get("status") == "measured":
            found.setdefault(VARIANT.sub("", run["suite"]), []).append(run)
    return found


def live_slopes(runs: list[dict], role: str, phase: str) -> Iterator[float]:
    """Yield the live heap per session that every two heap runs of one configuration give, with process-wide tables and
    without them."""
    sizes: dict[tuple, dict[int, tuple[int, int]]] = {}
    for run in runs:
        ends = {one["phase"]: one["heap"][role] for one in run["phases"] if is_metered(one, role)}
        if phase in ends:
            kind = run["suite"], run["roles"], str(run["window"]), "data=full" in run["argv"], run["repeat"]
            pairs, live = run["sessions"] // 2, ends[phase]["live_bytes"]
            sizes.setdefault(kind, {})[pairs] = live, live - process_wide_bytes(ends, pairs)
    for points in sizes.values():
        for few, many in itertools.combinations(sorted(points), 2):
            for before, after in zip(points[few], points[many], strict=True):
                yield (after - before) / (many - few)


def is_metered(phase: dict, role: str) -> bool:
    """Return whether the phase of a run has the live heap of the role."""
    return bool(phase.get("heap")) and phase.get("process", "both") in ("both", role)


def process_wide_bytes(ends: dict[str, dict], pairs: int) -> int:
    """Return the bytes of process-wide tables: what a role has live when all its sessions are closed, above what it had
    before the first. A table has few blocks; a block for each session is a leak."""
    if not {"contexts", "closed"} <= ends.keys():
        return 0
    few_blocks = ends["closed"]["live_blocks"] - ends["contexts"]["live_blocks"] <= pairs.bit_length()
    return ends["closed"]["live_bytes"] - ends["contexts"]["live_bytes"] if few_blocks else 0


def printed(*words: str) -> dict:
    """Return what a command of tls-memtest prints as JSON. Raises UserError where it has no answer."""
    out = io.StringIO()
    with contextlib.redirect_stdout(out):
        status = run_words([*words, "--format", "json"])
    if status:
        raise UserError(status=status)
    return json.loads(out.getvalue())


def state_of_cost(row: dict) -> str:
    """Return how tls-memtest cost answers for a role of a stack in a suite: FIGURE, REASON or NOTHING."""
    found = [row[key] for key in FIGURES if key in row]
    if all(isinstance(one, float) for one in found):
        return FIGURE
    return REASON if all("cannot be recorded: " in str(one) for one in found) else NOTHING


def state_of_plan(stack: str, suite: str, role: str) -> str:
    """Return how tls-memtest plan answers: with what a connection takes, why it cannot, or not at all."""
    words = ("memory", "--connections", "1000", "--stack", stack, "--suite", suite, "--role", role)
    said = io.StringIO()
    try:
        with contextlib.redirect_stderr(said):
            tables = printed("plan", *words)["tables"]
    except UserError as error:
        return REASON if re.search("unsupported|cannot be recorded", f"{said.getvalue()}{error}") else NOTHING
    each = {row["what"].partition(",")[0]: row["each_bytes"] for row in tables[0]["rows"]}
    wanted = each["TLS connections"], each["concurrent handshakes"]
    return FIGURE if all(isinstance(one, int | float) for one in wanted) else NOTHING


def count_answers(stacks: list[str], page: Page) -> Iterator[str]:
    """Print how many cells of stack, suite and role are answered, each way; yield a sentence where that is too few."""
    cells = list(itertools.product(stacks, ASKED, ("server", "client")))
    tables = [printed("cost", *stacks, "--suite", suite)["tables"][0]["rows"] for suite in ASKED]
    rows = [row for row in itertools.chain(*tables) if row["configuration"] == "default"]
    chosen = {
        (row["stack"], row["suite"], row["role"])
        for row in page.data["packed-answer"]["rows"]
        if any("bytes" in one for one in row.get("use", {}).values() if isinstance(one, dict))
    }
    states = {
        "cost": {(row["stack"], row["suite"], row["role"]): state_of_cost(row) for row in rows},
        "plan": {cell: state_of_plan(*cell) for cell in cells},
    }
    refused = {cell for cell, state in states["cost"].items() if state == REASON}
    states["chooser"] = {cell: FIGURE if cell in chosen else REASON if cell in refused else NOTHING for cell in cells}
    for name, found in states.items():
        whole = [
            stack for stack in stacks if all(found.get(cell) in (FIGURE, REASON) for cell in cells if cell[0] == stack)
        ]
        counts = Counter(found.get(cell, NOTHING) for cell in cells)
        print(
            f"check-answers: {name}: {counts[FIGURE]} cells with figures, {counts[REASON]} that a library cannot do, "
            f"{counts[NOTHING]} not recorded"
        )
        print(f"  all {len(ASKED)} suites in both roles: {len(whole)} stacks: {', '.join(whole)}")
        if len(whole) < LEAST:
            yield f"{name}: all of {', '.join(ASKED)} are answered for {len(whole)} stacks, not {LEAST}"


def check_cost(stacks: list[str], suite: str) -> Iterator[str]:
    """Yield what is wrong with the answers for these stacks in the suite."""
    (table,) = printed("cost", *stacks, "--suite", suite)["tables"]
    missing = set(stacks) - {row["stack"] for row in table["rows"]}
    yield from (f"cost: {stack} in {suite}: no answer" for stack in sorted(missing))
    for row in table["rows"]:
        what = f"cost: {row['stack']} in {suite}, {row['role']}, {row['configuration']}"
        if row["suite"] != suite:
            yield f"{what}: answered in {row['suite']}"
        figures = {key: row[key] for key in FIGURES if isinstance(row.get(key), float)}
        for key, size in figures.items():
            answer = Answer(row["stack"], suite, row["role"], row["recording"], FIGURES[key], size)
            if fault := answer.fault():
                yield f"{what}: {key}: {fault}"
        holes = [row[key]["hole"] for key in FIGURES if isinstance(row.get(key), dict)]
        if not figures and not all(
            "tools/tls-memtest measure" in one or "cannot be recorded: " in one for one in holes
        ):
            yield f"{what}: neither a figure nor what records it"


def check_measured(page: Page) -> Iterator[str]:
    """Yield a sentence if the recording of most of the chooser's figures is not below "What was measured"."""
    rows = page.data["packed-answer"]["rows"]
    ((path, _),) = Counter(row["recording"] for row in rows if not row["state"]).most_common(1)
    told = {name.partition(" on ")[0] for name in page.data["table-recordings-packed"]["columns"][0]["texts"]}
    if Path(path).name not in told:
        yield f"report: What was measured: {path} is missing"


def check_chooser(page: Page) -> Iterator[str]:
    """Yield what is wrong with the figures of a report's chooser."""
    phases = {"use": "blocked", "rest": "established"}
    for row in page.data["packed-answer"]["rows"]:
        for state, phase in phases.items():
            for kind, found in row.get(state, {}).items():
                if not isinstance(found, dict) or "bytes" not in found:
                    continue
                meter = phase if kind.endswith("live") else None
                answer = Answer(row["stack"], row["suite"], row["role"], row["recording"], meter, found["bytes"])
                if fault := answer.fault():
                    yield f"report: {row['stack']} in {row['suite']}, {row['role']}, {state}, {kind}: {fault}"


def main() -> None:
    asked = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    asked.add_argument("page", type=Path, help="a report in one file")
    asked.add_argument("--suites", nargs="*", help="only these; default: all of memtest/suites.toml")
    given = asked.parse_args()
    venv.activate()
    from tlsmem.config import definitions
    from tlsmem.store import recordings

    among = recordings.find_recordings(None)
    stacks = sorted({stack for path in among for stack in recordings.stacks(path)})
    suites = given.suites or [*definitions.suites()]
    faults = [fault for suite in suites for fault in check_cost(stacks, suite)]
    page = read_page(given.page)
    if not {"packed-answer", "table-recordings-packed"} <= page.data.keys():
        sys.exit(f"check-answers: {given.page}: not a report of recordings with sessions in use")
    faults += [*check_chooser(page), *check_measured(page), *count_answers(stacks, page)]
    print(*faults, sep="\n", end="\n" if faults else "")
    pairs = f"{len(stacks)} stacks in {len(suites)} suites, and the chooser of a report"
    if faults:
        sys.exit(f"check-answers: {len(faults)} wrong of {pairs}")
    print(f"check-answers: none wrong of {pairs}")


if __name__ == "__main__":
    run_command(main)
