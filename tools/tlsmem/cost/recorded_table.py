"""What is recorded of each stack in each suite: in which states, of which quantities, by which campaigns."""

from collections.abc import Iterable, Sequence
from pathlib import Path

from tlsmem.config import definitions
from tlsmem.config.libraries import sort_by_library
from tlsmem.plan.recorded_states import RecordedState, RecordedSuite, recorded_suites
from tlsmem.store import recordings
from tlsmem.tables.table import Column, Table

CAPTION = (
    "What data/ has of each stack in each suite. As servers run it: in use, with default tickets, few handshakes "
    "at a time, the state of the three costs. In use: after a full record (16 KiB) each way. At rest: established. "
    "Other runs: scenarios, and `memory` with another allocator, environment or peer, or with the sessions of one role "
    "kept. A suite without a row is not recorded for the stack; `tls-memtest cost STACK --suite SUITE` says how to "
    "record it."
)


def quantities(states: Iterable[RecordedState]) -> list[str]:
    """Return what was measured in any of the states: RSS of a role where that had a process of its own."""
    found = set()
    for state in states:
        brings = state.stack in definitions.stacks() and definitions.stacks()[state.stack].brings == "go"
        found |= {"live heap"} if "heap" in state.meters or ("rss" in state.meters and brings) else set()
        found |= {"RSS"} if "rss" in state.meters and state.setting.roles == "split" else set()
        found |= {"call stacks"} if "sites" in state.meters else set()
    return sorted(found, key=["live heap", "RSS", "call stacks"].index)


def listed(words: Iterable[str | None]) -> str:
    """Return words, each once; nothing where there are none."""
    return ", ".join(dict.fromkeys(filter(None, words)))


COLUMNS = (
    Column("stack", "stack", left=True, value=lambda row: row.stack),
    Column("suite", "suite", left=True, value=lambda row: row.suite),
    Column(
        "as_deployed",
        "as servers run it",
        left=True,
        value=lambda row: listed(quantities(one for one in row.states if one.is_as_deployed)),
    ),
    Column(
        "in_use",
        "in use, otherwise",
        left=True,
        value=lambda row: listed(quantities(one for one in row.states if one.is_in_use and not one.is_as_deployed)),
    ),
    Column(
        "at_rest",
        "at rest",
        left=True,
        value=lambda row: listed(quantities(one for one in row.states if not one.is_in_use)),
    ),
    Column("other", "other runs", left=True, value=lambda row: listed(row.elsewhere)),
    Column(
        "campaigns", "campaigns", left=True, optional=True, value=lambda row: listed(one.campaign for one in row.states)
    ),
    Column(
        "recordings",
        "recordings",
        left=True,
        optional=True,
        value=lambda row: listed(recordings.display_name(one.recording) for one in row.states),
    ),
)


def recorded_table(stacks: Sequence[str], suite: str | None, among: Sequence[Path]) -> Table:
    """Return a row for each suite in which a stack is recorded; of all recorded stacks where none is named."""
    every = stacks or sort_by_library(dict.fromkeys(stack for path in among for stack in recordings.stacks(path)))
    made = Table("recorded", "What is recorded", CAPTION, [*COLUMNS])
    made.headed = 2
    for stack in every:
        there = recorded_suites(stack, among)
        made.add_rows(RecordedSuite(stack, one, among) for one in there if suite in (None, one))
        if suite and suite not in there:
            advice = RecordedSuite(stack, suite, among).advice
            made.without.append(f"{stack}: not recorded in {suite}; {advice.sentence}")
    return made
