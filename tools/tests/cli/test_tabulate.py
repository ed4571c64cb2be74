"""The tables of a synthetic recording: what they say, their holes, and what a user who errs is told."""

# ruff: noqa: E501 tables are as wide as they are

import csv
import io
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support import forked_command, synthetic
from tlsmem.base.paths import ROOT
from tlsmem.tables import render
from tlsmem.tables import table as tables

TABULATE = ROOT / "tools/tabulate.py"
STACKS = ("openssl@3.5.5", "rustls+aws-lc@0.23.46")
SUITE = "tls13-rsa-aes256"


def tabulate(*arguments: object, cwd: Path | None = None, columns: int = 300) -> subprocess.CompletedProcess:
    command = [sys.executable, TABULATE, *map(str, arguments)]
    return forked_command.run(command, cwd=cwd, env=os.environ | {"COLUMNS": str(columns)})


@pytest.fixture
def recording(tmp_path) -> Path:
    return synthetic.write(tmp_path / "recording", synthetic.campaign(STACKS, [SUITE]))


def test_peaks_stand_side_by_side(recording):
    assert (
        """
| suite            |      N | openssl@3.5.5 KiB | rustls+aws-lc@0.23.46 KiB | rustls+aws-lc@0.23.46 against openssl@3.5.5 |
| ---------------- | -----: | ----------------: | ------------------------: | ------------------------------------------: |
| tls13-rsa-aes256 |    100 |            17,056 |                     9,284 |                                     -45.6 % |
| tls13-rsa-aes256 |  1,000 |            87,632 |                    19,148 |                                     -78.1 % |
"""
        in tabulate(recording, "--table", "peaks").stdout
    )


def test_the_first_stack_named_is_what_others_are_compared_with(recording):
    out = tabulate(recording, "--table", "peaks", "--n", 100, "--stack", STACKS[1], "--stack", STACKS[0]).stdout
    assert "openssl@3.5.5 against rustls+aws-lc@0.23.46" in out
    assert "+83.7 %" in out
    assert "1,000" not in out


def test_live_heap_is_in_whole_bytes_and_blocks_by_role(recording):
    assert (
        """
| suite            | stack         | role   |      created |   at the peak | peak in  |   established | after 1 KiB each way |
| ---------------- | ------------- | ------ | -----------: | ------------: | -------- | ------------: | -------------------: |
| tls13-rsa-aes256 | openssl@3.5.5 | client |  9,000 (240) |  75,000 (240) | client 1 |  64,000 (240) |         64,000 (240) |
| tls13-rsa-aes256 | openssl@3.5.5 | server |  9,100 (150) |  82,000 (150) | server 1 |  52,000 (150) |         52,000 (150) |
| tls13-rsa-aes256 | openssl@3.5.5 | pair   | 18,100 (390) | 146,000 (390) | server 1 | 116,000 (390) |        116,000 (390) |
"""
        in tabulate(recording, "--table", "heap", "--stack", STACKS[0]).stdout
    )


def test_a_terminal_of_100_columns_shows_each_row_in_one_line(recording):
    lines = tabulate(recording, "--table", "heap", "--format", "table", columns=100).stdout.splitlines()
    assert " tls13-rsa-aes256" in [line.rstrip() for line in lines]
    row = "rustls+aws-lc@0.23.46 pair 12,000 (100) 20,400 (100) server 1 15,600 (100) 15,600 (100)"
    assert row in [" ".join(line.split()) for line in lines]
    assert max(map(len, lines)) <= 100


def test_c10k_is_measured_in_kib_and_mib(recording):
    rows = json.loads(tabulate(recording, "--table", "c10k", "--format", "json").stdout)["tables"][0]["rows"]
    peak = max(phase.peak_rss_bytes for phase in synthetic.record(STACKS[0], SUITE, 10_000).phases)
    assert rows[0]["peak_rss_kib"] == pytest.approx(peak / 1024, abs=0.001)
    assert rows[0]["peak_rss_mib"] == pytest.approx(peak / 1_048_576, abs=0.001)
    assert rows[0]["origin"] == "measured"


def test_csv_is_values_with_a_column_for_each_part(recording):
    rows = list(csv.DictReader(io.StringIO(tabulate(recording, "--table", "heap", "--format", "csv").stdout)))
    assert rows[0]["established_bytes"] == "64000"
    assert rows[0]["established_blocks"] == "240"
    assert rows[0]["established_over_sessions"] == "450"


def test_a_hole_says_why(tmp_path):
    runs = [run for run in synthetic.campaign(STACKS, [SUITE]) if (run.stack, run.sessions) != (STACKS[1], 5000)]
    runs.append(synthetic.failed(STACKS[1], SUITE, 5000, "killed by signal 9 (SIGKILL)"))
    recording = synthetic.write(tmp_path / "recording", runs)
    result = tabulate(recording, "--table", "peaks")
    assert "–" in result.stdout
    assert "¹ failed: killed by signal 9 (SIGKILL)" in result.stdout
    rows = json.loads(tabulate(recording, "--table", "peaks", "--format", "json").stdout)["tables"][0]["rows"]
    assert {"hole": "failed: killed by signal 9 (SIGKILL)"} in rows[2].values()


def test_a_planted_remainder_is_shown_and_named(tmp_path):
    runs = [synthetic.record(STACKS[0], SUITE, 100, "heap"), synthetic.record(STACKS[0], SUITE, 1000, "heap", extra=12)]
    out = tabulate(synthetic.write(tmp_path / "recording", runs), "--table", "heap").stdout
    assert "64,000 + 12/450 (240) ¹" in out
    assert "¹ a + r/n: r bytes or blocks are left over n sessions" in out


def test_the_newest_run_counts(tmp_path):
    fresh = synthetic.record(STACKS[1], SUITE, 100).model_copy(
        update={"stack": STACKS[0], "started_at": "2026-02-01T00:00:00Z"}
    )
    recording = synthetic.write(tmp_path / "recording", [fresh, *synthetic.campaign(STACKS[:1], [SUITE])])
    assert "9,284" in tabulate(recording, "--table", "peaks", "--n", 100).stdout


def test_windows_and_allocators_have_columns_where_there_are_several(tmp_path):
    windowed = [synthetic.record(STACKS[0], SUITE, n, window=10) for n in synthetic.COUNTS]
    recording = synthetic.write(tmp_path / "recording", [*synthetic.campaign(STACKS, [SUITE]), *windowed])
    out = tabulate(recording, "--table", "peaks").stdout
    assert "| suite            | window |      N |" in out
    assert "**The law of memory**" in tabulate(recording).stdout


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


def test_a_torn_last_line_is_told_and_the_rest_is_shown(recording):
    with next(recording.glob("*.jsonl")).open("a") as file:
        file.write('{"schema":1,"key":"01')
    result = tabulate(recording, "--table", "peaks")
    assert "was cut off while it was written" in result.stderr and "10,000" in result.stdout
    assert result.returncode == 1


def test_one_number_of_sessions_has_no_slope(tmp_path):
    recording = synthetic.write(tmp_path / "recording", [synthetic.record(STACKS[0], SUITE, 100)])
    result = tabulate(recording)
    assert "only N = 100 was measured and a slope needs two" in result.stderr
    assert "a total divided by N is not a slope" in result.stdout
    assert result.returncode == 0


def test_only_failures_are_shown_with_their_reasons(tmp_path):
    recording = synthetic.write(tmp_path / "r", [synthetic.failed(STACKS[0], SUITE, 100, "no TLS 1.3", "unsupported")])
    result = tabulate(recording)
    assert "no run was measured; the tables show why" in result.stderr
    assert "¹ unsupported: no TLS 1.3" in result.stdout
    assert result.returncode == 1


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["nowhere"], "nowhere: there is no such recording"),
        (["recording", "--stack", "opensl"], "no runs of the stack opensl; there are: openssl@3.5.5"),
        (["recording", "--suite", "tls14"], "no runs of the suite tls14; there are: tls13-rsa-aes256"),
        (["recording", "--n", "7"], "no RSS runs of N = 7; there are: 100, 1000, 5000, 10000"),
        (["recording", "--into", "no.md"], "no.md: No such file or directory"),
        (["empty"], "empty"),
        (["empty.jsonl"], "empty.jsonl: the recording is empty"),
    ],
)
def test_an_error_is_one_sentence(recording, arguments, sentence):
    (recording.parent / "empty").mkdir()
    (recording.parent / "empty.jsonl").write_bytes(b"")
    result = tabulate(*arguments, cwd=recording.parent)
    assert sentence in result.stderr
    assert len(result.stderr.splitlines()) == 1
    assert (result.stdout, result.returncode) == ("", 1)


def test_a_table_is_renewed_where_its_command_stands(recording):
    page = recording.parent / "page.md"
    other = "<!-- begin: tools/tabulate.py recording --table heap -->\nkept\n<!-- end -->\n"
    page.write_text(f"# A\n<!-- begin: tools/tabulate.py recording --table c10k -->\nold\n<!-- end -->\n{other}")
    assert tabulate("recording/", "--table", "c10k", "--into", "page.md", cwd=recording.parent).returncode == 0
    text = page.read_text()
    assert text.startswith("# A\n<!-- begin: tools/tabulate.py recording --table c10k -->\n\n**C10K figure**")
    assert text.endswith(f"\n<!-- end -->\n{other}")
    assert "old" not in text


def test_a_page_without_a_place_is_left_alone(recording):
    page = recording.parent / "page.md"
    page.write_text("# A\n")
    result = tabulate("recording", "--into", "page.md", cwd=recording.parent)
    assert "page.md has no place for this table" in result.stderr
    assert (page.read_text(), result.returncode) == ("# A\n", 1)


@pytest.fixture
def mixture(tmp_path) -> Path:
    """Together, split, and mixed pairs."""
    runs = [*synthetic.campaign(STACKS, [SUITE]), *synthetic.interop(STACKS, SUITE, (200, 2000, 20000))]
    return synthetic.write(tmp_path / "mixture", runs)


def test_tables_without_rows_are_left_out(recording, mixture):
    for title in ("RSS per session, by role", "Mixed pairs"):
        assert f"**{title}**" in tabulate(mixture).stdout and title not in tabulate(recording).stdout
    assert "As deployed" not in tabulate(mixture).stdout


def test_rows_of_one_process_are_of_no_other(mixture):
    done = tabulate(mixture, "--process", "server", "--format", "json")
    rows = {table["name"]: table["rows"] for table in json.loads(done.stdout)["tables"]}
    assert {"roles", "c10k", "interop"} <= rows.keys() and "rss" not in rows
    assert {row["process"] for of_table in rows.values() for row in of_table} == {"server"}


def test_peers_and_roles_narrow_what_is_shown(mixture):
    out = tabulate(mixture, "--table", "c10k", "--roles", "together").stdout
    assert "10,000 servers" not in out
    rows = json.loads(tabulate(mixture, "--table", "interop", "--format", "json").stdout)["tables"][0]["rows"]
    assert len(rows) == 4
    alone = tabulate(mixture, "--peer", STACKS[1], "--table", "interop", "--format", "json").stdout
    rows = json.loads(alone)["tables"][0]["rows"]
    assert [row["peer"] for row in rows] == [STACKS[1], STACKS[0]]
    assert [row["live_established_change"]["bytes"] for row in rows] == [0, 0]


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["--table", "interop"], "no table interop of these runs: it needs mixed pairs (make mem CLIENT="),
        (["--table", "closings"], "it needs sites runs, which are of the laboratory and the system's allocator"),
        (["--roles", "split"], "no runs of roles split; there are: together"),
        (["--peer", "openssl@1"], "no runs of the peer openssl@1; there are: itself"),
        (["--env", "deployed"], "no runs of the environment deployed; there are: lab"),
        (["--process", "server"], "none of these tables has a row of the process server"),
    ],
)
def test_what_was_not_recorded_is_one_sentence(recording, arguments, sentence):
    result = tabulate(recording, *arguments)
    assert sentence in result.stderr
    assert (len(result.stderr.splitlines()), result.stdout, result.returncode) == (1, "", 1)


def test_a_full_disk_is_a_sentence_and_a_reader_that_has_seen_enough_nothing(recording):
    said = subprocess.PIPE
    with open("/dev/full", "w") as full:
        done = subprocess.run([TABULATE, recording], stdout=full, stderr=said, text=True)
    assert (done.returncode, done.stderr) == (1, "memtest: stdout: No space left on device\n")
    read, write = os.pipe()
    os.close(read)
    assert subprocess.run([TABULATE, recording], stdout=write, stderr=said, text=True).stderr == ""


def test_a_column_that_says_nothing_is_a_sentence_for_people_and_holes_for_programs():
    missing = tables.missing_cell("measured once")
    columns = [
        tables.Column("stack", "stack", True, usual="both"),
        tables.Column("n", "N"),
        tables.Column("x", "spread"),
    ]
    made = tables.Table("t", "T", "Of these.", columns, [[tables.text_cell("both"), tables.Cell("1", 1), missing]])
    assert "Of these. No spread: measured once." in render.markdown(made) and "both" not in render.markdown(made)
    assert render.structure(made)["rows"] == [{"stack": "both", "n": 1, "x": {"hole": "measured once"}}]


def test_one_reason_is_said_once_moves_no_cursor_and_a_table_of_holes_keeps_its_columns():
    why = tables.missing_cell("not \x1b[31m here")
    names = ("stack", "n", "low", "high", "at")
    columns = [tables.Column(name, name, left=name in ("stack", "at")) for name in names]
    some = tables.Table("t", "T", "Of.", columns, [[tables.text_cell("a"), tables.Cell("1", 1), why, why, why]])
    assert render.drop_silent_columns(some).caption == "Of. No low, high, at: not ?[31m here."
    none = tables.Table("t", "T", "Of.", columns, [[tables.text_cell("a"), *[why] * 4]])
    assert render.drop_silent_columns(none) == none
