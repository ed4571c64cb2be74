"""Queries of recordings, and their tables as files."""

import csv
import io
import json
import signal
import subprocess
import sys
import time

import duckdb
import pytest

from tests.support import planted
from tests.support.forked_command import run
from tlsmem.base.paths import ROOT
from tlsmem.config.choices import QUERY_TABLES
from tlsmem.store import views
from tlsmem.store.column_meanings import MEANINGS
from tlsmem.tables import documented_queries, render, sql_answers

TOOL = ROOT / "tools/tls-memtest"
PAGE = ROOT / "docs/how-to/query.md"
COLUMNS = ROOT / "docs/reference/tables.md"


@pytest.fixture(scope="module")
def recording(tmp_path_factory):
    runs = planted.counted(temporary=planted.TEMPORARY, momentary=planted.MOMENTARY)
    return planted.write(tmp_path_factory.mktemp("queries") / "2026-01-31-a-cpu", runs)


@pytest.fixture
def ask(recording, tmp_path):
    def ask(query: str, *options: object, recordings: tuple[object, ...] = (recording,)):
        return run([sys.executable, TOOL, "data", "sql", query, *recordings, *options], cwd=tmp_path)

    return ask


BAD = {
    "column": ("select stak from runs", "did you mean stack"),
    "column of an alias": ("from runs r select r.stak", "did you mean stack"),
    "table": ("select * from rnus", "did you mean runs?"),
    "function": ("select rond(1.5)", 'did you mean "round"?'),
    "syntax": ("selec 1", 'syntax error at or near "selec"'),
    "syntax later": ("select * form runs", "lists the tables and their columns"),
    "ambiguous": ("select process from phases join blocks using (run)", "ambiguous"),
    "time": ("select started_at::timestamptz from runs", "cast it to TIMESTAMP"),
    "value": ("select suite::int from runs", "tls13-rsa-aes256"),
    "two": ("select 1; select 2", "2 statements"),
    "none": ("-- nothing", "0 statements"),
    "empty": (" ", "QUERY is empty"),
    "no such recording": ("select 1", "no such recording"),
    "recording first": (planted.__file__, "is a recording: put the query before it"),
    "escape sequence": ("select '\x1b[31m' from rnus where", "syntax error"),
}


QUICK = ("column", "table", "two")  # the others are found wrong by the same two functions


@pytest.mark.parametrize("case", [pytest.param(one, marks=[] if one in QUICK else pytest.mark.thorough) for one in BAD])
def test_what_cannot_be_asked_is_one_sentence_with_a_way_out(ask, recording, case):
    query, said = BAD[case]
    refused = ask(
        str(recording) if case == "recording first" else query,
        recordings=("nosuch",) if case == "no such recording" else (recording,),
    )
    assert (refused.returncode, refused.stdout, refused.stderr.count("\n")) == (2, "", 1)
    assert said in refused.stderr and "\x1b" not in refused.stderr


@pytest.mark.parametrize("end", ["", ".jsonl.zst"])
def test_a_query_may_be_longer_than_a_file_s_name(ask, end):
    answer = ask(f"select count(*) as runs from runs -- {'x' * 300}{end}")
    assert (answer.returncode, answer.stderr) == (0, "") and "3" in answer.stdout


def test_a_name_that_is_too_long_is_no_recording(ask):
    refused = ask("select 1", recordings=("x" * 300,))
    assert (refused.returncode, refused.stderr.count("\n")) == (2, 1) and "no such recording" in refused.stderr


QUERIES = [
    "copy (select 1) to 'written.csv'",
    "attach 'written.db'",
    "set enable_external_access = true",
    "from 'secret.csv'",
]
MORE_QUERIES = [
    "create table x as select 1",
    "insert into store.files values ('a', 'b', 'c')",
    "drop view runs",
    "install httpfs",
    "explain analyze copy (select 1) to 'written.csv'",
    "export database 'written'",
    "select * from read_csv('secret.csv')",
    "select * from read_text('secret.csv')",
    "select * from glob('*')",
]


@pytest.mark.parametrize("query", [*QUERIES, *(pytest.param(one, marks=pytest.mark.thorough) for one in MORE_QUERIES)])
def test_a_query_writes_nothing_and_reads_no_other_files(ask, tmp_path, query):
    (tmp_path / "secret.csv").write_text("secret\n42\n")
    refused = ask(query)
    assert (refused.returncode, refused.stdout) == (2, "") and refused.stderr.count("\n") == 1
    assert [one.name for one in tmp_path.iterdir()] == ["secret.csv"]


QUERY = "select meter, sessions, [1, 2] as list, allocator, null as nothing from runs order by all limit 1"


@pytest.mark.thorough
def test_rows_are_a_table_of_markdown_in_a_pipe(ask, snapshot):
    assert ask("select meter, sessions from runs order by all").stdout == snapshot


@pytest.mark.thorough
def test_rows_are_csv(ask):
    names, row = csv.reader(io.StringIO(ask(QUERY, "--format", "csv").stdout))
    assert names == ["meter", "sessions", "list", "allocator", "nothing"]
    assert row[:3] == ["heap", "20", "[1, 2]"] and json.loads(row[3])["name"] == "system" and row[4] == ""


@pytest.mark.thorough
def test_rows_are_json_in_the_form_of_other_answers(ask):
    [table] = json.loads(ask(QUERY, "--format", "json").stdout)["tables"]
    [row] = table["rows"]
    assert (row["sessions"], row["list"], row["allocator"]["name"], row["nothing"]) == (20, [1, 2], "system", None)
    assert json.loads(ask("select 1 where false", "--format", "json").stdout)["tables"][0]["rows"] == []
    assert '"x": null' in ask("select 'inf'::double as x", "--format", "json").stdout


def test_two_columns_of_one_name_are_no_json(ask):
    refused = ask("select 1 as a, 2 as a", "--format", "json")
    assert refused.returncode == 2 and "two columns are named a" in refused.stderr


@pytest.mark.thorough
def test_text_of_a_library_moves_no_cursor(ask):
    for form in ("csv", "json", "markdown", "table"):
        assert "\x1b" not in ask("select chr(27) || '[31m' as text", "--format", form).stdout


@pytest.mark.thorough
def test_a_file_has_the_rows_or_is_not_there(ask, tmp_path):
    assert ask("select run from runs", "-o", "rows.csv").returncode == 0
    assert (tmp_path / "rows.csv").read_text().count("\n") == 4
    late = "select case when run like '%:3' then suite::int end from runs order by run"
    assert ask(late, "-o", "late.csv").returncode == 2
    assert [one.name for one in tmp_path.iterdir()] == ["rows.csv"]


@pytest.mark.thorough
def test_an_interrupt_ends_a_query_without_a_traceback_and_leaves_no_file(recording, tmp_path):
    """While it runs: the file of -o is there already, under another name."""
    endless = "SELECT count(*) FROM range(1000000000000) a(x) WHERE x % 7 = 3"
    words = [sys.executable, TOOL, "data", "sql", endless, recording, "-o", tmp_path / "rows.csv"]
    asked = subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    while not any(tmp_path.iterdir()) and asked.poll() is None:
        time.sleep(0.05)
    time.sleep(2)
    asked.send_signal(signal.SIGINT)
    try:
        assert (asked.communicate(timeout=30), asked.returncode) == (("", ""), -signal.SIGINT)
    finally:
        asked.kill()
    assert not any(tmp_path.iterdir())


@pytest.mark.thorough
def test_a_result_goes_below_its_command_on_a_page(ask, recording, tmp_path):
    page = tmp_path / "page.md"
    query = "select count(*) as runs from runs"
    page.write_text(f"<!-- begin: tools/tls-memtest data sql '{query}' {recording} -->\n<!-- end -->\n")
    assert ask(query, "--into", page).returncode == 0
    assert "|    3 |" in page.read_text()


def test_without_a_query_every_table_and_column_is_listed():
    listed = run([sys.executable, TOOL, "data", "sql", "--format", "json"])
    tables = json.loads(listed.stdout)["tables"]
    assert {one["name"]: [row["column"] for row in one["rows"]] for one in tables} == {
        name: [*meanings] for name, meanings in MEANINGS.items()
    }
    assert all(row["type"] and row["meaning"] for one in tables for row in one["rows"])


def test_the_page_of_columns_is_what_the_command_lists():
    """The names are a promise: a change of one is a change of this page."""
    assert render.format_tables(sql_answers.list_tables(), "markdown") in COLUMNS.read_text()


@pytest.mark.thorough
@pytest.mark.parametrize("form", ["parquet", "csv"])
def test_exported_files_have_the_rows_of_the_tables(recording, tmp_path, form):
    target = tmp_path / "new/tables"
    done = run([sys.executable, TOOL, "data", "export", recording, "--format", form, "-o", target])
    assert done.returncode == 0, done.stderr
    assert {one.name for one in target.iterdir()} == {f"{name}.{form}" for name in QUERY_TABLES}
    known = views.read(recording)
    for name in QUERY_TABLES:
        found = duckdb.sql(f"FROM '{target / name}.{form}'")
        rows = known.sql(f"FROM {name}")
        assert found.columns == rows.columns
        if form == "parquet":
            assert found.types == rows.types and sorted(map(str, found.fetchall())) == sorted(map(str, rows.fetchall()))
        else:
            assert found.aggregate("count(*)").fetchall() == [(len(rows.fetchall()),)]


@pytest.mark.thorough
def test_an_export_replaces_files_of_its_names_and_no_others(recording, tmp_path):
    for name in ("runs.csv", "mine.csv"):
        (tmp_path / name).write_text("mine\n")
    words = ["data", "export", recording, "--table", "runs", "--format", "csv", "-o", tmp_path]
    assert run([sys.executable, TOOL, *words]).returncode == 0
    assert {one.name for one in tmp_path.iterdir()} == {"runs.csv", "mine.csv"}
    assert (tmp_path / "runs.csv").read_text().startswith("recording,run,")
    assert (tmp_path / "mine.csv").read_text() == "mine\n"


def test_an_export_that_fails_leaves_no_file(recording, tmp_path):
    damaged = planted.write(tmp_path / "2026-02-01-bad", [planted.run("heap", 20)])
    file = damaged / f"{planted.STACK}.jsonl"
    file.write_bytes(file.read_bytes().replace(b'"sessions":20,', b'"sessions":2,'))
    refused = run([sys.executable, TOOL, "data", "export", recording, damaged, "-o", tmp_path / "out"])
    assert refused.returncode == 2 and str(file) in refused.stderr and refused.stderr.count("\n") == 1
    assert {one.name for one in tmp_path.iterdir()} == {damaged.name}


def test_an_export_into_a_file_is_refused(recording, tmp_path):
    (tmp_path / "file").touch()
    refused = run([sys.executable, TOOL, "data", "export", recording, "-o", tmp_path / "file"])
    assert refused.returncode == 2 and refused.stderr.count("\n") == 1


def queries() -> list[str]:
    return [block["text"] for block in documented_queries.QUERY.finditer(PAGE.read_text())]


@pytest.fixture(scope="module")
def repository():
    return views.read()


@pytest.mark.slow
def test_the_page_has_the_results_of_its_five_queries(repository):
    text = PAGE.read_text()
    assert len(queries()) == 5
    assert documented_queries.answer_queries(text, repository.connection) == text


@pytest.mark.slow
def test_the_first_query_has_the_figures_of_the_table(repository):
    words = ["--table", "stacks", "--suite", "tls13-rsa-aes256", "--campaign", "stacks", "--format", "json"]
    shown = run([sys.executable, TOOL, "show", "tables", ROOT / "data/2026-11-22-amd-epyc", *words])
    rows = [row for one in json.loads(shown.stdout)["tables"] for row in one["rows"] if row["role"] == "server"]
    sizes = {row["stack"]: row["established"] for row in rows}
    known = {
        stack: size["bytes"] + size["bytes_remainder"] / size["over_sessions"]
        for stack, size in sizes.items()
        if "hole" not in size
    }
    found = dict(repository.sql(queries()[0].replace("LIMIT 10", "")).fetchall())
    assert len(known) > 10 and {stack: found[stack] for stack in known} == pytest.approx(known)


@pytest.mark.slow
def test_live_heap_and_rss_in_use_are_those_of_cost(repository):
    found = {stack: row for stack, *row in repository.sql(queries()[3].replace("LIMIT 10", "")).fetchall()}
    words = ["cost", "openssl@3.5.5", "boringssl@5.4.0", "--role", "server", "--format", "json"]
    [table] = json.loads(run([sys.executable, TOOL, *words]).stdout)["tables"]
    known = [row for row in table["rows"] if row["configuration"] == "default"]
    assert len(known) == 2
    for row in known:
        live, rss, _ = found[row["stack"]]
        assert row["recording"] == "data/2026-11-26-amd-epyc-p355e"
        assert (live, rss) == (round(row["live_heap_in_use_bytes"]), round(row["rss_in_use_bytes"]))
