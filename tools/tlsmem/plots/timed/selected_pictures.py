"""Pictures of the timed runs that are selected."""

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from tlsmem.plots.timed import handshake_kinds, pictures
from tlsmem.stats.selection import choose_values, select_campaign
from tlsmem.stats.timed_selection import is_timed, select
from tlsmem.store.record import Record
from tlsmem.store.recordings import load_recording


def select_timed(records: Sequence[Record], given: argparse.Namespace) -> list[Record]:
    """Of the stacks and suites that were asked for, in that order; a suite brings its resumed handshakes along.
    Raises ValueError with a sentence when one has no runs."""
    records = [one for one in records if is_timed(one)]
    if not records:
        raise ValueError(
            "the recording has no timed runs; record some with make throughput, make handshake or make threads"
        )
    stacks = choose_values(given.stack, (one.stack for one in records), "the stack")
    there = (suite for one in records for suite in (one.suite, handshake_kinds.base_suite(one.suite)))
    suites = choose_values(given.suite, there, "the suite")
    found = [
        one for one in records if one.stack in stacks and {one.suite, handshake_kinds.base_suite(one.suite)} & {*suites}
    ]
    return sorted(found, key=lambda one: stacks.index(one.stack)) if given.stack else found


def draw_from_arguments(given: argparse.Namespace) -> list[Path]:
    loaded = load_recording(given.recording)
    loaded = select_campaign(loaded, given.campaign) if given.campaign else loaded
    timed = select(select_timed(loaded, given))
    for said in timed.left_out:
        print(f"memtest: {given.recording}: {said}", file=sys.stderr)
    return pictures.draw_selected(timed, given.output)
