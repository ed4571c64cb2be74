#!/usr/bin/env python3
"""The page that test_phases_page.py opens, and what a record says of it: `phase_examples.py DIRECTORY`."""

# ruff: noqa: E402

import sys
from pathlib import Path

TOOLS = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(TOOLS))

from tlsmem.base import venv

venv.activate()

import json
from tempfile import TemporaryDirectory

from tests.support import planted
from tlsmem.base.paths import ROOT
from tlsmem.report import page, phase_section, recordings, residuals_section, waterfall_section
from tlsmem.schema import records
from tlsmem.stats import session_cost

RECORDING, SUITE = ROOT / "data/2026-11-21-amd-epyc-2", "tls13-rsa-aes256"
NEWER = ROOT / "data/2026-11-22-amd-epyc"
STACKS = ("openssl@3.5.5", "rustls+aws-lc@0.23.46")
ROLES = {"client": "client", "server": "server", "pair": "total"}


def usual(run: records.RecordLine, stack: str, meter: str) -> bool:
    kind = (run.allocator.name, run.roles, run.window, run.env, run.peer, run.cpu_features)
    return kind == ("system", "together", "all", "lab", None, None) and (run.stack, run.suite, run.meter) == (
        stack,
        SUITE,
        meter,
    )


def by_phase(runs: list[records.RecordLine], role: str) -> dict[str, list[int]]:
    """Bytes, blocks, and both at the peak of the phase: what one more session adds between two heap runs."""
    small, large = sorted(runs, key=lambda run: run.sessions)[:2]
    more, found = (large.sessions - small.sessions) // 2, {}
    for phase in small.phases[1:]:
        few, many = (getattr(session_cost.phase_of(run, phase.phase).heap, role) for run in (small, large))
        names = ("live_bytes", "live_blocks", "peak_bytes", "peak_blocks")
        found[phase.phase] = [(getattr(many, name) - getattr(few, name)) // more for name in names]
        if phase.phase == "closed":
            return found
    return found


def main() -> None:
    folder = Path(sys.argv[1])
    folder.mkdir(parents=True, exist_ok=True)
    read = list(recordings.by_machine(recordings.load_recordings([RECORDING])))
    sections = [maker.section(read) for maker in (phase_section, residuals_section, waterfall_section)]
    (folder / "phases.html").write_text(page.page("Phases", "a page to test", sections), encoding="utf-8")
    facts: dict = {"rss": {}}
    for stack in STACKS:
        first = {run.sessions: run for run in reversed(read[0].records) if usual(run, stack, "heap")}
        facts[stack] = {role: by_phase([*first.values()], own) for role, own in ROLES.items()}
        rss = [run for run in read[0].contents.memory.records if usual(run, stack, "rss")]
        facts["rss"][stack] = [session_cost.peak_rss(run) for run in rss]
    (folder / "phases.json").write_text(json.dumps(facts), encoding="utf-8")
    write_peaks(folder)
    for name, paths in {"phases-newer": [NEWER], "phases-both": [NEWER, RECORDING]}.items():
        several = list(recordings.by_machine(recordings.load_recordings(paths)))
        section = phase_section.section(several)
        section = section._replace(packed=section.whole())  # with the call stacks of all releases
        text = page.page("Phases", "a page to test", [section])
        (folder / f"{name}.html").write_text(text, encoding="utf-8")


def write_peaks(folder: Path) -> None:
    """The page of a recording that was made up, with call stacks at peaks."""
    with TemporaryDirectory() as made:
        runs = [planted.counted(momentary=planted.MOMENTARY, stack=stack) for stack in STACKS]
        read = list(recordings.by_machine(recordings.load_recordings([planted.write(Path(made) / "peaks", *runs)])))
        text = page.page("Phases", "a page to test", [phase_section.section(read)])
    (folder / "peaks.html").write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
