#!/usr/bin/env python3
"""One picture of a recording: memory by sessions (peak RSS, its slope), and memory by phase of the handshake."""

# ruff: noqa: E402
import environment

environment.activate()

import argparse
import signal
import sys
from pathlib import Path

import matplotlib
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

import dots
import ends
import layout
import legend
import panels
import records
import stdout
from lines import Process
from picture import STYLE, save
from selection import Selection, of_campaign, select
from series import Setting
from settings import constant, dates, machine_of

EXAMPLES = """examples:
  tools/plot_mem.py data/2026-01-31-some-cpu -o memory.png
  tools/plot_mem.py data/2026-01-31-some-cpu -o memory          both memory.png and memory.svg
  tools/plot_mem.py data/2026-01-31-some-cpu -o pq.svg --suite tls13-rsa-aes256-pq --n 1000
  tools/plot_mem.py data/2026-01-31-some-cpu -o roles.png --roles split     clients and servers beside each other
  tools/plot_mem.py data/2026-01-31-some-cpu -o env.png --env lab --env deployed        each repeat beside the lab's"""


def shown(selection: Selection) -> list[tuple[Setting, Process]]:
    """One panel each: a setting, of split runs a process of it; environments that are compared share the lab's."""
    settings = [one for one in selection.settings if one.env == dots.LAB or not dots.comparison(selection)]
    return [(one, process) for one in settings for process in dict.fromkeys(one.processes.values())]


def figure(selection: Selection, sessions: int | None = None) -> Figure:
    """Above memory by sessions, below by phase (of the largest N, or of `sessions`), or by environment where there are
    several; one scale for all panels of a kind."""
    wanted, compared = shown(selection), dots.comparison(selection)
    apart = any(process != "both" for _, process in wanted)
    made, axes_of = layout.grid_of(
        len(wanted), 2 if apart else layout.COLUMNS
    )  # clients and servers stand beside each other
    said, drawn, owners = {}, set(), legend.owners(selection)
    lines = [[selection.series(stack, *one) for stack in selection.stacks] for one in wanted]
    highest = max(panels.highest(stacks, sessions) for stacks in lines)
    for (setting, process), stacks, (upper, lower) in zip(wanted, lines, axes_of, strict=True):
        upper.set_title(legend.heading(selection, setting, process), fontsize=9)
        said[upper] = panels.by_sessions(upper, stacks, owners)
        if compared:
            dots.by_environment(lower, selection, setting, process)
        else:
            drawn |= panels.by_phase(lower, stacks, owners, sessions, highest)
    layout.level([lower for _, lower in axes_of], from_zero=not compared)
    for axes, of_panel in said.items():
        axes.set_ylim(0, max(map(ends.top, said.values())))
        ends.label(axes, of_panel)
    frame(made, selection, legend.keys(selection, sessions, drawn, compared))
    return made


def frame(made: Figure, selection: Selection, handles: list[Line2D]) -> None:
    """Title and legend above the panels, what was held equal below, each in a strip of its own."""
    inch = 1 / made.get_size_inches()[1]
    made.get_layout_engine().set(rect=(0, 0.3 * inch, 1, 1 - 1.05 * inch))
    made.text(
        0.5, 1 - 0.12 * inch, "What a TLS session costs in memory", fontsize=15, weight="bold", ha="center", va="top"
    )
    place = {"loc": "upper center", "bbox_to_anchor": (0.5, 1 - 0.4 * inch), "ncols": 7, "frameon": False}
    made.legend(handles=handles, **place)
    recorded = f"{machine_of(selection.records[0])}. Recorded {dates(selection.records)}. {constant(selection)}."
    made.text(0.5, 0.1 * inch, recorded, fontsize=8, color="#444444", ha="center", va="bottom")


def draw(selection: Selection, output: Path, sessions: int | None = None) -> list[Path]:
    """Draws what is selected, the lower row for this N, and returns the files written.

    ValueError and OSError with a sentence."""
    alone = selection.where(lambda setting: setting.peer is None)
    selection = alone if alone.records else selection  # mixed pairs where there is nothing else; else a table has them
    if not any(record.status == "measured" for record in selection.records):
        raise ValueError("no run was measured, so there is nothing to draw; tabulate.py shows why")
    if sessions and sessions not in selection.sessions():
        there = ", ".join(map(str, selection.sessions()))
        raise ValueError(f"no RSS runs of N = {sessions}; there are: {there}")
    with matplotlib.rc_context(STYLE):
        return save(figure(selection, sessions), output)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, epilog=EXAMPLES, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("recording", type=Path, help="a directory under data/, or one of its files")
    parser.add_argument("-o", "--output", type=Path, required=True, help="FILE.png, FILE.svg, or FILE for both")
    parser.add_argument("--stack", action="append", help="may be repeated, in this order")
    parser.add_argument("--suite", action="append", help="one panel each; may be repeated")
    parser.add_argument("--roles", action="append", help="together, split, keep-client or keep-server; may be repeated")
    parser.add_argument("--env", action="append", help="lab, deployed or deployed-thp: panels beside each other")
    parser.add_argument("--campaign", metavar="NAME", help="only runs of this table of memtest/campaigns.toml")
    parser.add_argument("--n", type=int, metavar="N", help="sessions of the lower row; default: the most there are")
    given = parser.parse_args()
    signal.signal(signal.SIGPIPE, signal.SIG_DFL)  # a reader that has seen enough is no error
    try:
        if not given.recording.exists():
            raise ValueError("there is no such recording; recordings are directories under data/")
        loaded = records.load(given.recording)
        loaded = of_campaign(loaded, given.campaign) if given.campaign else loaded
        selection = select(loaded, given.stack, given.suite, roles=given.roles, envs=given.env)
        for said in selection.left_out:
            print(f"plot_mem: {given.recording}: {said}", file=sys.stderr)
        written = draw(selection, given.output, given.n)
        with stdout.checked():
            print(*written, sep="\n")
    except ValueError as error:
        sys.exit(f"plot_mem: {given.recording}: {error}")
    except OSError as error:
        sys.exit(f"plot_mem: {error.filename or given.output}: {error.strerror}")
    sys.exit(1 if records.skipped else 0)


if __name__ == "__main__":
    main()
