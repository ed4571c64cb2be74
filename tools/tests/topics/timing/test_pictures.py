"""Pictures of timed runs: dots and intervals are the runs' ratios, titles say the best, no text lies over another."""

import re
import subprocess
import sys

import pytest
from matplotlib import pyplot, rc_context
from matplotlib.figure import Figure

from tests.support import forked_command, synthetic, synthetic_timed
from tests.support.pictured import overlaps, shown
from tlsmem.base.paths import ROOT
from tlsmem.plots.line_labels import place_labels
from tlsmem.plots.memory_panels import marker_styles
from tlsmem.plots.picture import PAGE_STYLE
from tlsmem.schema.records import RecordLine
from tlsmem.stats.timed_selection import TimedSelection, select
from tlsmem.topics.timing import pictures

PLOT = ROOT / "tools/tls-memtest", "show", "timing"
OPENSSL, RUSTLS, BORING = "openssl@3.5.5", "rustls+aws-lc@0.23.46", "boringssl@5.4.0"
BULK = ["tls12-rsa-aes128", "tls13-rsa-aes256"]
SUITE = "tls13-rsa-aes256"
CRASH = "killed by SIGSEGV: no word on stderr"


def transfers() -> list[RecordLine]:
    """Five repeats; boringssl has no AEAD of its own, and crashed in one suite."""
    runs = synthetic_timed.campaign([OPENSSL, RUSTLS], BULK, "throughput")
    runs += synthetic_timed.campaign([BORING], BULK[:1], "throughput", without=["seal"])
    return [*runs, synthetic_timed.failed(BORING, BULK[1], CRASH, scenario="throughput")]


def shaken() -> list[RecordLine]:
    """Resumed handshakes take a quarter of the time."""
    runs = synthetic_timed.campaign([OPENSSL, RUSTLS, BORING], [SUITE])
    return runs + synthetic_timed.campaign([OPENSSL, RUSTLS], [f"{SUITE}-id"], factors=(0.25,))


def drawn(made: Figure) -> Figure:
    made.draw_without_rendering()
    return made


@pytest.fixture(autouse=True)
def style():
    with rc_context(PAGE_STYLE):
        yield
    pyplot.close("all")


def select_scenario(records: list[RecordLine], scenario: str) -> TimedSelection:
    return select(records).select_scenario(scenario)


def rows_of(made: Figure) -> list[str]:
    return [text.get_text() for text in made.axes[0].get_yticklabels()]


def dots(axes, stack: str) -> dict[str, float]:
    """The ratio of a stack by row."""
    rows = rows_of(axes.figure)
    marker = marker_styles([OPENSSL, RUSTLS, BORING])[stack].marker
    found = [line for line in axes.lines if line.get_marker() == marker and len(line.get_xdata()) == 1]
    return {rows[round(line.get_ydata()[0])]: round(float(line.get_xdata()[0]), 3) for line in found}


def texts(made: Figure) -> list[str]:
    return [text.get_text() for text in made.texts]


def test_dots_of_transfer_are_ratios_to_the_first_stack_and_the_title_has_those_of_the_fastest(snapshot):
    made = drawn(pictures.transfer(select_scenario(transfers(), "throughput")))
    sends, receives = made.axes
    assert [axes.get_title() for axes in made.axes] == ["server sends", "client receives"]
    assert dots(sends, RUSTLS) == dict.fromkeys(BULK, 1.25) and dots(sends, BORING) == {BULK[0]: 0.625}
    assert dots(receives, RUSTLS) == dict.fromkeys(BULK, 0.8) and dots(receives, BORING) == {BULK[0]: 0.4}
    assert sends.get_xlim() == receives.get_xlim()
    assert [text.get_text() for text in made.legends[0].get_texts()] == ["rustls 0.23.46 (aws-lc)", "BoringSSL 5.4.0"]
    assert "1.2×" in texts(made)[0] and "5 runs" in texts(made)[1]
    assert texts(made)[:2] == snapshot


def test_a_stack_without_a_dot_is_in_the_caption_and_in_no_legend():
    refused = synthetic_timed.failed(
        BORING, SUITE, "BoringSSL 5.4.0: no such suite (TLSv1.3, A, B)", status="unsupported"
    )
    runs = [*synthetic_timed.campaign([OPENSSL, RUSTLS], [SUITE]), refused]
    made = drawn(pictures.handshakes(select_scenario(runs, "handshake")))
    assert [text.get_text() for text in made.legends[0].get_texts()] == ["rustls 0.23.46 (aws-lc)"]
    assert texts(made)[-1].startswith("Not drawn: BoringSSL (no such suite). ")


def test_the_interval_of_a_ratio_is_drawn_beside_its_dot():
    runs = synthetic_timed.campaign([OPENSSL], [SUITE], "throughput", factors=[1.0] * 5)
    runs += synthetic_timed.campaign([RUSTLS], [SUITE], "throughput", factors=[1.0, 0.8, 1.25, 1.0, 1.0])
    made = drawn(pictures.transfer(select_scenario(runs, "throughput")))
    (whisker,) = [line for line in made.axes[0].lines if len(set(line.get_xdata())) == 2]
    assert [round(float(end), 4) for end in whisker.get_xdata()] == [1.0, 1.5625]


def test_the_title_tells_ciphers_apart(snapshot):
    suites = ["tls13-rsa-aes256", "tls13-rsa-chacha20"]
    runs = synthetic_timed.campaign([OPENSSL, RUSTLS], suites[:1], "throughput")
    runs += synthetic_timed.campaign([OPENSSL], suites[1:], "throughput")
    runs += synthetic_timed.campaign([RUSTLS], suites[1:], "throughput", factors=[2.0] * 5)
    made = pictures.transfer(select_scenario(runs, "throughput"))
    assert re.findall(r"[\d.]+(?=×)", texts(made)[0]) == ["1.2", "0.62"]
    assert texts(made)[0] == snapshot


def test_handshakes_have_a_panel_for_each_role_and_full_ones_come_first(snapshot):
    made = drawn(pictures.handshakes(select_scenario(shaken(), "handshake")))
    client, server = made.axes
    assert [axes.get_title() for axes in made.axes] == ["client", "server"]
    assert rows_of(made) == [SUITE, f"{SUITE}-id"]
    assert dots(client, RUSTLS) == {SUITE: 2.0, f"{SUITE}-id": 2.0} and dots(client, BORING) == {SUITE: 1.6}
    assert dots(server, RUSTLS) == {SUITE: 1.25, f"{SUITE}-id": 1.25} and dots(server, BORING) == {SUITE: 0.625}
    assert "2 times" in texts(made)[0]
    assert texts(made)[0] == snapshot


def test_releases_of_one_library_are_told_apart_in_the_title(snapshot):
    runs = synthetic_timed.campaign([OPENSSL], [SUITE])
    runs += [run.model_copy(update={"stack": "openssl@4.0.3"}) for run in runs]
    made = pictures.handshakes(select_scenario(runs, "handshake"))
    assert {"4.0.3", "3.5.5"} <= set(texts(made)[0].split())
    assert texts(made)[0] == snapshot


def test_sizes_of_a_write_are_on_one_axis():
    runs = [synthetic_timed.record(OPENSSL, SUITE, "throughput", size=size, factor=2.0) for size in (64, 16_384)]
    runs += [synthetic_timed.record(OPENSSL, SUITE, "throughput")]
    made = drawn(pictures.sizes(pictures.several_sizes(select(runs))))
    sending, _ = made.axes
    (line,) = [one for one in sending.lines if one.get_marker() == marker_styles([OPENSSL])[OPENSSL].marker]
    assert list(line.get_xdata()) == [64, 16_384, 2**20] and line.get_ydata()[-1] == pytest.approx(4000)
    assert [text.get_text() for text in sending.get_xticklabels()] == ["64\nB", "16\nKiB", "1\nMiB"]


def test_names_keep_their_order_and_their_distance():
    assert place_labels([50, 50, 10], [10, 10, 10], 100) == [55, 45, 10]
    assert place_labels([1, 99], [10, 10], 100) == [5, 95]
    assert place_labels([98, 99], [10, 10], 100) == [85, 95]


@pytest.mark.slow
@pytest.mark.parametrize("stacks", [2, 8])
def test_no_text_lies_over_another_and_all_are_inside(stacks):
    names = [OPENSSL, *(f"rustls+aws-lc+jemalloc-rust@0.{minor}.0" for minor in range(20, 27))][:stacks]
    suites = [f"tls1{minor}-{key}-aes256" for minor in (2, 3) for key in ("ecdsa", "rsa")]
    suites += [f"{suite}-mutual" for suite in suites] + [f"{suite}-pq-mutual" for suite in suites]
    every = synthetic_timed.campaign(names, suites, "throughput", factors=[1.0])
    every += synthetic_timed.campaign(names, [suites[0], f"{suites[0]}-id", f"{suites[0]}-ticket"], factors=[1.0])
    for name, draw in pictures.timed_figures(select(every)):
        made = draw()
        assert overlaps(drawn(made)) == [], name
        for text in shown(made):
            box = text.get_window_extent()
            assert min(box.x0, box.y0) >= -1 and box.x1 <= made.bbox.x1 + 1, (name, text.get_text())


@pytest.mark.slow
def test_what_is_drawn_is_what_was_measured(tmp_path):
    names = [file.stem for file in pictures.draw([*transfers(), *shaken()], tmp_path)]
    assert names[::2] == ["transfer", "handshake"]
    lost = [synthetic_timed.failed(OPENSSL, SUITE, CRASH)]
    with pytest.raises(ValueError, match="nothing to draw"):
        pictures.draw(lost, tmp_path)


def test_a_stack_alone_has_no_ratios():
    runs = synthetic_timed.campaign([OPENSSL], [SUITE]) + synthetic_timed.campaign([OPENSSL], [SUITE], "throughput")
    assert list(pictures.timed_figures(select(runs))) == []


def test_allocators_have_pictures_of_their_own():
    other = {"name": "jemalloc", "version": "5.3.0", "settings": None, "library": "/usr/lib/libjemalloc.so.2"}
    runs = [
        synthetic_timed.record(stack, SUITE, "throughput", **more)
        for more in ({}, {"allocator": other})
        for stack in (OPENSSL, RUSTLS)
    ]
    assert [name for name, _ in pictures.timed_figures(select(runs))] == ["transfer-system", "transfer-jemalloc"]


def plot(*arguments: object) -> subprocess.CompletedProcess[str]:
    return forked_command.run([sys.executable, *PLOT, *map(str, arguments)])


def plot_alone(*arguments: object) -> subprocess.CompletedProcess[str]:
    """By a Python that has imported nothing yet."""
    return subprocess.run([sys.executable, *PLOT, *map(str, arguments)], capture_output=True, text=True, check=False)


@pytest.mark.slow
def test_the_script_names_its_files_and_draws_the_same_again(tmp_path):
    recording = synthetic.write(tmp_path / "recording", transfers())
    for name in "one", "two":
        done = plot_alone(recording, "--out", tmp_path / name)
        assert done.stdout.split() == [str(tmp_path / name / f"transfer{ending}") for ending in (".png", ".svg")]
    for ending in ".png", ".svg":
        one, two = ((tmp_path / name / f"transfer{ending}").read_bytes() for name in ("one", "two"))
        assert one == two


@pytest.mark.parametrize(
    "arguments",
    [
        pytest.param(["--campaign", "nope"], id="campaign"),
        pytest.param(["--stack", "nope@1"], id="stack"),
        pytest.param(["--suite", "nope"], id="suite"),
    ],
)
def test_a_wrong_name_is_one_sentence(tmp_path, arguments, snapshot):
    recording = synthetic.write(tmp_path / "recording", transfers())
    done = plot(recording, "--out", tmp_path / "pictures", *arguments)
    assert done.returncode == 2 and arguments[1] in done.stderr and len(done.stderr.splitlines()) == 1
    assert done.stderr == snapshot


@pytest.mark.thorough
def test_runs_of_memory_alone_are_no_timed_runs(tmp_path, snapshot):
    recording = synthetic.write(tmp_path / "recording", synthetic.campaign([OPENSSL], [SUITE]))
    done = plot_alone(recording, "--out", tmp_path / "pictures")
    assert done.returncode == 1 and len(done.stderr.splitlines()) == 1
    assert done.stderr == snapshot
