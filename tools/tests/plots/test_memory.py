"""The picture: there, the same every time, with units on every axis and no text over another."""

import errno
import math
import os
import resource
import subprocess
import sys
from itertools import combinations, pairwise
from pathlib import Path

import pytest
from matplotlib import image, pyplot, rc_context
from matplotlib.figure import Figure

from tests.support import forked_command, synthetic
from tests.support.pictured import LEGIBLE, overlaps, shown, smallest_text
from tests.tables.test_stacks import of_runtime, split, with_books
from tlsmem.base.paths import ROOT
from tlsmem.config.libraries import stack_title
from tlsmem.config.suite_title import suite_title
from tlsmem.plots import memory, memory_panels
from tlsmem.plots.picture import PAGE_INCHES
from tlsmem.stats.selection import select

PLOT = ROOT / "tools/tls-memtest", "show", "mem"
STACKS = ("openssl@3.5.5", "rustls+aws-lc@0.23.46", "boringssl@5.4.0", "null@c")
SUITES = ("tls12-rsa-aes256", "tls13-rsa-aes256", "tls13-rsa-aes256-pq")


def drawn(records, stacks=None) -> Figure:
    with rc_context(memory.STYLE):
        made = memory.figure(select(records, stacks))
        made.draw_without_rendering()
    return made


def of_environments():
    factors = {"lab": (1.0, 1.001), "deployed": (1.01, 1.05), "deployed-thp": (0.98, 1.0)}
    return [run for suite in SUITES for run in synthetic.environments(STACKS[:2], suite, factors)]


KINDS = {
    "split": lambda: synthetic.campaign(STACKS[:3], SUITES[:2], roles="split"),
    "keep": lambda: synthetic.campaign(STACKS[:2], SUITES[:2], roles="keep-server", window=10),
    "mixed": lambda: synthetic.campaign(STACKS[:1], SUITES[:2], client=STACKS[1]),
    "environments": of_environments,
} | {
    f"{stacks} stacks, {suites} suites": lambda stacks=stacks, suites=suites: synthetic.campaign(
        STACKS[:stacks], SUITES[:suites]
    )
    for stacks in (1, 2, 3, 4)
    for suites in (1, 2, 3)
}


QUICK = ("mixed", "2 stacks, 1 suites")
DRAWN = [pytest.param(kind, marks=[] if kind in QUICK else pytest.mark.thorough) for kind in KINDS]


@pytest.fixture(scope="module", params=DRAWN)
def made(request):
    yield drawn(KINDS[request.param]())
    pyplot.close("all")


@pytest.mark.slow
def test_no_text_lies_over_another(made):
    assert overlaps(made) == []


@pytest.mark.thorough
def test_a_text_stands_above_both_lines_where_they_end_together():
    runs = synthetic.campaign(["null@c"], SUITES[:1])
    higher = [synthetic.scaled(run, 1.12, 1) if run.meter == "rss" else run for run in runs]
    other = [run.model_copy(update={"stack": "null@rust"}) for run in higher]
    made = drawn([*runs, *other])
    upper = made.axes[0]
    end = max(line.get_ydata()[-1] for line in upper.lines)
    labels = [text for text in upper.texts if "per session" in text.get_text()]
    assert len(labels) == 2 and all(text.get_position()[1] > end for text in labels)
    pyplot.close(made)


@pytest.mark.thorough
@pytest.mark.parametrize("count", [2, 3, 4])
def test_lines_that_end_together_are_told_apart(count):
    alike = [
        run.model_copy(update={"stack": stack})
        for stack in STACKS[:count]
        for run in synthetic.campaign(STACKS[:1], SUITES)
    ]
    made = drawn(alike)
    assert overlaps(made) == []
    pyplot.close(made)


@pytest.mark.thorough
def test_every_text_is_inside_the_picture(made):
    for text in shown(made):
        box = text.get_window_extent()
        assert min(box.x0, box.y0) >= 0, text.get_text()
        assert box.x1 <= made.bbox.x1 and box.y1 <= made.bbox.y1, text.get_text()


def test_slanted_labels_keep_their_distance(made):
    for axes in made.axes:
        labels = [label for label in axes.get_xticklabels() if label.get_rotation() % 90]
        for one, other in combinations(labels, 2):
            apart = abs(other.get_window_extent().x1 - one.get_window_extent().x1)
            line_height = 1.1 * one.get_fontsize() * made.dpi / 72
            assert apart * math.sin(math.radians(one.get_rotation())) > line_height


def test_every_axis_says_what_it_shows_in_which_unit(made):
    for axes in made.axes:
        assert any(unit in axes.get_ylabel() for unit in ("MiB", "KiB", "% above"))
        assert any(what in axes.get_xlabel() for what in ("sessions", "end of phase", "environment"))
    assert len(made.axes) % 2 == 0


def test_the_slope_stands_at_the_line():
    made = drawn(synthetic.campaign(STACKS[:1], SUITES[:1]))
    assert "OpenSSL 3.5.5\n78.4 KiB per session" in [text.get_text() for text in shown(made)]  # 146,000 x 1.1 a pair
    pyplot.close(made)


def panels_of(made: Figure) -> list[tuple[str, str]]:
    """The heading, and what is counted."""
    return [(axes.get_title(loc="left"), axes.get_xlabel()) for axes in made.axes if axes.get_title(loc="left")]


@pytest.mark.thorough
def test_clients_and_servers_of_split_runs_have_a_panel_each():
    made = drawn(KINDS["split"]())
    assert panels_of(made) == [
        (f"{suite_title(suite)}, {role}s' process", f"{role} sessions")
        for suite in SUITES[:2]
        for role in ("client", "server")
    ]
    assert "88.1 KiB per session" in [text.get_text() for text in shown(made)]  # 82,000 x 1.1 a server
    pyplot.close(made)


@pytest.mark.thorough
def test_a_line_of_a_mixed_pair_bears_the_name_of_its_process():
    made = drawn(KINDS["mixed"]())
    ends = [text.get_text().split("\n")[0] for text in shown(made) if text.get_text().endswith(" KiB per session")]
    assert ends[:2] == [stack_title(STACKS[1]), stack_title(STACKS[0])]
    assert panels_of(made)[0][0].endswith(f"clients are {stack_title(STACKS[1])}")
    pyplot.close(made)


@pytest.mark.thorough
def test_a_process_has_the_colour_of_its_stack_whichever_end_it_is():
    made = drawn(KINDS["mixed"]())
    colours = [axes.lines[0].get_color() for axes in made.axes if axes.get_title(loc="left")]
    styles = memory_panels.marker_styles(STACKS[:2])
    assert colours == [styles[STACKS[1]].colour, styles[STACKS[0]].colour] * (len(colours) // 2)
    assert {text.get_text() for text in made.legends[0].get_texts()} >= set(map(stack_title, STACKS[:2]))
    pyplot.close(made)


def subtitle_of(made: Figure) -> str:
    return made.texts[1].get_text().replace("\n", " ")


@pytest.mark.thorough
def test_the_subtitle_counts_the_sessions_of_the_process():
    made = drawn(KINDS["split"]())
    assert "memory when a phase ends, 500 sessions of the process." in subtitle_of(made)
    pyplot.close(made)


def test_rss_by_phase_is_of_the_sessions_whose_live_heap_stands_beside_it():
    runs = synthetic.campaign(STACKS[:1], SUITES[:1])
    runs = [synthetic.scaled(run, 1.5, 1) if (run.meter, run.sessions) == ("rss", 1000) else run for run in runs]
    selection = select(runs)
    made = drawn(runs)
    series = selection.series(STACKS[0], selection.settings[0], "both")
    solid, dashed = (next(line for line in made.axes[1].lines if line.get_linestyle() == dash) for dash in ("-", "--"))
    ends, largest = (list(memory_panels.resident(series, sessions)[0].values()) for sessions in (1000, 10_000))
    assert list(solid.get_ydata()) == ends != largest and max(dashed.get_ydata()) > 0
    assert "when a phase ends, N = 1,000." in subtitle_of(made)
    pyplot.close(made)


def test_without_live_heap_rss_by_phase_is_of_the_most_sessions():
    made = drawn([run for run in synthetic.campaign(STACKS[:1], SUITES[:1]) if run.meter == "rss"])
    assert "when a phase ends, N = 10,000." in subtitle_of(made)
    assert "live heap" not in [text.get_text() for text in made.legends[0].get_texts()]
    pyplot.close(made)


def test_numbers_of_many_sessions_do_not_touch():
    made = drawn(synthetic.campaign(STACKS[:1], SUITES[:1], (20_000, 150_000), roles="keep-server", window=10))
    labels = [text for text in shown(made) if text in made.axes[0].get_xticklabels()]
    boxes = [label.get_window_extent() for label in labels]
    assert len(boxes) > 2 and all(right.x0 - left.x1 > left.height for left, right in pairwise(boxes))
    pyplot.close(made)


def test_a_picture_is_as_wide_as_a_page_and_legible_on_it(made):
    assert made.get_size_inches()[0] == PAGE_INCHES
    assert smallest_text(made) >= LEGIBLE


@pytest.mark.thorough
def test_a_whisker_that_nobody_sees_is_in_no_legend():
    for factor, there in (1.02, False), (1.3, True):
        runs = [run for run in synthetic.campaign(STACKS[:1], SUITES[:1]) if run.meter == "rss"]
        phases = [phase.model_dump() for phase in runs[-1].phases]
        phases[3]["peak_rss_bytes"] = round(factor * max(phase["rss_bytes"] for phase in phases))
        made = drawn([*runs[:-1], runs[-1].model_validate(runs[-1].model_dump(by_alias=True) | {"phases": phases})])
        said = [text.get_text() for text in made.legends[0].get_texts()]
        assert ("peak RSS inside a phase" in said) == there
        pyplot.close(made)


@pytest.mark.thorough
def test_every_repeat_of_an_environment_is_a_dot_beside_the_laboratory():
    made = drawn(of_environments())
    assert [name for name, _ in panels_of(made)] == [f"{suite_title(suite)}, lab" for suite in SUITES]
    lower = next(axes for axes in made.axes if "% above" in axes.get_ylabel())
    dots = [round(float(value), 2) for line in lower.lines if line.get_marker() == "o" for value in line.get_ydata()]
    assert dots == pytest.approx([-0.05, 0.05, 0.95, 4.95, -2.05, -0.05], abs=0.011)
    pyplot.close(made)


@pytest.mark.thorough
def test_a_failed_run_is_explained_in_its_panel():
    runs = [run for run in synthetic.campaign(STACKS[:2], SUITES[:1]) if run.sessions != 5000 or run.stack != STACKS[1]]
    made = drawn([*runs, synthetic.failed(STACKS[1], SUITES[0], 5000, "killed by signal 9 (SIGKILL)")])
    assert any("killed by signal 9" in text.get_text().replace("\n", " ") for text in shown(made))
    assert overlaps(made) == []
    pyplot.close(made)


def test_stacks_differ_in_grey_too():
    styles = memory_panels.marker_styles([f"openssl@3.{minor}.0" for minor in range(len(memory_panels.MARKERS))])
    assert len({style.marker for style in styles.values()}) == len(styles)


def plot(*arguments: object, cwd: Path) -> subprocess.CompletedProcess:
    return forked_command.run([sys.executable, *PLOT, *map(str, arguments)], cwd=cwd)


@pytest.fixture
def recording(tmp_path) -> Path:
    return synthetic.write(tmp_path / "recording", synthetic.campaign(STACKS[:2], SUITES))


@pytest.mark.slow
def test_without_a_suffix_there_are_both_pictures_the_same_every_time(recording):
    pictures = ("one.png", "one.svg", "two.png", "two.svg")
    for name in ("one", "two"):
        assert plot("recording", "-o", name, cwd=recording.parent).stdout == f"{name}.png\n{name}.svg\n"
    first_png, first_svg, *second = ((recording.parent / picture).read_bytes() for picture in pictures)
    assert [first_png, first_svg] == second
    assert image.imread(recording.parent / "one.png").shape[1] == 1660


@pytest.mark.parametrize(
    ("arguments", "status", "named"),
    [
        pytest.param(["nowhere", "-o", "m"], 2, "nowhere: ", id="no recording"),
        pytest.param(["recording", "-o", "m", "--n", "7"], 1, "100, 1000, 5000, 10000", id="no such N"),
        pytest.param(["recording", "-o", "m.pdf"], 1, "m.pdf", id="no such format"),
        pytest.param(["recording", "-o", "m", "--suite", "tls14"], 2, ", ".join(SUITES), id="no such suite"),
        pytest.param(["failures", "-o", "m"], 1, "failures: ", id="nothing measured"),
    ],
)
def test_an_error_is_one_sentence(recording, arguments, status, named, snapshot):
    synthetic.write(recording.parent / "failures", [synthetic.failed(STACKS[0], SUITES[0], 100, "crashed")])
    result = plot(*arguments, cwd=recording.parent)
    assert result.stderr.startswith("memtest: ") and named in result.stderr and result.stderr.count("\n") == 1
    assert result.stderr == snapshot
    assert (result.returncode, sorted(os.listdir(recording.parent))) == (status, ["failures", "recording"])


@pytest.mark.thorough
def test_a_picture_for_a_directory_that_is_not_there_names_it(recording):
    """No snapshot: the reason is in the system's words."""
    result = plot("recording", "-o", "no/m.png", cwd=recording.parent)
    assert (result.returncode, result.stderr) == (1, f"memtest: no/m.png: {os.strerror(errno.ENOENT)}\n")


def plot_beside(recording, *arguments, **process_options):
    command = [sys.executable, *PLOT, recording, *arguments]
    return subprocess.run(command, stderr=subprocess.PIPE, text=True, cwd=recording.parent, **process_options)


@pytest.fixture
def small(tmp_path) -> Path:
    return synthetic.write(tmp_path / "recording", synthetic.campaign(STACKS[:1], SUITES[:1], (100, 1000)))


LIMIT_BYTES = 64 << 10  # of a file: room for what is read, and not for a picture


@pytest.mark.thorough
@pytest.mark.parametrize("name", ["memory.png", "memory.svg"])
def test_a_full_disk_is_a_sentence_and_tears_no_picture(small, name):
    (small.parent / name).write_text("the one before")

    def no_space():  # as a full disk: a write fails half-way
        resource.setrlimit(resource.RLIMIT_FSIZE, (LIMIT_BYTES, LIMIT_BYTES))

    done = plot_beside(small, "-o", name, preexec_fn=no_space, stdout=subprocess.DEVNULL)
    assert (done.returncode, done.stderr) == (1, f"memtest: {name}: File too large\n")
    assert (small.parent / name).read_text() == "the one before"
    assert sorted(file.name for file in small.parent.iterdir()) == [name, "recording"]


@pytest.mark.parametrize("name", [".", "/"])
def test_a_picture_needs_a_name(small, name):
    done = plot(small, "-o", name, cwd=small.parent)
    assert done.returncode == 1 and done.stderr.endswith("is not a file name\n") and done.stderr.count("\n") == 1
    assert [file.name for file in small.parent.iterdir()] == ["recording"]


@pytest.mark.thorough
def test_a_runtime_that_gave_back_what_was_free_is_said_below_the_panels():
    runs = split("openssl@3.5.5", "boringssl@5.4.0")
    theirs = [with_books(run, of_runtime({})) if run.stack == "boringssl@5.4.0" else run for run in runs]
    said = [text.get_text().replace("\n", " ") for text in memory.figure(select(theirs)).texts]
    note = memory.allocator_statistics.RETURNED_MEMORY_NOTE
    assert any(text.endswith(f" boringssl@5.4.0: {note}.") for text in said)
    assert not any("gave back" in text.get_text() for text in memory.figure(select(runs)).texts)
