"""The queries of docs/reference/records.md say what the project's own tools say, to the byte."""

import json
import re
import shutil
import signal
import subprocess
import sys
import time
from collections import Counter
from fractions import Fraction
from pathlib import Path

import pytest

from tlsmem.base.paths import ROOT
from tlsmem.schema import recording_files
from tlsmem.schema.manifest import BadRecording
from tlsmem.schema.records import RecordLine
from tlsmem.stats import session_cost
from tlsmem.store import views
from tlsmem.tables import documented_queries

PAGE = ROOT / "docs/reference/records.md"
LOAD, KEPT, PEAKS, HOLES = (block["text"] for block in documented_queries.QUERY.finditer(PAGE.read_text()))
SHORT = r"^[^:]*: | \(.*"  # what the query leaves out of a reason
SUITES = ("tls12-rsa-aes256", "tls13-rsa-aes256", "tls13-rsa-aes256-pq")


@pytest.fixture(scope="module")
def database():
    with documented_queries.open_database() as opened:
        yield views.define_views(opened, views.find_files(()))


def lines(*marks: str) -> list[tuple[str, bytes]]:
    """Recording and line of all runs that have these."""
    wanted = [mark.encode() for mark in marks]
    recordings = sorted((ROOT / "data").glob("20*"))
    files = [file for recording in recordings for file in recording_files.list_files(recording)]
    found = [(file.parent.name, line) for file in files for _, line in recording_files.read_lines(file)]
    return [(recording, line) for recording, line in found if all(mark in line for mark in wanted)]


def runs(*marks: str) -> list[tuple[str, RecordLine]]:
    return [(recording, RecordLine.model_validate_json(line)) for recording, line in lines(*marks)]


def slopes() -> dict[tuple, dict[str, Fraction]]:
    """Recording, stack and build to bytes by suite: as tables of live heap have them."""
    several: dict[tuple, list[RecordLine]] = {}
    for recording, run in runs(
        '"scenario":"memory"', '"meter":"heap"', '"status":"measured"', '"roles":"split"', '"peer":null'
    ):
        several.setdefault((recording, run.stack, run.binary_sha256[:8], run.suite), []).append(run)
    found: dict[tuple, dict[str, Fraction]] = {}
    for (*build, suite), of_one in several.items():
        small, *_, large = sorted(of_one, key=lambda run: run.sessions)
        servers = [session_cost.phase_of(run, "established", "server").heap.server.live_bytes for run in (small, large)]
        cost = session_cost.cost_per_session(small, large, *servers)
        found.setdefault(tuple(build), {})[suite] = Fraction(cost.amount, cost.sessions)
    return found


@pytest.mark.slow
def test_the_first_is_the_live_heap_of_an_established_server_session_to_the_byte(database):
    found = {row[:3]: dict(zip(SUITES, row[3:], strict=True)) for row in database.sql(KEPT).fetchall()}
    known = {build: {suite: sizes.get(suite) for suite in SUITES} for build, sizes in slopes().items()}
    assert len(found) == 10 and found == {build: known[build] for build in found}
    sizes = sorted(sizes[SUITES[1]] for sizes in known.values() if sizes[SUITES[1]] is not None)
    assert [of[SUITES[1]] for of in found.values()] == sizes[:10]


@pytest.mark.slow
def test_the_second_is_the_largest_peak_of_each_stack_with_its_run(database):
    found = {row[0]: row[1:] for row in database.sql(PEAKS).fetchall()}
    known: dict[str, int] = {}
    said = set()
    asked = ('"meter":"rss"', '"sessions":10000,', '"roles":"together"', '"status":"measured"')
    for recording, run in runs(*asked):
        peak = session_cost.peak_rss(run)
        known[run.stack] = max(peak, known.get(run.stack, 0))
        machine = (recording, run.machine.cpu, run.machine.kernel, run.compiler, run.commit[:12])
        said.add((run.stack, peak, run.suite, run.allocator.name, *machine))
    assert known and {stack: row[0] for stack, row in found.items()} == known
    assert {(stack, *row) for stack, row in found.items()} <= said
    assert list(found) == sorted(found, key=lambda stack: -known[stack])


@pytest.mark.slow
def test_the_third_has_every_run_that_was_not_measured_with_its_reason(database):
    newest: dict[tuple, dict] = {}
    for recording, line in lines('"status":'):
        if re.search(rb'"status":"(unsupported|failed)"', line):
            run = json.loads(line)
            key = (recording, run["key"])
            newest[key] = max(newest.get(key, run), run, key=lambda one: one["started_at"])
    again = {(recording, json.loads(line)["key"]) for recording, line in lines('"status":"measured"') if newest}
    left = [run for key, run in newest.items() if key not in again]
    found = database.sql(HOLES.replace("LIMIT 10;", "")).fetchall()
    assert sum(row[2] for row in found) == len(left) > 0
    for status, why, count, stacks in found:
        alike = [run for run in left if run["status"] == status and re.sub(SHORT, "", run["reason"]) == why]
        assert (count, stacks) == (len(alike), ", ".join(sorted({run["stack"] for run in alike})))


@pytest.mark.thorough
def test_a_torn_line_its_mark_and_a_run_made_again_are_no_further_rows(tmp_path):
    """And a line of 20 MB is one."""
    recording = tmp_path / "data/2026-01-31-a-cpu"
    recording.mkdir(parents=True)
    committed = ROOT / "data/2026-11-21-amd-epyc-2/openssl@3.5.5.jsonl.zst"
    first, second = [line for _, line in recording_files.read_lines(committed) if b'"meter":"heap"' in line][:2]
    again = json.loads(first) | {"started_at": "2027-01-01T00:00:00Z", "reported": "again"}
    long = json.loads(second) | {"reported": "x" * 20_000_000}
    content = [first, first[:500], b'{"record":"torn"}', json.dumps(again).encode(), json.dumps(long).encode()]
    (recording / "some.jsonl").write_bytes(b"\n".join([*content, second[:99]]))
    with documented_queries.open_database(tmp_path) as database:
        database.sql(LOAD)
        found = database.sql("SELECT recording, key, length(reported) FROM lines ORDER BY key").fetchall()
    known = [(again, 5), (long, 20_000_000)]
    assert found == sorted(("2026-01-31-a-cpu", run["key"], length) for run, length in known)


def ran(page: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, ROOT / "tools/tls-memtest", "data", "sql", "--into", page],
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.mark.slow
def test_a_page_is_written_anew_with_what_its_queries_find(tmp_path):
    page = Path(shutil.copy(PAGE, tmp_path))
    whole = page.read_text()
    counts = Counter(re.findall(r"^\| (?:unsupported|failed) .*", whole, re.MULTILINE))
    page.write_text(re.sub(r"(?<=\n```\n\n)(\| status .*\n\|.*\n)(\|.*\n)+", r"\1| stale |\n", whole))
    assert "stale" in page.read_text() and counts
    assert (done := ran(page)).returncode == 0, done.stderr
    assert page.read_text() == ran_text(whole, tmp_path)


def ran_text(whole: str, folder: Path) -> str:
    """What the page becomes where it was not stale."""
    (folder / "fresh.md").write_text(whole)
    assert ran(folder / "fresh.md").returncode == 0
    return (folder / "fresh.md").read_text()


@pytest.mark.thorough
@pytest.mark.parametrize(
    "text",
    [
        "# Nothing\n",
        "```sql\nSELECT stak FROM 'data/*/null.jsonl'\n```\n",
        "```sql\n-- later\n```\n\n| x |\n",
        "```sql\n\n\nSELEC '\x1b[31m';\n```\n",
        "```sql\nSELEC 1;\n```\n\n| x |\n",
    ],
    ids=["no query", "no such file", "a comment alone", "escape sequence", "no SQL"],
)
def test_what_cannot_be_asked_is_one_sentence_and_changes_nothing(tmp_path, text, snapshot):
    page = tmp_path / "page.md"
    page.write_text(text)
    refused = ran(page)
    assert refused.returncode == 1 and refused.stdout == "" and refused.stderr.count("\n") == 1
    assert re.sub(r"(?<= Error: ).*", "", refused.stderr) == snapshot  # the rest is DuckDB's words
    assert page.read_text() == text


def test_a_page_that_is_not_there_is_one_sentence(tmp_path):
    refused = ran(tmp_path / "none.md")
    assert refused.returncode == 2 and refused.stderr.startswith(f"memtest: --into {tmp_path / 'none.md'}: there is no")
    assert refused.stderr.count("\n") == 1


@pytest.mark.thorough
def test_an_interrupt_ends_a_query_without_a_traceback_and_changes_nothing(tmp_path):
    """While it runs: the query before it has left a file."""
    page, mark = tmp_path / "page.md", tmp_path / "begun.csv"
    long = "SELECT count(*) FROM range(1000000000000) a(x) WHERE x % 7 = 3;"
    text = f"```sql\nCOPY (SELECT 1) TO '{mark}';\n```\n\n```sql\n{long}\n```\n\n| x |\n"
    page.write_text(text)
    asked = subprocess.Popen(
        [sys.executable, ROOT / "tools/tls-memtest", "data", "sql", "--into", page], stderr=subprocess.PIPE, text=True
    )
    while not mark.exists() and asked.poll() is None:
        time.sleep(0.05)
    time.sleep(0.2)
    asked.send_signal(signal.SIGINT)
    try:
        assert (asked.communicate(timeout=10)[1], asked.returncode) == ("", -signal.SIGINT)
    finally:
        asked.kill()
    assert page.read_text() == text and {*tmp_path.iterdir()} == {page, mark}


def test_a_recording_of_configurations_has_no_table_and_stops_no_query_of_others():
    name = "2026-11-28-amd-epyc-p0457-configuration"
    assert (ROOT / "data" / name).is_dir()
    assert not any(name in file.parts for file in views.find_files(()))
    with pytest.raises(BadRecording, match=f"{name}: has measurements of configurations only.*measure configuration"):
        views.find_files([name])
