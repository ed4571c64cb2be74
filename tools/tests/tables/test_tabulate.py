"""The tables of a synthetic recording: what they say, their holes, and what a user who errs is told."""

import argparse
import csv
import gc
import io
import json
import os
import subprocess
import sys
from contextlib import nullcontext
from pathlib import Path

import pytest

from tests.support import forked_command, synthetic
from tests.support.portable_text import drop_table_rows
from tlsmem.base.errors import UserError
from tlsmem.base.paths import ROOT
from tlsmem.tables import memory_model, render, table_command
from tlsmem.tables import table as tables

TABULATE = ROOT / "tools/tls-memtest", "show", "tables"
STACKS = ("openssl@3.5.5", "rustls+aws-lc@0.23.46")
SUITE = "tls13-rsa-aes256"
DIFFERENCE = f"{STACKS[0]} difference_percent"  # where it is the second
STAGES = ("sessions", "peak", "established")


def tabulate(*arguments: object, cwd: Path | None = None, columns: int = 300) -> subprocess.CompletedProcess:
    command = [sys.executable, *TABULATE, *map(str, arguments)]
    return forked_command.run(command, cwd=cwd, env=os.environ | {"COLUMNS": str(columns)})


def read_rows(recording: Path, table: str, *arguments: object) -> list[dict]:
    """The rows of one table, as a program gets them."""
    done = tabulate(recording, "--table", table, "--format", "json", *arguments)
    return json.loads(done.stdout)["tables"][0]["rows"]


@pytest.fixture
def recording(tmp_path) -> Path:
    return synthetic.write(tmp_path / "recording", synthetic.campaign(STACKS, [SUITE]))


def test_peaks_stand_side_by_side(recording, snapshot):
    assert tabulate(recording, "--table", "peaks").stdout == snapshot
    rows = [list(row.values()) for row in read_rows(recording, "peaks")]
    assert rows[:2] == [[SUITE, 100, 17_056, 9_284, -45.568], [SUITE, 1_000, 87_632, 19_148, -78.15]]


def test_the_first_stack_named_is_what_others_are_compared_with(recording):
    (row,) = read_rows(recording, "peaks", "--n", 100, "--stack", STACKS[1], "--stack", STACKS[0])
    assert list(row) == ["suite", "sessions", *(f"{stack} peak_rss_kib" for stack in STACKS[::-1]), DIFFERENCE]
    assert (row["sessions"], row[DIFFERENCE]) == (100, 83.714)


@pytest.mark.thorough
def test_live_heap_is_in_whole_bytes_and_blocks_by_role(recording, snapshot):
    assert tabulate(recording, "--table", "heap", "--stack", STACKS[0]).stdout == snapshot
    rows = read_rows(recording, "heap", "--stack", STACKS[0])
    known = {"client": (9_000, 75_000, 64_000), "server": (9_100, 82_000, 52_000), "pair": (18_100, 146_000, 116_000)}
    assert {row["role"]: tuple(row[key]["bytes"] for key in STAGES) for row in rows} == known
    blocks = {"client": 240, "server": 150, "pair": 390}
    assert {row["role"]: {row[key]["blocks"] for key in (*STAGES, "reply")} for row in rows} == {
        role: {count} for role, count in blocks.items()
    }
    assert [row["peak_phase"] for row in rows] == ["client 1", "server 1", "server 1"]


def test_a_terminal_of_100_columns_shows_each_row_in_one_line(recording, snapshot):
    out = tabulate(recording, "--table", "heap", "--format", "table", columns=100).stdout
    assert out == snapshot
    assert max(map(len, out.splitlines())) <= 100


def test_c10k_is_measured_in_kib_and_mib(recording):
    rows = read_rows(recording, "c10k")
    peak = max(phase.peak_rss_bytes for phase in synthetic.record(STACKS[0], SUITE, 10_000).phases)
    assert rows[0]["peak_rss_kib"] == pytest.approx(peak / 1024, abs=0.001)
    assert rows[0]["peak_rss_mib"] == pytest.approx(peak / 1_048_576, abs=0.001)
    assert rows[0]["origin"] == "measured"


def test_csv_is_values_with_a_column_for_each_part(recording):
    rows = list(csv.DictReader(io.StringIO(tabulate(recording, "--table", "heap", "--format", "csv").stdout)))
    assert rows[0]["established_bytes"] == "64000"
    assert rows[0]["established_blocks"] == "240"
    assert rows[0]["established_over_sessions"] == "450"


def test_a_hole_says_why(tmp_path, snapshot):
    runs = [run for run in synthetic.campaign(STACKS, [SUITE]) if (run.stack, run.sessions) != (STACKS[1], 5000)]
    runs.append(synthetic.failed(STACKS[1], SUITE, 5000, "killed by signal 9 (SIGKILL)"))
    recording = synthetic.write(tmp_path / "recording", runs)
    assert tabulate(recording, "--table", "peaks").stdout == snapshot
    assert {"hole": "failed: killed by signal 9 (SIGKILL)"} in read_rows(recording, "peaks")[2].values()


def test_a_planted_remainder_is_shown_and_named(tmp_path, snapshot):
    runs = [synthetic.record(STACKS[0], SUITE, 100, "heap"), synthetic.record(STACKS[0], SUITE, 1000, "heap", extra=12)]
    recording = synthetic.write(tmp_path / "recording", runs)
    assert tabulate(recording, "--table", "heap").stdout == snapshot
    established = read_rows(recording, "heap")[0]["established"]
    parts = {"bytes": 64_000, "bytes_remainder": 12, "blocks": 240, "blocks_remainder": 0, "over_sessions": 450}
    assert established == parts


@pytest.mark.parametrize("fails", [False, True])
def test_garbage_is_collected_again_once_a_command_has_ended(tmp_path, fails):
    def run(given: argparse.Namespace) -> int:
        assert not gc.isenabled()
        if fails:
            raise ValueError("a reason")
        return 0

    given = argparse.Namespace(recording=tmp_path)
    with pytest.raises(UserError) if fails else nullcontext():
        table_command.run_command(given, run)
    assert gc.isenabled()


def test_the_newest_run_counts(tmp_path):
    fresh = synthetic.record(STACKS[1], SUITE, 100).model_copy(
        update={"stack": STACKS[0], "started_at": "2026-02-01T00:00:00Z"}
    )
    recording = synthetic.write(tmp_path / "recording", [fresh, *synthetic.campaign(STACKS[:1], [SUITE])])
    assert read_rows(recording, "peaks", "--n", 100)[0][f"{STACKS[0]} peak_rss_kib"] == 9_284


@pytest.mark.thorough
def test_windows_and_allocators_have_columns_where_there_are_several(tmp_path):
    windowed = [synthetic.record(STACKS[0], SUITE, n, window=10) for n in synthetic.COUNTS]
    recording = synthetic.write(tmp_path / "recording", [*synthetic.campaign(STACKS, [SUITE]), *windowed])
    assert list(read_rows(recording, "peaks")[0])[:3] == ["suite", "window", "sessions"]
    done = tabulate(recording, "--format", "json")
    assert "law" in [table["name"] for table in json.loads(done.stdout)["tables"]]


def test_the_law_is_checked_at_a_window_that_it_was_not_fitted_to(tmp_path):
    def run(sessions, window):
        """RSS peaks at 1,000,000 + 2,000 N + 3,000 W in the first step, and is off where the law is checked."""
        peak = 1_000_000 + 2_000 * sessions + 3_000 * (sessions // 2 if window == "all" else min(window, sessions // 2))
        shape = synthetic.phase("client 1", synthetic.SHAPES[STACKS[0]], 0, "rss", 0)
        shape["peak_rss_bytes"] = round(peak * {100: 1 / 1.01, 1: 1 / 0.95}.get(window if sessions == 1000 else 0, 1))
        shape |= {"rss_bytes": 4096, "rss_anon_bytes": 4096, "rss_file_bytes": 0}
        return synthetic.record(STACKS[0], SUITE, sessions, window=window, phases=[shape])

    runs = [run(sessions, window) for window in (1, 10, 100, "all") for sessions in (100, 1000)]
    out = tabulate(synthetic.write(tmp_path / "r", runs), "--table", "law", "--format", "csv").stdout
    row = next(csv.DictReader(io.StringIO(out)))
    assert (row["fixed_bytes"], row["kept_bytes"], row["handshake_bytes"]) == ("1000000", "2000.0", "3000.0")
    assert (row["check_error"], row["check_sessions"], row["check_window"]) == ("0.01", "1000", "100")
    assert (row["narrow_error"], row["narrow_window"]) == ("-0.05", "1")


def test_a_torn_last_line_is_told_and_the_rest_is_shown(recording, snapshot):
    with (recording / f"{STACKS[0]}.jsonl").open("a") as file:
        file.write('{"schema":1,"key":"01')
    result = tabulate(recording, "--table", "peaks", "--format", "csv")
    assert result.stderr == snapshot
    assert [row["sessions"] for row in csv.DictReader(io.StringIO(result.stdout))][-1] == "10000"
    assert result.returncode == 1


def test_one_number_of_sessions_has_no_slope(tmp_path, snapshot):
    recording = synthetic.write(tmp_path / "recording", [synthetic.record(STACKS[0], SUITE, 100)])
    result = tabulate(recording)
    assert result.stderr == snapshot(name="stderr")
    assert drop_table_rows(result.stdout) == snapshot(name="tables")
    assert result.returncode == 0


def test_only_failures_are_shown_with_their_reasons(tmp_path, snapshot):
    recording = synthetic.write(tmp_path / "r", [synthetic.failed(STACKS[0], SUITE, 100, "no TLS 1.3", "unsupported")])
    result = tabulate(recording)
    assert result.stderr == snapshot(name="stderr")
    assert drop_table_rows(result.stdout) == snapshot(name="tables")
    assert result.returncode == 1


@pytest.mark.parametrize(
    "arguments",
    [
        "nowhere",
        "recording --stack opensl",
        "recording --suite tls14",
        "recording --n 7",
        "recording --into no.md",
        "empty",
        "empty.jsonl",
    ],
)
def test_an_error_is_one_sentence(recording, arguments, snapshot):
    (recording.parent / "empty").mkdir()
    (recording.parent / "empty.jsonl").write_bytes(b"")
    result = tabulate(*arguments.split(), cwd=recording.parent)
    assert result.stderr == snapshot
    assert len(result.stderr.splitlines()) == 1
    assert (result.stdout, result.returncode) == (
        "",
        1 if arguments == "recording --n 7" else 2,
    )


@pytest.mark.thorough
def test_a_table_is_renewed_where_its_command_stands(recording):
    page = recording.parent / "page.md"
    begin = "# A\n<!-- begin: tools/tls-memtest show tables recording --table c10k -->\n"
    end = "<!-- end -->\n<!-- begin: tools/tls-memtest show tables recording --table heap -->\nkept\n<!-- end -->\n"
    page.write_text(f"{begin}old\n{end}")
    assert tabulate("recording/", "--table", "c10k", "--into", "page.md", cwd=recording.parent).returncode == 0
    table = tabulate("recording/", "--table", "c10k", cwd=recording.parent).stdout
    assert page.read_text() == f"{begin}\n{table}\n{end}"


@pytest.mark.thorough
def test_the_first_rows_come_with_the_command_that_shows_all(recording, tmp_path):
    page = tmp_path / "page.md"
    command = f"tools/tls-memtest show tables {recording} --table heap"
    page.write_text(f"<!-- begin: {command} --rows 4 -->\n<!-- end -->\n")
    assert tabulate(recording, "--table", "heap", "--rows=4", "--into", page).returncode == 0
    rows = [line for line in page.read_text().splitlines() if line.startswith("|")]
    assert len(rows) == 2 + 4
    assert f"\n4 of 6 rows. All of them, with their notes: `{command}`\n" in page.read_text()
    assert len(read_rows(recording, "heap", "--rows", 4)) == 4
    assert "All of them" not in tabulate(recording, "--table", "heap", "--rows", 6).stdout


def test_a_page_without_a_place_is_left_alone(recording, snapshot):
    page = recording.parent / "page.md"
    page.write_text("# A\n")
    result = tabulate("recording", "--into", "page.md", cwd=recording.parent)
    assert result.stderr == snapshot
    assert (page.read_text(), result.returncode) == ("# A\n", 1)


@pytest.fixture
def mixture(tmp_path) -> Path:
    """Together, split, and mixed pairs."""
    runs = [*synthetic.campaign(STACKS, [SUITE]), *synthetic.interop(STACKS, SUITE, (200, 2000, 20000))]
    return synthetic.write(tmp_path / "mixture", runs)


@pytest.mark.thorough
def test_tables_without_rows_are_left_out(recording, mixture):
    names = [
        {table["name"] for table in json.loads(tabulate(one, "--format", "json").stdout)["tables"]}
        for one in (recording, mixture)
    ]
    assert names[1] - names[0] >= {"roles", "interop"} and "deployed" not in names[1]


def test_rows_of_one_process_are_of_no_other(mixture):
    done = tabulate(mixture, "--process", "server", "--format", "json")
    rows = {table["name"]: table["rows"] for table in json.loads(done.stdout)["tables"]}
    assert {"roles", "c10k", "interop"} <= rows.keys() and "rss" not in rows
    assert {row["process"] for of_table in rows.values() for row in of_table} == {"server"}


@pytest.mark.thorough
def test_peers_and_roles_narrow_what_is_shown(mixture):
    assert "server" not in {row["process"] for row in read_rows(mixture, "c10k", "--roles", "together")}
    assert len(read_rows(mixture, "interop")) == 4
    rows = read_rows(mixture, "interop", "--peer", STACKS[1])
    assert [row["peer"] for row in rows] == [STACKS[1], STACKS[0]]
    assert [row["live_established_change"]["bytes"] for row in rows] == [0, 0]


@pytest.mark.parametrize(
    "arguments",
    [
        "--table interop",
        "--table closings",
        "--roles split",
        "--peer openssl@1",
        "--env deployed",
        "--process server",
    ],
)
def test_what_was_not_recorded_is_one_sentence(recording, arguments, snapshot):
    result = tabulate(recording, *arguments.split())
    assert result.stderr == snapshot
    status = 1 if arguments.startswith(("--table", "--process")) else 2
    assert (len(result.stderr.splitlines()), result.stdout, result.returncode) == (1, "", status)


@pytest.mark.thorough
def test_a_full_disk_is_a_sentence_and_a_reader_that_has_seen_enough_nothing(recording):
    said = subprocess.PIPE
    with open("/dev/full", "w") as full:
        done = subprocess.run([*TABULATE, recording], stdout=full, stderr=said, text=True)
    assert (done.returncode, done.stderr) == (1, "memtest: stdout: No space left on device\n")
    read, write = os.pipe()
    os.close(read)
    assert subprocess.run([*TABULATE, recording], stdout=write, stderr=said, text=True).stderr == ""


def test_a_column_that_says_nothing_is_a_sentence_for_people_and_holes_for_programs(snapshot):
    missing = tables.missing_cell("measured once")
    columns = [
        tables.Heading("stack", "stack", True, usual="both"),
        tables.Heading("n", "N"),
        tables.Heading("x", "spread"),
    ]
    made = tables.Table("t", "T", "Of these.", columns, [[tables.text_cell("both"), tables.Cell("1", 1), missing]])
    assert render.markdown(made) == snapshot
    assert render.structure(made)["rows"] == [{"stack": "both", "n": 1, "x": {"hole": "measured once"}}]


def test_one_reason_is_said_once_moves_no_cursor_and_a_table_of_holes_keeps_its_columns():
    why = tables.missing_cell("not \x1b[31m here")
    names = ("stack", "n", "low", "high", "at")
    columns = [tables.Heading(name, name, left=name in ("stack", "at")) for name in names]
    some = tables.Table("t", "T", "Of.", columns, [[tables.text_cell("a"), tables.Cell("1", 1), why, why, why]])
    assert render.drop_silent_columns(some).caption == "Of. No low, high, at: not ?[31m here."
    none = tables.Table("t", "T", "Of.", columns, [[tables.text_cell("a"), *[why] * 4]])
    assert render.drop_silent_columns(none) == none


def test_a_term_of_the_model_that_is_nothing_has_no_sign():
    cells = [memory_model.term_cell(size) for size in (-1e-9, 1e-9, -0.4)]
    assert [(cell.text, repr(cell.value)) for cell in cells] == [("0", "0.0"), ("0", "0.0"), ("0", "-0.4")]
