"""The picture of buckets: bars are the table's figures on one scale, and every way that it cannot be drawn is said."""

import subprocess
import sys
from itertools import pairwise
from pathlib import Path

import pytest
from matplotlib import pyplot

from tests.support import forked_command
from tlsmem.base.paths import ROOT
from tlsmem.plots import bucket_panel, buckets
from tlsmem.profile.buckets import rules
from tlsmem.profile.buckets.sums import BucketSums
from tlsmem.stats.session_cost import KIB

RECORDING = ROOT / "data/2026-11-21-amd-epyc-2"
SUITE = "tls13-rsa-aes256"
PLOT = ROOT / "tools/plot_buckets.py"


@pytest.fixture(scope="module")
def shown() -> list:
    return list(buckets.load_profiles([RECORDING], None, [SUITE]))


@pytest.fixture
def made(shown):
    yield buckets.figure(shown)
    pyplot.close("all")


def heights(axes) -> list[float]:
    """Of the stacked bars, in KiB, by place: each part stands on the one below."""
    found: dict[float, float] = {}
    for bar in axes.patches:
        assert bar.get_y() == pytest.approx(found.get(bar.get_x(), 0.0))
        found[bar.get_x()] = bar.get_y() + bar.get_height()
    return [found[place] for place in sorted(found)]


def test_bars_are_what_sessions_hold(shown, made):
    for at, axes in enumerate(made.axes[:4]):
        role, sums = ("client", "server")[at // 2], BucketSums(shown[at % 2])
        phases = list(bucket_panel.bucket_sizes(sums, role))
        assert phases[0] == "sessions" and phases[-1] == "idle" and phases.index("client 2") < phases.index("server 2")
        assert heights(axes) == pytest.approx([sums.live_total(name, role).bytes / KIB for name in phases])
        assert axes.get_title() == f"{sums.stack}, {role}"


def test_panels_have_one_scale_and_small_ones_are_drawn_once_more(made):
    panels = made.axes[:4]
    assert len({axes.get_ylim() for axes in panels}) == 1
    insets = [len(axes.child_axes) for axes in panels]
    assert insets == [0, 1, 0, 1]
    (inner,) = panels[1].child_axes
    assert heights(inner) == pytest.approx(heights(panels[1]))
    box, outer = inner.get_window_extent(), panels[1].get_window_extent()
    times = (box.height / inner.get_ylim()[1]) / (outer.height / panels[1].get_ylim()[1])
    assert f"magnified {times:.1f} times" in [text.get_text() for text in inner.texts]


def test_every_bucket_has_a_look_of_its_own():
    looks = {look.bucket: look for look in (*bucket_panel.BUCKET_STYLES, bucket_panel.LEFT)}
    assert set(looks) == set(rules.buckets())
    assert len({(look.colour, look.hatch) for look in looks.values()}) == len(looks)


def test_neighbours_differ_in_grey():
    def luminance(colour: str) -> float:
        red, green, blue = (int(colour[at : at + 2], 16) / 255 for at in (1, 3, 5))
        return 0.299 * red + 0.587 * green + 0.114 * blue

    kept = [
        look
        for look in bucket_panel.BUCKET_STYLES
        if look.bucket not in ("context", "transport", "session and tickets")
    ]
    for below, above in pairwise(kept):
        apart = abs(luminance(below.colour) - luminance(above.colour))
        assert apart > 0.1 or bool(below.hatch) != bool(above.hatch), (below.short, above.short)


def plot(*arguments: str | Path) -> subprocess.CompletedProcess[str]:
    return forked_command.run([sys.executable, PLOT, *map(str, arguments)])


def plot_alone(*arguments: str | Path) -> subprocess.CompletedProcess[str]:
    """By a Python that has imported nothing yet."""
    return subprocess.run([sys.executable, PLOT, *map(str, arguments)], capture_output=True, text=True, check=False)


@pytest.mark.slow
def test_the_same_records_give_the_same_files(tmp_path):
    for name in "one", "two":
        drawn = plot_alone(RECORDING, "--suite", SUITE, "-o", tmp_path / name)
        assert drawn.returncode == 0, drawn.stderr
    for suffix in ".png", ".svg":
        assert (tmp_path / f"one{suffix}").read_bytes() == (tmp_path / f"two{suffix}").read_bytes()


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ([RECORDING], "there are several suites, and a picture is of one: --suite tls12-rsa-aes256 or "),
        ([RECORDING, "--suite", "no-such"], "no runs of the suite no-such; there are: "),
        ([RECORDING / "rustls+ring@0.23.46.jsonl"], "no sites run; `make mem` records them"),
        (["no/such/place"], "no/such/place: there is no such recording or profile"),
    ],
)
def test_what_cannot_be_drawn_is_one_sentence(tmp_path, arguments, said):
    assert_refused(plot(*arguments, "-o", tmp_path / "picture"), tmp_path, said)


def test_what_is_no_recording_is_one_sentence(tmp_path):
    assert_refused(plot_alone(PLOT, "-o", tmp_path / "picture"), tmp_path, "plot_buckets.py")


def assert_refused(refused, tmp_path, said):
    assert refused.returncode == 1 and refused.stdout == "" and said in refused.stderr
    assert refused.stderr.startswith("plot_buckets: ") and refused.stderr.count("\n") == 1
    assert not list(tmp_path.iterdir())
