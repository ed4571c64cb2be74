"""A library release by release: known figures in order, changes in words, buckets that add up, what cannot be."""

import csv
import io
import json
import subprocess
from fractions import Fraction
from pathlib import Path

import pytest
from matplotlib import pyplot, rc_context

from tests.support import commands, forked_command, in_process, synthetic
from tests.support.pictured import LEGIBLE, overlaps, smallest_text
from tlsmem.base.paths import ROOT
from tlsmem.cli.dispatch import run_words
from tlsmem.config import releases
from tlsmem.config.suite_title import suite_title
from tlsmem.plots.picture import STYLE
from tlsmem.schema import recording_files
from tlsmem.schema.records import RecordLine
from tlsmem.stats.selection import select
from tlsmem.store import read_runs
from tlsmem.tables import render
from tlsmem.topics.releases import walk as release_walk
from tlsmem.topics.releases import walk_picture as release_plot
from tlsmem.topics.releases import walk_tables as release_tables
from tlsmem.topics.releases.walk import ReleaseWalk

TOOL, PLOT, SHOW_TABLES, CHECK = "diff releases", "show versions", "show tables", "build --check"
RECORDED = ROOT / "data/2026-11-22-amd-epyc"
SUITE = "tls13-rsa-aes256"
SHAPES = {  # stack to whose figures it has
    "openssl@4.0.3": "rustls+aws-lc@0.23.46",
    "openssl@1.1.1w": "boringssl@5.4.0",
    "openssl@3.0.22": "openssl@3.5.5",
    "openssl@3.0.9": "openssl@3.5.5",
    "openssl+clang@3.0.22": "openssl@3.5.5",
    "boringssl@5.4.0": "boringssl@5.4.0",
}
CALLS = ["SSL_new", "tls_setup_read_buffer", "one", "two", "three"]  # connection structure, record buffers, other


def sites_run(run: RecordLine, sizes: tuple[int, ...]) -> RecordLine:
    """Of a server that holds a block from each of CALLS, once it is established."""
    fields = json.loads(run.to_json_line())
    frames = [
        {"function": name, "file": "a.c", "line": at, "module": "x", "offset": at} for at, name in enumerate(CALLS, 7)
    ]
    frames.append({"function": "server_handshake", "file": "m.c", "line": 1, "module": "x", "offset": 1})
    fields["sites"] = {"frames": frames, "stacks": [[at, len(CALLS)] for at in range(len(CALLS))]}
    for phase in fields["phases"]:
        if phase["phase"] == "established" and phase["process"] in ("both", "server"):
            block = {"role": "server", "since": "sessions", "blocks": 1}
            phase["sites"]["live"] = [block | {"stack": at, "bytes": size} for at, size in enumerate(sizes)]
    return RecordLine.model_validate_json(json.dumps(fields))


def make_runs(stack: str, sizes: tuple[int, ...] | None = None, suite: str = SUITE) -> list[RecordLine]:
    """Heap runs at two N, and with sizes a sites run; the heap's figures are those of another stack's shape."""
    alike = SHAPES[stack]
    made = [synthetic.record(alike, suite, sessions, "heap") for sessions in (100, 200)]
    made += [sites_run(synthetic.record(alike, suite, 200, "sites"), sizes)] if sizes else []
    return [run.model_copy(update={"stack": stack}) for run in made]


KNOWN = {  # a server's established bytes: of `boringssl` 19,000, of `openssl` 52,000, of `rustls` 6,400
    "openssl@1.1.1w": (9_000, 10_000),
    "openssl@3.0.9": (20_000, 32_000),
    "openssl@3.0.22": (20_000, 31_000),  # 1,000 short of its slope
    "openssl@4.0.3": (6_400, 0),
}


@pytest.fixture
def recorded() -> list[RecordLine]:
    """Not in the order of release."""
    return [run for stack in ("openssl@4.0.3", *SHAPES) if stack in KNOWN for run in make_runs(stack, KNOWN[stack])]


def walked(runs: list[RecordLine], role: str = "server", versions: list[str] | None = None) -> ReleaseWalk:
    stacks = releases.select_stacks("openssl", dict.fromkeys(run.stack for run in runs), versions)
    return release_walk.build_walks(select(runs), stacks, [role])[0]


def column(table, key: str) -> list:
    at = [one.key for one in table.columns].index(key)
    return [row[at] for row in table.rows]


def test_releases_stand_in_their_order_and_variants_are_libraries_of_their_own(recorded):
    assert [one.version for one in walked(recorded).releases] == ["1.1.1w", "3.0.9", "3.0.22", "4.0.3"]
    assert releases.select_stacks("openssl", list(SHAPES), ["4.0.3", "3.0.9"]) == ["openssl@3.0.9", "openssl@4.0.3"]


def test_each_stage_has_its_exact_size_and_the_change_in_words(recorded, snapshot):
    table = release_tables.stage_table([walked(recorded)], "openssl", "established")
    assert render.markdown(table) == snapshot
    assert [cell.value for cell in column(table, "established")] == [
        {"bytes": 19_000, "more_bytes": None},
        {"bytes": 52_000, "more_bytes": 33_000},
        {"bytes": 52_000, "more_bytes": 0},
        {"bytes": 6_400, "more_bytes": -45_600},
    ]
    assert [cell.value for cell in column(table, "created")] == [
        {"bytes": 7_000, "more_bytes": None},
        {"bytes": 9_100, "more_bytes": 2_100},
        {"bytes": 9_100, "more_bytes": 0},
        {"bytes": 800, "more_bytes": -8_300},
    ]
    peaks = [cell.value for cell in column(table, "peak")][:2]
    assert peaks == [{"bytes": 28_000, "more_bytes": None}, {"bytes": 82_000, "more_bytes": 54_000}]
    assert {cell.text for cell in column(table, "peak_in")} == {"server 1"}


def test_buckets_add_up_to_the_stage_and_what_no_call_stack_has_is_a_row(recorded):
    found = walked(recorded)
    for one in found.releases:
        assert sum(one.buckets("established").values()) == one.size("established")
    assert found.releases[2].buckets("established")["unexplained"] == 1_000
    table = release_tables.bucket_table([found], "openssl", "established")
    rows = {row[2].text: [cell.text for cell in row[3:]] for row in table.rows}
    assert rows["connection structure"] == ["9,000", "20,000", "20,000", "6,400"]
    assert rows["record buffers, read"] == ["10,000", "32,000", "31,000", "0"]
    assert rows["unexplained"] == ["0", "0", "1,000", "0"]
    assert rows["total"] == ["19,000", "52,000", "52,000", "6,400"]


def test_what_changed_is_said_by_bucket_with_the_call_site_behind_it(recorded, snapshot):
    table = release_tables.change_table([walked(recorded)], "openssl", "established")
    assert render.markdown(table) == snapshot
    assert [(row[3].text, row[6].value) for row in table.rows[:4]] == [
        ("record buffers, read", 22_000),
        ("connection structure", 11_000),
        ("record buffers, read", -1_000),
        ("unexplained", 1_000),
    ]
    assert [row[7].text.partition(": ")[0] for row in table.rows[:2]] == [READ, NEW]
    by_release: dict[str, int] = {}
    for row in table.rows:
        by_release[row[2].text] = by_release.get(row[2].text, 0) + row[6].value
    assert by_release == {"3.0.9": 33_000, "3.0.22": 0, "4.0.3": -45_600}


NEW, READ, *_, THREE = (f"{name} (a.c:{at}) < server_handshake" for at, name in enumerate(CALLS, 7))


def test_a_call_site_that_went_the_other_way_is_not_what_is_behind_a_change(snapshot):
    """Of one bucket 6,000 B less at the first, and 3,000 and 4,000 more at others: 1,000 more in all."""
    runs = make_runs("openssl@3.0.9", (0, 43_000, 7_000, 1_000, 1_000)) + make_runs(
        "openssl@3.0.22", (0, 42_000, 1_000, 4_000, 5_000)
    )
    table = release_tables.change_table([walked(runs)], "openssl", "established")
    assert render.markdown(table) == snapshot
    found = {row[3].text: (row[6].value, row[7].text.partition(": ")[0]) for row in table.rows}
    assert found["other"] == (1_000, THREE)
    assert found["record buffers, read"] == (-1_000, READ)


def test_without_sites_runs_the_total_is_all_and_it_is_said():
    found = walked(make_runs("openssl@1.1.1w") + make_runs("openssl@3.0.9", KNOWN["openssl@3.0.9"]))
    buckets = release_tables.bucket_table([found], "openssl", "established")
    first = [row[3] for row in buckets.rows]
    assert [cell.note for cell in first[:-1]] == [release_tables.NO_SITES] * (len(first) - 1)
    assert first[-1].text == "19,000"
    (row,) = release_tables.change_table([found], "openssl", "established").rows
    assert [row[3].text, *(cell.value for cell in row[4:7])] == ["total", 19_000, 52_000, 33_000]
    assert row[-1].note == release_tables.NO_SITES


def split_runs(stack: str) -> list[RecordLine]:
    """With a process for each role."""
    made = [synthetic.record(SHAPES[stack], SUITE, sessions, "heap", roles="split") for sessions in (100, 200)]
    return [run.model_copy(update={"stack": stack}) for run in made]


def test_a_release_measured_with_roles_apart_is_said_to_be_so_and_its_change_is_no_other_release_s(recorded, snapshot):
    """3.0.22 is between 3.0.9 and 4.0.3; in it the roles had a process each."""
    runs = [run for run in recorded if run.stack != "openssl@3.0.22"] + split_runs("openssl@3.0.22")
    found = walked(runs)
    assert [one.version for one in found.releases] == ["1.1.1w", "3.0.9", "4.0.3"]
    (absent,) = found.absent
    assert "--roles split" in absent and absent == snapshot(name="absent")
    table = release_tables.change_table([found], "openssl", "established")
    named = {row[2].value: (row[2].text, row[2].note) for row in table.rows}
    assert named["3.0.9"] == ("3.0.9", None)
    assert named["4.0.3"] == snapshot(name="release")


def test_roles_select_the_runs_of_a_walk(recorded):
    runs = [*recorded, *split_runs("openssl@3.0.22"), *split_runs("openssl@3.0.9")]
    stacks = releases.select_stacks("openssl", dict.fromkeys(run.stack for run in runs))
    versions = {
        roles: [one.version for one in release_walk.build_walks(select(runs), stacks, ["server"], roles)[0].releases]
        for roles in ("together", "split")
    }
    assert versions == {"together": ["1.1.1w", "3.0.9", "3.0.22", "4.0.3"], "split": ["3.0.9", "3.0.22"]}
    with pytest.raises(ValueError, match=r"has roles split; there are: together"):
        release_walk.build_walks(select(recorded), stacks, ["server"], "split")


def test_what_a_release_cannot_do_is_said_with_its_reason(recorded, snapshot):
    gone = synthetic.failed("openssl@3.1.4", SUITE, 100, "does not have this group", "unsupported")
    table = release_tables.stage_table([walked([*recorded, gone])], "openssl", "established")
    assert "3.1.4" not in [cell.text for cell in column(table, "release")]
    assert table.without == snapshot


def elsewhere(run: RecordLine) -> RecordLine:
    return run.model_copy(update={"machine": run.machine.model_copy(update={"cpu": "another CPU"})})


@pytest.mark.parametrize(
    ("stacks", "versions"),
    [
        ("openssl@3.0.9", None),
        ("boringssl@5.4.0", None),
        ("openssl+clang@3.0.22", None),
        ("openssl@3.0.9 openssl@4.0.3", "3.1"),
    ],
)
def test_a_library_that_is_not_there_or_has_one_release_is_refused(stacks, versions, snapshot):
    with pytest.raises(ValueError) as error:
        walked([run for stack in stacks.split() for run in make_runs(stack)], versions=versions and [versions])
    assert str(error.value) == snapshot


def test_runs_of_two_machines_are_never_one_walk(recorded, snapshot):
    mixed = [elsewhere(run) if run.stack == "openssl@4.0.3" else run for run in recorded]
    with pytest.raises(ValueError) as error:
        walked(mixed)
    assert str(error.value) == snapshot


def ran(*arguments: object, tool: str = TOOL) -> subprocess.CompletedProcess[str]:
    return forked_command.run([*commands.command_line(tool), *map(str, arguments)])


@pytest.fixture
def here(capsys):
    """As `ran`, in this process."""

    def run(*arguments: object) -> subprocess.CompletedProcess[str]:
        words = [*TOOL.split(), *map(str, arguments)]
        status = in_process.exit_status(lambda: run_words(words))
        return subprocess.CompletedProcess(words, status, *capsys.readouterr())

    return run


def of_recorded(folder: Path, *stacks: str) -> Path:
    """The part of the recording that these have."""
    for stack in stacks:
        file = recording_files.find_stack(RECORDED, stack)
        (folder / file.name).symlink_to(file)
    return folder


@pytest.mark.thorough
def test_the_committed_recording_is_walked_to_the_byte(tmp_path, here):
    """Against the figures of tools/tls-memtest show tables: its table of heap is other code."""
    recording = of_recorded(tmp_path, "openssl@3.1.4", "openssl@3.2.0")
    asked = [recording, "--library", "openssl", "--suites", SUITE, "--role", "server", "--versions", "3.1.4,3.2.0"]
    made = here(*asked, "--table", "versions", "--format", "csv")
    rows = list(csv.DictReader(io.StringIO(made.stdout)))
    assert made.returncode == 0, made.stderr
    tabulated = [
        "--table",
        "heap",
        "--suite",
        SUITE,
        "--format",
        "csv",
        "--stack",
        "openssl@3.1.4",
        "--stack",
        "openssl@3.2.0",
    ]
    heap = ran(recording, *tabulated, "--roles", "split", tool=SHOW_TABLES)
    known = [row for row in csv.DictReader(io.StringIO(heap.stdout)) if row["role"] == "server"]
    for ours, theirs in zip(rows, known, strict=True):
        for name, key in (("created", "sessions"), ("peak", "peak"), ("established", "established")):
            assert ours[f"{name}_bytes"] == theirs[f"{key}_bytes"] != ""
    changed = json.loads(here(*asked, "--table", "changes", "--format", "json").stdout)["tables"][0]["rows"]
    more = int(rows[1]["established_bytes"]) - int(rows[0]["established_bytes"])
    assert sum(row["more"] for row in changed) == more == int(rows[1]["established_more_bytes"])
    assert changed[0]["bucket"] == "record buffers, write" and "ssl3_setup_write_buffer" in changed[0]["site"]


@pytest.mark.parametrize(
    ("arguments", "status"),
    [
        ("--library opensl", 2),
        ("--library bearssl", 2),
        ("--library openssl --suites tls13-rsa-aes25", 2),
        ("--library openssl --into page.md", 2),
        ("nowhere --library openssl", 2),
        ("BEARSSL --library openssl", 2),
    ],
)
def test_what_cannot_be_walked_is_one_sentence_before_anything_is_built(here, arguments, status, snapshot):
    bearssl = {"BEARSSL": RECORDED / "bearssl@0.6.jsonl"}
    refused = here(*(bearssl.get(word, word) for word in arguments.split()))
    assert (refused.returncode, refused.stdout) == (status, "")
    assert refused.stderr == snapshot
    assert refused.stderr.count("\n") == 1


@pytest.mark.parametrize(
    ("arguments", "status", "said"),
    [
        (
            ["--library", "openssl", "--versions", "3.4"],
            2,
            "memtest: openssl has no release 3.4; it has: 1.1.1w,",
        ),
        (
            [RECORDED / "bearssl@0.6.jsonl", "--library", "o\x1b[31m"],
            2,
            "memtest: --library=o?[31m: memtest/stacks.toml lists fewer than two releases of it",
        ),
    ],
)
def test_what_lists_all_releases_is_one_sentence_too(here, arguments, status, said):
    """No snapshot, which each new release would change."""
    refused = here(*arguments)
    assert (refused.returncode, refused.stdout) == (status, "") and refused.stderr.startswith(said)
    assert refused.stderr.count("\n") == 1


def test_as_a_command_what_cannot_be_walked_is_the_same_sentence(here):
    refused = ran("nowhere", "--library", "openssl")
    assert (refused.returncode, refused.stdout) == (2, "") and refused.stderr.count("\n") == 1
    assert refused.stderr == here("nowhere", "--library", "openssl").stderr


def test_make_checks_the_library_before_anything_else():
    refused = ran("compare-versions", "LIB=opensl", tool=CHECK)
    assert refused.returncode == 2 and refused.stderr.startswith("memtest: LIB=opensl: ")
    assert "did you mean openssl" in refused.stderr


@pytest.fixture
def made(recorded):
    one = make_runs("openssl@3.0.9", None, "tls12-rsa-aes256")
    walks = release_walk.build_walks(select([*recorded, *one]), releases.select_stacks("openssl", list(KNOWN)))
    with rc_context(STYLE):
        made = release_plot.draw_figure(walks, "established")
        made.draw_without_rendering()
    yield made
    pyplot.close("all")


def panel(made, title):
    return next(axes for axes in made.axes if axes.get_title(loc="left") == title)


@pytest.mark.thorough
def test_bars_are_as_long_as_their_buckets_with_the_peak_as_a_mark(made):
    server = panel(made, f"server: {suite_title(SUITE)}")
    assert [text.get_text() for text in server.get_yticklabels()] == ["1.1.1w", "3.0.9", "3.0.22", "4.0.3"]
    ends = [
        max(bar.get_x() + bar.get_width() for bar in server.patches if round(bar.get_center()[1]) == at)
        for at in range(4)
    ]
    assert ends == [pytest.approx(size) for size in (19_000, 52_000, 52_000, 6_400)]
    marks = [line.get_xdata()[0] for line in server.lines if line.get_marker() == "|"]
    assert marks == [pytest.approx(size) for size in (28_000, 82_000, 82_000, 11_200)]


@pytest.mark.thorough
def test_a_release_that_a_suite_has_not_is_a_row_that_says_so(made):
    said = [text.get_text() for text in panel(made, f"server: {suite_title('tls12-rsa-aes256')}").texts]
    assert said.count("not measured in this suite") == 3 and "0 B" not in said
    assert overlaps(made) == [] and smallest_text(made) >= LEGIBLE


@pytest.mark.thorough
def test_the_same_records_give_the_same_picture(tmp_path):
    files, recording = [], of_recorded(tmp_path, "rustls+ring@0.22.0", "rustls+ring@0.23.46")
    for name in ("one", "two"):
        asked = ["--library", "rustls+ring", "--suites", SUITE, "--role", "server"]
        drawn = ran(recording, "-o", tmp_path / f"{name}.svg", *asked, tool=PLOT)
        assert drawn.returncode == 0, drawn.stderr
        files.append((tmp_path / f"{name}.svg").read_bytes())
    assert files[0] == files[1]


def test_sizes_that_are_not_whole_are_kept_exact():
    assert release_tables.plain_number(Fraction(7, 2)) == 3.5 and release_tables.plain_number(Fraction(4)) == 4
    assert (
        release_tables.format_difference(Fraction(-7, 2)) == "3.5 less"
        and release_tables.format_difference(Fraction(0)) == "no change"
    )


@pytest.mark.thorough
def test_a_torn_recording_is_read_and_told(tmp_path, recorded):
    recording = synthetic.write(tmp_path / "recording", recorded)
    file = recording / "openssl@4.0.3.jsonl"
    file.write_bytes(file.read_bytes()[:-30])
    done = ran(recording, "--library", "openssl", "--table", "versions")
    assert done.returncode == 1 and "was cut off while it was written" in done.stderr and "3.0.22" in done.stdout
    assert read_runs.load(recording)
