"""The picture of what a session's bytes are for: by bucket and phase."""

import argparse
import signal
import sys

import matplotlib
from matplotlib import pyplot
from matplotlib.figure import Figure

from tlsmem.base import stdout
from tlsmem.plots import bucket_panel
from tlsmem.plots.picture import STYLE, save
from tlsmem.profile.buckets.sums import BucketSums
from tlsmem.profile.errors import Unreadable
from tlsmem.profile.heap_profile import Profile, profiler_name
from tlsmem.tables.bucket_sources import load_profiles
from tlsmem.tables.settings import dates, describe_machine

TITLE = "What a TLS session's bytes are for"


def figure(shown: list[Profile]) -> Figure:
    """Stacks beside each other, the client's panel above the server's. ValueError with a sentence when they differ in
    more than the stack."""
    suites = dict.fromkeys(profile.run.suite for profile in shown if profile.run)
    if len(suites) > 1:
        raise ValueError(f"there are several suites, and a picture is of one: --suite {' or '.join(suites)}")
    sums = [BucketSums(profile) for profile in shown]
    roles = [role for role in ("client", "server") if any(role in one.roles() for one in sums)]
    if not roles:
        raise ValueError("no call stack is a session's: this is no profile of a harness")
    parts = {(role, at): bucket_panel.bucket_sizes(one, role) for role in roles for at, one in enumerate(sums)}
    top = 1.09 * max(map(bucket_panel.tallest_bar, parts.values()))
    size = (6.4 * max(2, len(sums)), 1.3 + 3.4 * len(roles))
    made, grid = pyplot.subplots(len(roles), len(sums), figsize=size, layout="constrained", squeeze=False, sharey=True)
    for row, role in zip(grid, roles, strict=True):
        for at, axes in enumerate(row):
            bucket_panel.draw(axes, parts[role, at], top)
            axes.set_title(f"{sums[at].stack}, {role}", fontsize=10, weight="bold")
        row[0].set_ylabel("KiB per session")
    frame(made, shown, list(parts.values()))
    return made


def frame(made: Figure, shown: list[Profile], panels: list[bucket_panel.BucketSizes]) -> None:
    """Title and legend above the panels, what was recorded below, each in a strip of its own."""
    inch = 1 / made.get_size_inches()[1]
    made.get_layout_engine().set(rect=(0, 0.3 * inch, 1, 1 - 1.38 * inch))
    top = {"ha": "center", "va": "top"}
    made.text(0.5, 1 - 0.1 * inch, TITLE, fontsize=15, weight="bold", **top)
    made.text(0.5, 1 - 0.4 * inch, describe_run(shown[0]), fontsize=9, color="#444444", **top)
    place = {"loc": "upper center", "bbox_to_anchor": (0.5, 1 - 0.58 * inch), "ncols": 5, "frameon": False}
    made.legend(handles=bucket_panel.keys(panels), handlelength=1.6, handleheight=1.1, **place)
    runs = [profile.run for profile in shown if profile.run]
    if runs:
        said = (
            f"{describe_machine(runs[0])}. Recorded {dates(runs)}. Live heap at the end of each phase, above contexts."
        )
        made.text(0.5, 0.1 * inch, said, fontsize=8, color="#444444", ha="center", va="bottom")


def describe_run(profile: Profile) -> str:
    run = profile.run
    if not run:
        return f"{profiler_name(profile.tool)}: {profile.file}"
    agreed = run.negotiated
    said = f"{run.suite} ({agreed.protocol}, {agreed.cipher}, {agreed.group})" if agreed else run.suite
    return f"{said}; {profiler_name(profile.tool)}{' run' * profile.of_one_pair} of N = {run.sessions:,} sessions"


def run(given: argparse.Namespace) -> None:
    signal.signal(signal.SIGPIPE, signal.SIG_DFL)  # a reader that has seen enough is no error
    try:
        with matplotlib.rc_context(STYLE | {"hatch.linewidth": 0.7}):
            written = save(
                figure(list(load_profiles(given.source, given.stack, [given.suite] if given.suite else None))),
                given.output,
            )
        with stdout.exit_on_write_error():
            print(*written, sep="\n")
    except (ValueError, Unreadable) as error:
        sys.exit(f"plot_buckets: {error}")
    except OSError as error:
        sys.exit(f"plot_buckets: {error.filename or given.output}: {error.strerror}")
