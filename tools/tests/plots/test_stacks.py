"""The picture of every stack: bars by size, peaks, what has no bar, and no text over another."""

import subprocess
import sys

import pytest
from matplotlib import pyplot, rc_context

from tests.support import synthetic
from tests.support.pictured import overlaps, shown
from tests.tables.test_stacks import of_runtime, with_books
from tlsmem.base.paths import ROOT
from tlsmem.config.libraries import stack_title
from tlsmem.plots import stack_colours, stacks
from tlsmem.plots.picture import STYLE
from tlsmem.schema.records import RecordLine
from tlsmem.stats.selection import select

PLOT = ROOT / "tools/tls-memtest", "show", "stacks"
SUITE, OTHER = "tls13-rsa-aes256", "tls12-rsa-aes256"
OPENSSL, RUSTLS, BORING, GO = "openssl@3.5.5", "rustls+aws-lc@0.23.46", "boringssl@5.4.0", "go@1.26.8"


@pytest.fixture(scope="module")
def runs() -> list[RecordLine]:
    """Go's figure is its runtime's; one stack brings an allocator; one has not the suite."""
    split = synthetic.campaign([OPENSSL, BORING, RUSTLS], [SUITE], roles="split")
    rss = [run for run in split if run.stack == RUSTLS and run.meter == "rss"]
    sizes = {"client 1": 40 * 1024, "established": 10 * 1024}
    go = [with_books(run, of_runtime(sizes)) for run in rss]
    two = [with_books(run, lambda *_: {"glibc": {"a_bytes": 1}, "jemalloc-rust": {"b_bytes": 1}}) for run in rss]
    renamed = [run.model_copy(update={"stack": GO}) for run in go]
    renamed += [run.model_copy(update={"stack": "rustls+aws-lc+jemalloc-rust@0.23.46"}) for run in two]
    lost = synthetic.failed("mbedtls@3.5.1", SUITE, 100, "no TLS 1.3", "unsupported")
    return [*split, *renamed, lost.model_copy(update={"roles": "split"})]


@pytest.fixture(params=["server", "client"])
def made(request, runs):
    with rc_context(STYLE):
        made = stacks.figure(select(runs), request.param)
        made.draw_without_rendering()
    yield request.param, made
    pyplot.close("all")


def test_bars_are_what_sessions_keep_the_smallest_first(made):
    role, figure = made
    (axes,) = figure.axes
    kept = {RUSTLS: (9_200, 6_400), GO: (10_240, 10_240), BORING: (21_000, 19_000), OPENSSL: (64_000, 52_000)}
    peaks = {RUSTLS: (13_400, 11_200), GO: (40_960, 40_960), BORING: (30_000, 28_000), OPENSSL: (75_000, 82_000)}
    at = ("client", "server").index(role)
    labels = [text.get_text() for text in axes.get_yticklabels()]
    assert labels == [*map(stack_title, kept), "rustls 0.23.46 (aws-lc, jemalloc-rust)"]
    assert [bar.get_width() for bar in axes.patches] == [sizes[at] for sizes in kept.values()]
    marks = [line.get_xdata()[0] for line in axes.lines if line.get_marker() == "|"]
    assert marks == [sizes[at] for sizes in peaks.values()]
    texts = [text.get_text() for text in axes.texts]
    assert f"{kept[OPENSSL][at]:,} B" in texts and f"{peaks[OPENSSL][at]:,} B" in texts
    assert "by its runtime" in texts
    assert "– the heap meter does not see what jemalloc-rust allocates" in texts
    title, _, caption = (text.get_text().replace("\n", " ") for text in figure.texts)
    ends = f"{kept[RUSTLS][at]:,} B in rustls 0.23.46 (aws-lc) to {kept[OPENSSL][at]:,} B in OpenSSL 3.5.5"
    assert title == f"An established {role} session: {ends}"
    assert caption.startswith("Without a bar: Mbed TLS 3.5.1 (no TLS 1.3). ")


def test_no_text_lies_over_another_and_all_are_inside(made):
    _, figure = made
    assert overlaps(figure) == []
    for text in shown(figure):
        box = text.get_window_extent()
        assert min(box.x0, box.y0) >= 0 and box.x1 <= figure.bbox.x1 and box.y1 <= figure.bbox.y1, text.get_text()


def test_bars_have_the_hue_of_the_library_and_older_releases_are_paler():
    colours = stack_colours.stack_colours([OPENSSL, "openssl@1.1.1w", "openssl@3.0.22", RUSTLS, "gone@1"])
    assert colours[OPENSSL] == "#0b5fa5" and colours[RUSTLS] == "#e07b00" and colours["gone@1"] == stack_colours.UNKNOWN
    assert colours["openssl@3.0.22"] == "#4887bc" and colours["openssl@1.1.1w"] == "#85afd2"  # 25 % and 50 % white


def test_builds_of_one_release_have_one_colour():
    colours = stack_colours.stack_colours([RUSTLS, "rustls+ring@0.23.46", "rustls+ring@0.22.0"])
    assert colours[RUSTLS] == colours["rustls+ring@0.23.46"] != colours["rustls+ring@0.22.0"]


def plot(*arguments: object) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, *PLOT, *map(str, arguments)], capture_output=True, text=True, check=False)


@pytest.mark.slow
def test_the_same_records_give_the_same_files(tmp_path, runs):
    recording = synthetic.write(tmp_path / "recording", runs)
    for name in "one", "two":
        assert plot(recording, "-o", tmp_path / name).returncode == 0
    for suffix in ".png", ".svg":
        assert (tmp_path / f"one{suffix}").read_bytes() == (tmp_path / f"two{suffix}").read_bytes()


@pytest.mark.thorough
@pytest.mark.parametrize(
    ("more", "option"),
    [
        pytest.param({"suites": [OTHER], "roles": "split"}, "--suite", id="suites"),
        pytest.param({"suites": [SUITE], "roles": "together"}, "--roles", id="roles"),
    ],
)
def test_several_settings_are_refused_with_a_way_out(tmp_path, runs, more, option, snapshot):
    recording = synthetic.write(tmp_path / "recording", [*runs, *synthetic.campaign([OPENSSL], **more)])
    refused = plot(recording, "-o", tmp_path / "picture")
    assert refused.returncode == 1 and refused.stderr.startswith("memtest: ") and option in refused.stderr
    assert refused.stderr == snapshot
    assert refused.stderr.count("\n") == 1


@pytest.mark.thorough
def test_a_campaign_of_many_stacks_has_a_picture_for_each_suite(tmp_path, runs):
    other = [run.model_copy(update={"suite": OTHER}) for run in runs if run.stack in (OPENSSL, "mbedtls@3.5.1")]
    lost = synthetic.failed(OPENSSL, f"{SUITE}-pq", 100, "no such group").model_copy(update={"roles": "split"})
    written = stacks.save_every_suite(select([*runs, *other, lost]), tmp_path / "stacks")
    assert written == [tmp_path / f"stacks-{suite}{suffix}" for suite in (SUITE, OTHER) for suffix in (".png", ".svg")]
    assert all(file.is_file() for file in written)
