"""The slides of a talk: what bars and dots are, and that nobody in the last row sees one text over another."""

import re
import subprocess
import sys

import pytest
from matplotlib import pyplot

from tests.support import synthetic
from tests.support.colour_vision import find_alike
from tests.support.in_use import OPENSSL, RUSTLS, SUITE, recorded
from tests.support.pictured import overlaps, shown, title_of
from tlsmem.base.paths import ROOT
from tlsmem.config.libraries import libraries, library_key
from tlsmem.slides import every_stack, handshake_peak, heap_against_rss, reconnect_storm, slide, why_openssl
from tlsmem.slides.draw_slides import find_for_slide, find_recordings, list_slides
from tlsmem.store import recordings

COMMAND = ROOT / "tools/tls-memtest", "show", "slides"
OTHER_SUBJECTS = (  # of one library, and of servers
    *("3-openssl-3.2", "14-live-servers", "16-inside-the-handshake"),
    *("18-one-server-several-libraries", "19-what-tls-adds-by-server"),
)


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


@pytest.mark.parametrize("slide_of", [every_stack, heap_against_rss])
def test_a_library_without_the_suite_of_the_slides_is_drawn_in_its_own(tmp_path, slide_of):
    runs = [run.model_copy(update={"window": 100}) for run in recorded(RUSTLS, "+tickets-library")]
    other = [run.model_copy(update={"suite": run.suite.replace(SUITE, "tls12-rsa-aes256")}) for run in runs]
    recordings.load_stack.cache_clear()
    (axes,) = slide_of.draw([synthetic.write(tmp_path / "recording", other)]).axes
    assert [text.get_text() for text in axes.get_yticklabels()] == ["rustls 0.23.46 (aws-lc), TLS 1.2"]


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


def test_a_bar_that_call_stacks_do_not_explain_is_there_and_says_why():
    run = synthetic.record(OPENSSL, SUITE, 100)
    bars = [
        why_openssl.Bar("go@1.27.4", "tls13-rsa-aes128", 26_707, {}, (run,)),
        why_openssl.Bar("gnutls@3.8.9", SUITE, 10_743, {}, (run.model_copy(update={"sites": ()}),)),
        why_openssl.Bar(OPENSSL, SUITE, 30, {"record buffers, read": 20.0, "transport": 10.0}, (run,)),
    ]
    parts = [why_openssl.list_parts(bar, ["record buffers, read"]) for bar in bars]
    assert parts[0] == [(why_openssl.UNKNOWN, 26_707)] and parts[1] == [(why_openssl.UNKNOWN, 10_743)]
    assert [size for _, size in parts[2]] == [20, 10]
    assert why_openssl.describe_unknown(bars) == (
        "No call stacks of Go crypto/tls 1.27.4. No rules for the call stacks of GnuTLS 3.8.9. "
    )
    assert bars[0].title == "Go crypto/tls 1.27.4, AES-128-GCM"


def test_a_directory_of_recordings_is_read_from_the_newest_on(tmp_path):
    for day in ("2026-01-31-cpu", "2026-02-01-cpu"):
        synthetic.write(tmp_path / day, recorded(OPENSSL))
    assert [path.name for path in find_recordings(tmp_path)] == ["2026-02-01-cpu", "2026-01-31-cpu"]
    assert find_recordings(tmp_path / "2026-01-31-cpu") == [tmp_path / "2026-01-31-cpu"]


@pytest.mark.thorough
def test_a_directory_without_recordings_is_one_sentence(tmp_path):
    done = subprocess.run(
        [sys.executable, *COMMAND, tmp_path, "-o", tmp_path / "slides"], capture_output=True, text=True, check=False
    )
    assert done.returncode == 2 and done.stderr == (
        f"memtest: {tmp_path}: no recordings in this directory; the committed ones are in data/\n"
    )


@pytest.mark.thorough
@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=[pytest.mark.slow] * (name == "5-reconnect-storm")) for name in list_slides()]
)
def test_a_slide_is_read_by_everybody_names_releases_and_says_which_libraries_it_is_without(name):
    """No text lies over another, all are inside, no part is told from another by colour alone; the title names each
    library with a release that the picture shows."""
    among = find_for_slide(name, ROOT / "data")
    made = list_slides()[name](among)
    made.draw_without_rendering()
    assert overlaps(made) == []
    for text in shown(made):
        box = text.get_window_extent()
        assert min(box.x0, box.y0) >= 0 and box.x1 <= made.bbox.x1 and box.y1 <= made.bbox.y1, text.get_text()
    assert find_alike(made) == []
    names = "|".join(library.name for library in libraries().values())
    title = title_of(made)
    assert re.findall(rf"(?:{names})(?! \d+\.\d)", title) == [], title
    if name not in OTHER_SUBJECTS:
        texts = " ".join(text.get_text().replace("\n", " ") for text in shown(made))
        there = {library_key(stack) for path in among for stack in recordings.stacks(path)}
        assert [key for key, library in libraries().items() if key in there and library.name not in texts] == []


def test_the_storm_is_of_the_newest_stable_release_that_has_all_it_needs(monkeypatch):
    there = ["tiny@1.2", "tiny@1.10", "tiny@1.9", "tiny@2.0-dev.1", "tiny+other@3.0"]
    monkeypatch.setattr(recordings, "stacks", lambda path: there)

    def simulate(stack, among):
        if stack == "tiny@1.10":
            raise ValueError(f"no handshake rate of {stack}")
        return stack

    monkeypatch.setattr(reconnect_storm, "simulate_storm", simulate)
    assert reconnect_storm.simulate_newest("tiny", [ROOT]) == "tiny@1.9"
    there[:] = ["tiny@1.10"]
    with pytest.raises(ValueError, match=r"no handshake rate of tiny@1\.10"):
        reconnect_storm.simulate_newest("tiny", [ROOT])


@pytest.mark.parametrize("role", ["server", "client"])
def test_what_a_peak_is_for_adds_up_to_the_peak_of_the_run(role):
    (run,) = [run for run in handshake_peak.find_runs(find_recordings(ROOT / "data")) if run.stack == "openssl@4.0.3"]
    found = handshake_peak.read_session(run, role)
    peaks = [getattr(phase.sites.peak_bytes, role) for phase in run.phases if phase.sites and phase.sites.peak_bytes]
    assert sum(found.alone.values()) == max(peaks)
    assert sum(found.in_use.values()) < sum(found.one_more.values()) < sum(found.alone.values())
