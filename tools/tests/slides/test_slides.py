"""The slides of a talk: what bars and dots are, and that nobody in the last row sees one text over another."""

import subprocess
import sys

import pytest
from matplotlib import pyplot

from tests.support import synthetic
from tests.support.in_use import OPENSSL, RUSTLS, SUITE, recorded
from tests.support.pictured import overlaps, shown
from tlsmem.base.paths import ROOT
from tlsmem.plan import recordings
from tlsmem.slides import every_stack, heap_against_rss, slide, why_openssl
from tlsmem.slides.draw_slides import SLIDES, find_recordings

COMMAND = ROOT / "tools/plot_slides.py"


@pytest.fixture
def among(tmp_path):
    """A recording of two libraries in use."""
    recordings.load_stack.cache_clear()
    runs = recorded(OPENSSL, "+tickets-library", 1_000) + recorded(RUSTLS, "+tickets-library")
    runs = [run.model_copy(update={"window": 100}) for run in runs]
    return [synthetic.write(tmp_path / "recording", runs)]


@pytest.fixture(autouse=True)
def style():
    with slide.style():
        yield
    pyplot.close("all")


def test_bars_of_every_stack_are_rss_in_use_in_the_colours_of_the_libraries(among):
    (axes,) = every_stack.draw(among).axes
    sizes = [group.sizes[every_stack.RSS_IN_USE] for group in every_stack.find_groups((), SUITE, "server", among)]
    assert [bar.get_width() for bar in axes.patches] == sizes == sorted(sizes)
    assert [text.get_text() for text in axes.get_yticklabels()] == ["rustls 0.23.46 (aws-lc)", "OpenSSL 3.5.5"]
    many = f"{100_000 * sizes[0] / 2**30:.1f} GiB"
    assert many in [text.get_text() for text in axes.texts]


def test_heap_and_rss_are_dots_and_their_ratio_is_written(among):
    made = heap_against_rss.draw(among)
    dots = [line.get_xdata()[0] for line in made.axes[0].lines if line.get_marker() == "o"]
    assert {6_400, 53_000} <= set(dots)
    (group,) = [one for one in every_stack.find_groups((), SUITE, "server", among) if one.costs.stack == OPENSSL]
    share = group.sizes[every_stack.RSS_IN_USE] / 53_000 - 1
    assert f"{share:+.0%}" in [text.get_text() for text in made.axes[0].texts]


def test_a_profile_that_says_other_of_most_bytes_explains_nothing():
    assert why_openssl.is_explained({"record buffers, read": 51, "other": 49})
    assert not why_openssl.is_explained({"record buffers, read": 49, "other": 51})
    assert not why_openssl.is_explained({})


def test_a_directory_of_recordings_is_read_from_the_newest_on(tmp_path):
    for day in ("2026-01-31-cpu", "2026-02-01-cpu"):
        synthetic.write(tmp_path / day, recorded(OPENSSL))
    assert [path.name for path in find_recordings(tmp_path)] == ["2026-02-01-cpu", "2026-01-31-cpu"]
    assert find_recordings(tmp_path / "2026-01-31-cpu") == [tmp_path / "2026-01-31-cpu"]


def test_a_directory_without_recordings_is_one_sentence(tmp_path):
    done = subprocess.run(
        [sys.executable, COMMAND, tmp_path, "-o", tmp_path / "slides"], capture_output=True, text=True, check=False
    )
    assert done.returncode == 1 and done.stderr == (
        f"plot_slides: {tmp_path}: no recordings in this directory; the committed ones are in data/\n"
    )


@pytest.mark.slow
@pytest.mark.parametrize("name", SLIDES)
def test_no_text_of_a_slide_lies_over_another_and_all_are_inside(name):
    made = SLIDES[name](find_recordings(ROOT / "data"))
    made.draw_without_rendering()
    assert overlaps(made) == []
    for text in shown(made):
        box = text.get_window_extent()
        assert min(box.x0, box.y0) >= 0 and box.x1 <= made.bbox.x1 and box.y1 <= made.bbox.y1, text.get_text()
