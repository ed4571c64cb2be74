"""The picture of buckets: bars are the table's figures on one scale, and every way that it cannot be drawn is said."""

import subprocess
import sys
from itertools import combinations
from pathlib import Path

import pytest
from matplotlib import pyplot, rc_context

from tests.support import forked_command
from tests.support.colour_vision import LEAST, difference, find_alike
from tests.support.pictured import LEGIBLE, overlaps, smallest_text, title_of
from tlsmem.base.paths import ROOT
from tlsmem.config.libraries import stack_title
from tlsmem.plots import bucket_panel, buckets
from tlsmem.plots.picture import STYLE
from tlsmem.profile.buckets import rules
from tlsmem.profile.buckets.sums import BucketSums

RECORDING = ROOT / "data/2026-11-21-amd-epyc-2"
SUITE = "tls13-rsa-aes256"
PLOT = ROOT / "tools/tls-memtest", "show", "parts"


@pytest.fixture(scope="module")
def shown() -> list:
    return list(buckets.load_profiles([RECORDING], None, [SUITE]))


@pytest.fixture
def made(shown):
    with rc_context(STYLE):
        yield buckets.figure(shown)
    pyplot.close("all")


def lengths(axes) -> list[float]:
    """Of the stacked bars, in bytes, from above: each part stands at the end of the one before."""
    found: dict[float, float] = {}
    for bar in axes.patches:
        assert bar.get_x() == pytest.approx(found.get(bar.get_y(), 0.0))
        found[bar.get_y()] = bar.get_x() + bar.get_width()
    return [found[place] for place in sorted(found)]


@pytest.mark.parametrize("role", ["client", "server"])
def test_bars_are_what_sessions_hold(shown, role):
    (axes,) = buckets.figure(shown, role).axes
    both = [BucketSums(profile) for profile in shown]
    moments = [("sessions",) * 2, [one.fullest(role) for one in both]]
    moments += [(phase,) * 2 for phase in ("established", "reply", "idle")]
    held = [
        one.live_total(moment, role).bytes / one.sessions
        for of_both in moments
        for one, moment in zip(both, of_both, strict=True)
    ]
    assert lengths(axes) == pytest.approx(held)
    texts = [text.get_text() for text in axes.texts]
    assert [f"{size:,.0f} B" for size in held if f"{size:,.0f} B" not in texts] == []
    assert [label.get_text() for label in axes.get_yticklabels()] == [stack_title(one.stack) for one in both] * 5
    pyplot.close("all")


@pytest.mark.thorough
def test_servers_are_drawn_unless_others_are_asked_for(shown, made):
    client = buckets.figure(shown, "client")
    assert "server session" in title_of(made) and "client session" in title_of(client)


@pytest.mark.thorough
def test_no_text_lies_over_another_and_everybody_reads_all(made):
    made.canvas.draw()
    assert find_alike(made) == []
    assert overlaps(made) == []
    assert smallest_text(made) >= LEGIBLE


def test_every_bucket_has_a_look_of_its_own():
    looks = {look.bucket: look for look in (*bucket_panel.BUCKET_STYLES, bucket_panel.LEFT)}
    assert set(looks) == set(rules.buckets())
    assert len({(look.colour, look.hatch) for look in looks.values()}) == len(looks)


def test_any_two_are_told_apart_by_everybody():
    for one, other in combinations(bucket_panel.BUCKET_STYLES, 2):
        assert one.hatch != other.hatch or difference(one.colour, other.colour) > LEAST, (one.short, other.short)


def plot(*arguments: str | Path) -> subprocess.CompletedProcess[str]:
    return forked_command.run([sys.executable, *PLOT, *map(str, arguments)])


def plot_alone(*arguments: str | Path) -> subprocess.CompletedProcess[str]:
    """By a Python that has imported nothing yet."""
    return subprocess.run([sys.executable, *PLOT, *map(str, arguments)], capture_output=True, text=True, check=False)


@pytest.mark.slow
def test_the_same_records_give_the_same_files(tmp_path):
    for name in "one", "two":
        drawn = plot_alone(RECORDING, "--suite", SUITE, "-o", tmp_path / name)
        assert drawn.returncode == 0, drawn.stderr
    for suffix in ".png", ".svg":
        assert (tmp_path / f"one{suffix}").read_bytes() == (tmp_path / f"two{suffix}").read_bytes()


@pytest.mark.parametrize(
    ("arguments", "named"),
    [
        pytest.param([RECORDING], "--suite tls12-rsa-aes256", id="several suites"),
        pytest.param([RECORDING, "--suite", "no-such"], "no-such", id="no such suite"),
        pytest.param([RECORDING / "rustls+ring@0.23.46.jsonl"], "make mem", id="no sites run"),
        pytest.param(["no/such/place"], "no/such/place", id="no such file"),
        pytest.param([PLOT[0]], "tls-memtest", id="no profile"),
    ],
)
def test_what_cannot_be_drawn_is_one_sentence(tmp_path, arguments, named, snapshot):
    refused = plot(*arguments, "-o", tmp_path / "picture")
    assert refused.returncode == (2 if named.startswith("no") or arguments == [PLOT[0]] else 1)
    assert refused.stdout == "" and named in refused.stderr
    assert refused.stderr == snapshot
    assert refused.stderr.startswith("memtest: ") and refused.stderr.count("\n") == 1
    assert not list(tmp_path.iterdir())


def test_the_peak_of_a_pair_is_named_as_one_more_of_many(made, shown):
    (axes,) = made.axes
    assert "at the peak, one more of many" in [text.get_text() for text in axes.texts]
    sums = BucketSums(shown[0])
    sums.profile.of_one_pair = False
    try:
        assert "at the peak" in buckets.find_phases(sums, "server")
    finally:
        sums.profile.of_one_pair = True
