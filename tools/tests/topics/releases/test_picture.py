"""The picture over releases: versions in their order, sizes at their place, gaps, and no text over another."""

import subprocess
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as some
from matplotlib import pyplot, rc_context

from tests.support import forked_command, synthetic
from tests.support.colour_vision import find_alike
from tests.support.pictured import LEGIBLE, overlaps, shown, smallest_text
from tlsmem.base.paths import ROOT
from tlsmem.config import releases
from tlsmem.plots.picture import STYLE
from tlsmem.schema.records import RecordLine
from tlsmem.stats.selection import select
from tlsmem.topics.releases import picture as plot_releases

PLOT = ROOT / "tools/tls-memtest", "show", "releases"
CLASSIC, PQ = "tls13-rsa-aes256", "tls13-rsa-aes256-pq"
OPENSSL, RUSTLS, BORING = "openssl@3.5.5", "rustls+aws-lc@0.23.46", "boringssl@5.4.0"
SHAPES = {  # stack to whose figures it has
    "openssl@4.0.3": OPENSSL,
    "openssl@1.1.1w": BORING,
    "openssl@3.0.22": OPENSSL,
    "rustls+ring@0.23.46": RUSTLS,
    "rustls+ring@0.24.0-dev.2": RUSTLS,
    "rustls+ring@0.22.0": RUSTLS,
    "openssl@system": OPENSSL,
}


def test_versions_are_in_the_order_in_which_they_came():
    names = ["0.22.0", "0.23.15", "0.23.46", "0.24.0-dev.2", "0.24.0-dev.10", "0.24.0", "1.1.1", "1.1.1k", "1.1.1w"]
    names += ["1.1.2", "2.28.10", "3.0.9", "3.0.22", "3.1.4", "10.0"]
    assert sorted(set(names), key=releases.version_key) == names


@given(some.lists(some.lists(some.integers(0, 99), min_size=3, max_size=3)))
def test_numbers_are_compared_as_numbers(versions: list[list[int]]):
    written = [".".join(map(str, one)) for one in versions]
    assert sorted(written, key=releases.version_key) == [".".join(map(str, one)) for one in sorted(versions)]


def test_a_library_is_what_stands_before_the_version():
    found = releases.group_by_library(SHAPES)
    assert found["openssl"] == ["openssl@1.1.1w", "openssl@3.0.22", "openssl@4.0.3"]
    assert found["rustls+ring"][-1] == "rustls+ring@0.24.0-dev.2"
    assert releases.group_by_library([*SHAPES, BORING], least=3).keys() == {"openssl", "rustls+ring"}


def make_runs(stack: str, suite: str) -> list[RecordLine]:
    runs = synthetic.campaign([SHAPES[stack]], [suite], roles="split")
    return [run.model_copy(update={"stack": stack}) for run in runs]


@pytest.fixture(scope="module")
def runs() -> list[RecordLine]:
    """All in the classic suite; in the other one OpenSSL 3.0.22 is not."""
    found = [run for stack in SHAPES for suite in (CLASSIC, PQ) for run in make_runs(stack, suite)]
    kept = [run for run in found if (run.stack, run.suite) != ("openssl@3.0.22", PQ)]
    return [*kept, synthetic.failed("openssl@3.0.22", PQ, 100, "not this group", "unsupported")]


@pytest.fixture
def made(runs):
    with rc_context(STYLE):
        made = plot_releases.figure(select(runs, roles=["split"]))
        made.draw_without_rendering()
    yield made
    pyplot.close("all")


def points(axes, marker: str) -> list[tuple[float, float]]:
    """Of the lines through established sizes."""
    lines = [line for line in axes.lines if line.get_marker() == marker]
    return sorted((round(x), y) for line in lines for x, y in zip(*line.get_data(), strict=True))


@pytest.mark.thorough
def test_sizes_are_at_their_releases(made, runs):
    server, _ = made.axes
    (client,) = plot_releases.figure(select(runs, roles=["split"]), ["openssl"], "client").axes
    assert [axes.get_title() for axes in made.axes] == ["OpenSSL", "rustls (ring)"]
    assert [text.get_text() for text in client.get_xticklabels()] == ["1.1.1w", "3.0.22", "4.0.3"]
    assert points(client, "o") == [(0, 21_000), (1, 64_000), (2, 64_000)]
    assert points(server, "o") == [(0, 19_000), (1, 52_000), (2, 52_000)]
    assert "52,000 B" in [text.get_text() for text in server.texts]


@pytest.mark.thorough
def test_a_suite_that_a_release_has_not_is_a_gap_in_its_line(made):
    lines = [line for line in made.axes[0].lines if line.get_marker() == "s"]
    assert [[round(x) for x in line.get_xdata()] for line in lines] == [[0], [2]]


@pytest.mark.thorough
def test_another_library_says_its_scale(made):
    openssl, rustls = made.axes
    times = openssl.get_ylim()[1] / rustls.get_ylim()[1]
    assert f"magnified {times:.1f} times" in [text.get_text() for text in rustls.texts]
    assert not [text for text in openssl.texts if "magnified" in text.get_text()]


@pytest.mark.thorough
def test_markers_are_named_and_no_text_lies_over_another(made):
    assert [text.get_text() for text in made.legends[0].get_texts()] == ["TLS 1.3", "TLS 1.3, post-quantum"]
    assert {line.get_linestyle() for axes in made.axes for line in axes.lines} == {"-", "--"} and not find_alike(made)
    assert overlaps(made) == []
    assert smallest_text(made) >= LEGIBLE
    for text in shown(made):
        box = text.get_window_extent()
        assert min(box.x0, box.y0) >= 0 and box.x1 <= made.bbox.x1 and box.y1 <= made.bbox.y1, text.get_text()


def test_a_line_names_its_cipher_where_lines_differ_in_it(runs):
    other = [run.model_copy(update={"suite": "tls12-rsa-aes128"}) for run in runs if run.suite == CLASSIC]
    selection = select([*other, *runs, *(run.model_copy(update={"suite": "mine"}) for run in other)], roles=["split"])
    assert list(plot_releases.names(selection).values()) == [
        "TLS 1.2, AES-128-GCM",
        "TLS 1.3, AES-256-GCM",
        "TLS 1.3, AES-256-GCM, post-quantum",
        "mine",
    ]


def test_a_library_may_be_asked_for(runs):
    made = plot_releases.figure(select(runs, roles=["split"]), ["rustls+ring"])
    assert [axes.get_title() for axes in made.axes] == ["rustls (ring)"]
    pyplot.close("all")


def plot(*arguments: object) -> subprocess.CompletedProcess[str]:
    return forked_command.run([sys.executable, *PLOT, *map(str, arguments)])


def plot_alone(*arguments: object) -> subprocess.CompletedProcess[str]:
    """By a Python that has imported nothing yet."""
    return subprocess.run([sys.executable, *PLOT, *map(str, arguments)], capture_output=True, text=True, check=False)


@pytest.mark.slow
def test_the_same_records_give_the_same_files(tmp_path, runs):
    recording = synthetic.write(tmp_path / "recording", runs)
    for name in "one", "two":
        drawn = plot_alone(recording, "-o", tmp_path / name, "--roles", "split")
        assert drawn.stdout == f"{tmp_path / name}.png\n{tmp_path / name}.svg\n", drawn.stderr
    for suffix in ".png", ".svg":
        assert (tmp_path / f"one{suffix}").read_bytes() == (tmp_path / f"two{suffix}").read_bytes()


@pytest.mark.parametrize(
    ("arguments", "named"),
    [
        pytest.param(["--library", "boringssl"], "openssl, rustls+ring", id="no such library"),
        pytest.param(["--stack", "openssl@4.0.3"], "--library", id="one release"),
        pytest.param(["--suite", "no-such"], "no-such", id="no such suite"),
        pytest.param(["--campaign", "no-such"], "memtest/campaigns.toml", id="no such campaign"),
    ],
)
def test_what_cannot_be_drawn_is_one_sentence(tmp_path, runs, arguments, named, snapshot):
    refused = plot(synthetic.write(tmp_path / "recording", runs), "-o", tmp_path / "picture", *arguments)
    assert refused.returncode == (1 if "--stack" in arguments else 2)
    assert refused.stdout == "" and named in refused.stderr
    assert refused.stderr == snapshot
    assert refused.stderr.startswith("memtest: ") and refused.stderr.count("\n") == 1


def test_more_suites_than_a_panel_has_room_for_are_refused(runs, snapshot):
    others = [run.model_copy(update={"suite": f"other-{at}"}) for at in (1, 2) for run in runs if run.suite == CLASSIC]
    with pytest.raises(ValueError, match="--suite") as error:
        plot_releases.figure(select([*runs, *others], roles=["split"]))
    assert str(error.value) == snapshot
