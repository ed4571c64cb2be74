"""The findings in titles: over every committed recording, their numbers are those of what is drawn below them."""

import re
from itertools import pairwise

import pytest
from matplotlib import pyplot, rc_context
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from tests.support import synthetic
from tests.support.colour_vision import find_alike
from tests.support.pictured import LEGIBLE, overlaps, smallest_text, title_of
from tlsmem.base.paths import ROOT
from tlsmem.config import definitions, releases
from tlsmem.config.choices import STAGE_PHASES
from tlsmem.plots import buckets, in_use, memory, stacks
from tlsmem.plots.picture import STYLE
from tlsmem.plots.stack_colours import UNKNOWN
from tlsmem.schema.recording_files import is_recording
from tlsmem.stats.selection import Selection, select, select_campaign
from tlsmem.store import read_runs
from tlsmem.tables.buckets import load_profiles
from tlsmem.topics.releases import picture as plot_releases
from tlsmem.topics.releases import walk as release_walk
from tlsmem.topics.releases import walk_picture as release_plot

DATA = ROOT / "data"
RECORDINGS = sorted(path.name for path in DATA.glob("20*") if is_recording(path))  # not of real servers alone
OF_STACKS, OF_SITES, IN_USE = "2026-11-22-amd-epyc", "2026-11-23-amd-epyc-p4068-2", "2026-11-23-amd-epyc-p4068"
OPENSSL_TAKES, RUSTLS_TAKES = "OpenSSL 3.5.5 takes", "rustls 0.23.46 (aws-lc) takes"
CAMPAIGNS = sorted(name for name, one in definitions.campaigns().items() if one.scenario == "memory")


@pytest.fixture(autouse=True)
def style():
    with rc_context(STYLE):
        yield
    pyplot.close("all")


def numbers(text: str) -> list[float]:
    """Those of a title that are no part of a name, such as `3.5.5`."""
    found = re.findall(r"(?<![\w.\-+])\d[\d,]*(?:\.\d+)?(?= to | times|%| B| KiB)", text)
    return [float(one.replace(",", "")) for one in found]


def drawn_slopes(axes: Axes) -> list[float]:
    """KiB for each session: the lines from no sessions on, those of libraries."""
    lines = [line for line in axes.lines if len(line.get_xdata()) == 2 and line.get_xdata()[0] == 0]
    return [
        1024 * (line.get_ydata()[1] - line.get_ydata()[0]) / line.get_xdata()[1]
        for line in lines
        if line.get_color() != UNKNOWN
    ]


def bar_ends(axes: Axes) -> list[float]:
    """Bytes at which the bars of each row end, from above."""
    ends: dict[float, float] = {}
    for bar in axes.patches:
        row = round(bar.get_y() + bar.get_height() / 2, 6)
        ends[row] = max(ends.get(row, 0.0), bar.get_x() + bar.get_width())
    return [ends[row] for row in sorted(ends)]


def check_look(made: Figure) -> None:
    made.canvas.draw()
    assert overlaps(made) == [] and smallest_text(made) >= LEGIBLE
    assert find_alike(made) == []


def memory_selection(recording: str, campaign: str) -> Selection | None:
    records = [one for one in read_runs.load(DATA / recording) if one.scenario == "memory"]
    selection = select(select_campaign(records, campaign))
    alone = selection.where(lambda setting: setting.peer is None and setting.env == "lab")
    measured = any(one.status == "measured" and one.meter == "rss" for one in alone.records)
    return alone if measured and len(alone.stacks) <= 4 and len(memory.select_panels(alone)) <= 6 else None


@pytest.mark.slow
@pytest.mark.parametrize("recording", RECORDINGS)
def test_times_are_quotients_of_the_slopes_that_are_drawn(recording):
    for campaign in CAMPAIGNS:
        selection = memory_selection(recording, campaign)
        if not selection:
            continue
        made = memory.figure(selection)
        panels = [drawn_slopes(axes) for axes in made.axes[::2]]
        possible = {f"{one / other:.1f}" for slopes in panels for one in slopes for other in slopes if other > 0}
        possible |= {f"{slope:.1f}" for slopes in panels for slope in slopes}
        found = numbers(title_of(made))
        assert {f"{number:.1f}" for number in found} <= possible, title_of(made)
        if len(panels) == 1 and " times " in title_of(made):
            assert f"{found[0]:.1f}" == f"{max(panels[0]) / min(panels[0]):.1f}"
        pyplot.close(made)


def test_a_title_names_the_stack_with_the_steepest_line_and_how_many_times_it_takes():
    runs = synthetic.campaign(["openssl@3.5.5", "rustls+aws-lc@0.23.46", "null@c"], ["tls13-rsa-aes256"])
    made = memory.figure(select(runs))
    steep, flat = drawn_slopes(made.axes[0])
    assert title_of(made) == f"{OPENSSL_TAKES} {steep / flat:.1f} times the peak RSS that {RUSTLS_TAKES} for a session"


@pytest.mark.slow
@pytest.mark.parametrize("role", ["client", "server"])
@pytest.mark.parametrize(
    ("recording", "suite"),
    [
        (name, suite)
        for name in ("2026-11-21-amd-epyc-2", OF_STACKS)
        for suite in ("tls12-rsa-aes256", "tls13-rsa-aes256")
    ]
    + [(OF_SITES, "tls13-rsa-aes256+tickets-library")],
)
def test_times_of_buckets_are_quotients_of_bars(recording, suite, role):
    wanted = ["openssl@3.5.5", "rustls+aws-lc@0.23.46"]
    made = buckets.figure(list(load_profiles([DATA / recording], wanted, [suite])), role)
    check_look(made)
    pairs = list(zip(*[iter(bar_ends(made.axes[0]))] * 2, strict=True))
    assert numbers(title_of(made)) == [float(f"{max(pairs[3]) / min(pairs[3]):.1f}")]  # the moment in use
    openssl_is_larger = pairs[3][0] > pairs[3][1]
    assert title_of(made).startswith(OPENSSL_TAKES if openssl_is_larger else RUSTLS_TAKES)


def walks_of(recording: str, stage: str, role: str):
    runs = [one for one in read_runs.load(DATA / recording) if one.scenario == "memory"]
    for stacks_of_library in releases.group_by_library(dict.fromkeys(one.stack for one in runs), 2).values():
        chosen = release_walk.select_runs(runs, stacks_of_library, None)
        yield release_walk.build_walks(chosen, stacks_of_library, [role])


@pytest.mark.slow
@pytest.mark.parametrize("stage", STAGE_PHASES)
@pytest.mark.parametrize("role", ["client", "server"])
def test_steps_from_release_to_release_are_differences_of_bars(stage, role):
    for walks in walks_of(OF_STACKS, stage, role):
        made = release_plot.draw_figure(walks, stage)
        check_look(made)
        steps = [abs(newer - older) for axes in made.axes for older, newer in pairwise(bar_ends(axes))]
        found = numbers(title_of(made))
        assert not found or found[0] == pytest.approx(max(steps), abs=0.51), title_of(made)
        assert all(min(abs(step - number) for step in steps) < 0.51 for number in found), title_of(made)
        pyplot.close(made)


@pytest.mark.slow
@pytest.mark.parametrize("role", ["client", "server"])
@pytest.mark.parametrize("libraries", [None, ["openssl", "rustls+aws-lc"], ["rustls+ring"]])
def test_percents_of_releases_are_of_the_ends_of_lines(libraries, role):
    runs = select_campaign(read_runs.load(DATA / OF_STACKS), "stacks")
    made = plot_releases.figure(select(runs, suites=["tls12-rsa-aes256", "tls13-rsa-aes128"]), libraries, role)
    assert smallest_text(made) >= LEGIBLE
    lines = [line.get_ydata() for axes in made.axes for line in axes.lines if len(line.get_ydata()) > 1]
    shares = [abs(100 * (sizes[-1] / sizes[0] - 1)) for sizes in lines]
    found = numbers(title_of(made))
    assert found and found[0] == round(max(shares))
    assert all(min(abs(share - number) for share in shares) <= 0.5 for number in found), title_of(made)


@pytest.mark.slow
@pytest.mark.parametrize("role", ["client", "server"])
def test_ends_of_the_range_of_stacks_are_the_first_and_the_last_bar(role):
    runs = select_campaign(read_runs.load(DATA / OF_STACKS), "stacks")
    for suite in ("tls12-rsa-aes256", "tls13-rsa-aes128", "tls13-rsa-aes256"):
        made = stacks.figure(select(runs, suites=[suite], roles=["split"]), role)
        check_look(made)
        ends = bar_ends(made.axes[0])
        assert numbers(title_of(made)) == [round(ends[0]), round(ends[-1])] == [round(min(ends)), round(max(ends))]
        pyplot.close(made)


@pytest.mark.slow
@pytest.mark.parametrize("role", ["client", "server"])
def test_what_low_memory_saves_is_from_a_bar_to_its_diamond(role):
    made = in_use.figure(select(select_campaign(read_runs.load(DATA / IN_USE), "deployed-config")), role)
    check_look(made)
    (axes,) = made.axes
    ends = bar_ends(axes)
    diamonds = {line.get_ydata()[0]: line.get_xdata()[0] for line in axes.lines if line.get_marker() == "D"}
    saved = {round(100 * (1 - least / ends[row])) for row, least in diamonds.items()}
    assert numbers(title_of(made)) == [max(saved)]
