"""Pictures of timed runs: heights, whiskers, marks and curves are the runs' figures, holes have reasons, no text lies
over another."""

import subprocess
import sys

import pytest
from matplotlib import pyplot, rc_context
from matplotlib.container import BarContainer
from matplotlib.figure import Figure

from tests.support import synthetic, synthetic_timed
from tests.support.pictured import overlaps, shown
from tlsmem.base.paths import ROOT
from tlsmem.plots.picture import STYLE
from tlsmem.plots.timed import frame, panels, pictures, stack_style
from tlsmem.plots.timed.curves import place_labels
from tlsmem.schema.records import Record
from tlsmem.stats.timed_selection import TimedSelection, select

PLOT = ROOT / "tools/plot_timing.py"
OPENSSL, RUSTLS, BORING = "openssl@3.5.5", "rustls+aws-lc@0.23.46", "boringssl@5.4.0"
BULK = ["tls12-rsa-aes128", "tls13-rsa-aes256"]
SUITE = "tls13-rsa-aes256"
CRASH = "killed by SIGSEGV: no word on stderr"


def transfers() -> list[Record]:
    """Five repeats; boringssl has no AEAD of its own, and crashed in one suite."""
    runs = synthetic_timed.campaign([OPENSSL, RUSTLS], BULK, "throughput")
    runs += synthetic_timed.campaign([BORING], BULK[:1], "throughput", without=["seal"])
    return [*runs, synthetic_timed.failed(BORING, BULK[1], CRASH, scenario="throughput")]


def shaken(threads=(1,)) -> list[Record]:
    """Resumed ones take a quarter of the time; a tail of one handshake in a hundred that took ten times as long."""
    runs = synthetic_timed.campaign([OPENSSL, RUSTLS], [SUITE], threads=threads, tail={10: 5})
    return runs + synthetic_timed.campaign([OPENSSL, RUSTLS], [f"{SUITE}-id"], factors=(0.25,), threads=threads)


def drawn(made: Figure) -> Figure:
    made.canvas.draw()
    return made


@pytest.fixture(autouse=True)
def style():
    with rc_context(STYLE | stack_style.STYLE):
        yield
    pyplot.close("all")


def select_scenario(records: list[Record], scenario: str) -> TimedSelection:
    return select(records).select_scenario(scenario)


def heights(axes) -> list[float]:
    bars = [one for one in axes.containers if isinstance(one, BarContainer)]
    return sorted(round(patch.get_height()) for one in bars for patch in one)


def texts(made: Figure) -> str:
    return "\n".join(text.get_text() for text in made.texts)


def test_bars_of_transfer_are_medians_whiskers_their_intervals_and_marks_the_cipher():
    made = drawn(pictures.transfer(select_scenario(transfers(), "throughput")))
    sending, receiving = made.axes
    assert heights(sending) == [2500, 4000, 4000, 5000, 5000]
    assert heights(receiving) == [2000, 4000, 4000, 5000, 5000]
    marks = sorted(round(line.get_ydata()[0]) for line in sending.lines if len(line.get_xdata()) == 2)
    assert marks == [5000, 5000, 6250, 6250]
    whiskers = [one for one in sending.collections if len(one.get_segments()) == 1]
    ends = {tuple(round(float(end[1]), 2) for end in one.get_segments()[0]) for one in whiskers}
    assert len(whiskers) == 5 and (3984.06, 4016.06) in ends
    assert f"Without a bar: boringssl@5.4.0 ({BULK[1]}): failed: {CRASH}." in texts(made)
    assert "Medians of 5 runs; whiskers" in texts(made) and "Example CPU, 2 CPUs" in texts(made)


def test_without_a_sealer_no_bar_is_marked():
    runs = synthetic_timed.campaign([OPENSSL], [SUITE], "throughput", factors=[1.0], without=["seal"])
    made = drawn(pictures.transfer(select_scenario(runs, "throughput")))
    assert "the library's own AEAD by itself" not in [text.get_text() for text in made.legends[0].get_texts()]
    assert "Medians of 1 run: too few for an interval." in texts(made)


def test_handshakes_have_a_panel_for_each_role_and_kind_and_one_scale_for_both_roles():
    made = drawn(pictures.handshakes(select_scenario(shaken(), "handshake")))
    assert [axes.get_title() for axes in made.axes] == [
        "client, full",
        "server, full",
        "client, resumed by session id",
        "server, resumed by session id",
    ]
    client, _, resumed, server = made.axes
    assert heights(resumed) == [10_000, 20_000] and heights(server) == [8_000, 10_000]
    assert heights(client) == [2_300, 4_600]  # 512 handshakes of 400 us, and five of 4 ms
    assert resumed.get_ylim() == server.get_ylim() != client.get_ylim()


def test_threads_are_in_percent_of_one_and_more_than_the_cpus_are_shaded():
    runs = synthetic_timed.campaign([OPENSSL], [SUITE])
    runs += [
        synthetic_timed.record(OPENSSL, SUITE, threads=count, factor=factor) for count, factor in ((2, 1.25), (3, 2.0))
    ]
    runs += [synthetic_timed.record(RUSTLS, SUITE, threads=2)]
    made = drawn(pictures.threads(pictures.several(select(runs), "handshake", "threads")))
    client, _ = made.axes
    curves = [line for line in client.lines if line.get_marker() == stack_style.style_of_stack(0).marker]
    assert [tuple(map(round, line.get_ydata())) for line in curves] == [(100, 80, 50)]  # none of a stack without one
    assert list(curves[0].get_xdata()) == [1, 2, 3]
    assert any("more threads than the 2 CPUs" in text.get_text() for text in client.texts)
    assert f"Without a curve: {RUSTLS}" in texts(made)


def test_a_distribution_is_the_intervals_and_each_nine_takes_as_much_room():
    series = select_scenario(shaken(), "handshake")
    axes = pyplot.subplots()[1]
    (openssl, _) = panels.draw_distribution(axes, series, series.stacks, series.works[0], "client")
    assert panels.place(0) == 0 and panels.place(99) == pytest.approx(2 * panels.place(90))
    ends = openssl.heights[0], openssl.heights[-1]
    assert ends == (pytest.approx(398_400, rel=2e-3), pytest.approx(4_016_000, rel=2e-3))  # histograms of three digits
    reached = next(across for across, height in zip(openssl.across, openssl.heights, strict=True) if height > 3e6)
    assert reached == pytest.approx(panels.place(100 * 512 / 517))
    assert list(openssl.heights) == sorted(openssl.heights)
    assert [openssl.across[at] for at in openssl.marked[1:3]] == [panels.place(50), panels.place(90)]
    assert [label.get_text() for label in axes.get_xticklabels()] == ["", "50 %", "90 %", "99 %", "99.9 %"]


def test_sizes_of_a_write_are_on_one_axis():
    runs = [synthetic_timed.record(OPENSSL, SUITE, "throughput", size=size, factor=2.0) for size in (64, 16_384)]
    runs += [synthetic_timed.record(OPENSSL, SUITE, "throughput")]
    made = drawn(pictures.sizes(pictures.several(select(runs), "throughput", "size_bytes")))
    sending, _ = made.axes
    (line,) = [one for one in sending.lines if one.get_marker() == stack_style.style_of_stack(0).marker]
    assert list(line.get_xdata()) == [64, 16_384, 2**20] and line.get_ydata()[-1] == pytest.approx(4000)
    assert [text.get_text() for text in sending.get_xticklabels()] == ["64\nB", "16\nKiB", "1\nMiB"]


def test_curves_of_several_repeats_have_whiskers_and_say_when_one_thread_was_measured():
    runs = synthetic_timed.campaign([OPENSSL], [SUITE])
    later = {"started_at": "2026-01-31T12:10:00Z"}
    runs += synthetic_timed.campaign([OPENSSL], [SUITE], threads=(2,), factors=(1.0, 1.1, 1.2), **later)
    made = drawn(pictures.threads(pictures.several(select(runs), "handshake", "threads")))
    (whisker,) = [line for line in made.axes[0].lines if line.get_marker() == "_"]
    assert [*map(round, whisker.get_ydata())] == [83, 100] and list(whisker.get_xdata()) == [2, 2]
    assert "Held against one thread: not made side by side, but 10 min apart" in texts(made).replace("\n", " ")


def test_a_reason_is_said_without_what_was_asked_for():
    asked = "BoringSSL API 44: keeps no sessions of TLSv1.3 but in tickets (TLSv1.3, TLS_AES_256_GCM_SHA384, X25519)"
    assert frame.shortened(f"unsupported: {asked}").endswith("but in tickets")
    assert frame.shortened("word " * 40).endswith("word …")


def test_names_keep_their_order_and_their_distance():
    assert place_labels([50, 50, 10], [10, 10, 10], 100) == [55, 45, 10]
    assert place_labels([1, 99], [10, 10], 100) == [5, 95]
    assert place_labels([98, 99], [10, 10], 100) == [85, 95]


@pytest.mark.slow
@pytest.mark.parametrize("stacks", [1, 8])
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
    names = [file.stem for file in pictures.draw([*transfers(), *shaken((1, 2))], tmp_path)]
    assert names[::2] == ["transfer", "handshake", f"latency-{SUITE}", f"threads-{SUITE}"]
    lost = [synthetic_timed.failed(OPENSSL, SUITE, CRASH)]
    with pytest.raises(ValueError, match="nothing to draw"):
        pictures.draw(lost, tmp_path)


def test_allocators_have_pictures_of_their_own():
    other = {"name": "jemalloc", "version": "5.3.0", "settings": None, "library": "/usr/lib/libjemalloc.so.2"}
    runs = [synthetic_timed.record(OPENSSL, SUITE, "throughput", **more) for more in ({}, {"allocator": other})]
    assert [name for name, _ in pictures.timed_figures(select(runs))] == ["transfer-system", "transfer-jemalloc"]


def plot(*arguments: object) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, PLOT, *map(str, arguments)], capture_output=True, text=True, check=False)


@pytest.mark.slow
def test_the_script_names_its_files_and_draws_the_same_again(tmp_path):
    recording = synthetic.write(tmp_path / "recording", transfers())
    for name in "one", "two":
        done = plot(recording, "--out", tmp_path / name)
        assert done.stdout.split() == [str(tmp_path / name / f"transfer{ending}") for ending in (".png", ".svg")]
    for ending in ".png", ".svg":
        one, two = ((tmp_path / name / f"transfer{ending}").read_bytes() for name in ("one", "two"))
        assert one == two


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--campaign", "nope"], "no campaign nope"),
        (["--stack", "nope@1"], "no runs of the stack nope@1; there are: boringssl@5.4.0"),
        (["--suite", "nope"], "no runs of the suite nope; there are: "),
    ],
)
def test_a_wrong_name_is_one_sentence(tmp_path, arguments, said):
    recording = synthetic.write(tmp_path / "recording", transfers())
    done = plot(recording, "--out", tmp_path / "pictures", *arguments)
    assert done.returncode == 1 and said in done.stderr and len(done.stderr.splitlines()) == 1


def test_runs_of_memory_alone_are_no_timed_runs(tmp_path):
    recording = synthetic.write(tmp_path / "recording", synthetic.campaign([OPENSSL], [SUITE]))
    done = plot(recording, "--out", tmp_path / "pictures")
    assert done.returncode == 1 and "no timed runs" in done.stderr
