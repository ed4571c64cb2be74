"""The report: its tables by known answers, what is said where there are none, and a page that nothing can take over."""

import base64
import csv
import hashlib
import html
import io
import json
import re
import shutil
import sys
from html.parser import HTMLParser
from pathlib import Path

import numpy as np
import pytest
from matplotlib import pyplot

from tests.support import commands, forked_command, synthetic, synthetic_timed
from tests.support.in_use import recorded
from tests.support.packed_table import read_texts, unpack
from tests.support.reports import MACHINE, read, text_page
from tlsmem.base.paths import ROOT
from tlsmem.plots.line_labels import HALO
from tlsmem.report import (
    build_report,
    differing_settings,
    embedded_pictures,
    inventory_section,
    page,
    recordings,
    table_html,
)
from tlsmem.report.recordings import letters
from tlsmem.report.sections import Picture, Section, ShownTable, identifier
from tlsmem.schema import records
from tlsmem.store import read_runs
from tlsmem.tables import render
from tlsmem.tables.table import Heading, Table, missing_cell, text_cell

OPENSSL, RUSTLS = "openssl@3.5.5", "rustls+aws-lc@0.23.46"
SUITE = "tls13-rsa-aes256"
WICKED = '</script><script>document.title="taken"</script><!-- <img src=x onerror=alert(1)> & "quoted" \'too\''


def rows(table: Table) -> list[dict]:
    keys = [column.key for column in table.columns]
    return [dict(zip(keys, row, strict=True)) for row in table.rows]


def row(table: Table, **wanted: str) -> dict:
    (found,) = (one for one in rows(table) if all(one[key].text == text for key, text in wanted.items()))
    return found


def tables(read) -> dict[str, Table]:
    return {shown.table.name: shown.table for section in build_report.sections(read) for shown in section.tables}


def run(*arguments, **kind):
    return forked_command.run(
        [sys.executable, ROOT / "tools/tls-memtest", "show", "report", *map(str, arguments)], **kind
    )


@pytest.fixture(scope="module")
def two(tmp_path_factory):
    return read(tmp_path_factory.mktemp("two"), synthetic.campaign([OPENSSL, RUSTLS], [SUITE]))


@pytest.mark.thorough
def test_live_heap_is_exact_by_role_and_stage(two):
    found = row(tables(two)["cost-heap"], stack=OPENSSL, role="server")
    assert [found[key].text for key in ("sessions", "peak", "peak_phase", "established", "closed")] == [
        "9,100 (150)",
        "82,000 (150)",
        "server 1",
        "52,000 (150)",
        "0 (0)",
    ]


def test_rss_is_the_pairs_slope_and_a_roles_where_it_has_a_process(tmp_path):
    together, split = (synthetic.campaign([OPENSSL], [SUITE], roles=roles) for roles in ("together", "split"))
    (found,) = read(tmp_path, together + split)
    table = tables([found])["cost-rss"]
    pair = row(table, roles="together", role="pair")
    assert round(pair["established"].value["bytes"], -3) == round((64_000 + 52_000) * 1.1, -3)
    alone = row(table, roles="together", role="client")
    assert alone["established"].value is None and "ROLES=split" in alone["established"].note
    server = row(table, roles="split", role="server")
    assert abs(server["established"].value["bytes"] - 52_000 * 1.1) < 4096


def test_one_n_has_quotients_marked_and_no_slope(tmp_path, snapshot):
    found = read(tmp_path, synthetic.campaign([OPENSSL], [SUITE], counts=(200,)))
    made = tables(found)
    heap = row(made["cost-heap"], role="client")["established"]
    assert heap.text == "≈ 64,000" and heap.value == {"bytes": 64_000.0, "quotient": True}
    assert heap.note == snapshot(name="note")
    rss = row(made["cost-rss"], role="pair")["established"]
    assert rss.text.startswith("≈ ") and rss.note == heap.note
    warnings = list(inventory_section.warnings(found))
    assert warnings == snapshot(name="warnings")
    assert all(html.escape(said) in text_page(found) for said in warnings)


def test_nothing_but_failures_is_a_page_that_says_so(tmp_path, snapshot):
    failures = [synthetic.failed(OPENSSL, SUITE, n, "killed by SIGKILL: no word on stderr") for n in (100, 1000)]
    found = read(tmp_path, failures)
    text, warnings = text_page(found), list(inventory_section.warnings(found))
    assert warnings == snapshot
    assert warnings and all(html.escape(said) in text for said in warnings)
    gone = row(tables(found)["without"], stack=OPENSSL)
    assert (gone["status"].text, gone["runs"].value, gone["suites"].text) == ("failed", 2, SUITE)
    assert all(cell.note for one in tables(found)["cost-heap"].rows for cell in one if cell.text == "–")


def test_a_stack_that_cannot_do_a_suite_says_why_in_its_row(tmp_path):
    runs = synthetic.campaign([OPENSSL, RUSTLS], [SUITE])
    kinds = [("rss", n) for n in synthetic.COUNTS] + [("heap", n) for n in synthetic.COUNTS[:2]]
    runs += [synthetic.failed(RUSTLS, "tls12-rsa-aes256", n, "has no TLSv1.2", "unsupported", m) for m, n in kinds]
    found = read(tmp_path, runs)
    cells = row(tables(found)["cost-heap"], stack=RUSTLS, suite="tls12-rsa-aes256", role="client")
    assert (cells["established"].text, cells["established"].note) == ("–", "unsupported: has no TLSv1.2")
    packed = unpack(table_html.html_table(ShownTable(tables(found)["cost-heap"], "command")).packed)
    assert "unsupported: has no TLSv1.2" in packed["notes"]


def test_machines_are_told_apart_and_rows_say_which(tmp_path):
    here = synthetic.campaign([OPENSSL, RUSTLS], [SUITE])
    there = [one.model_copy(update={"machine": one.machine.model_copy(update=MACHINE)}) for one in here[:12]]
    mixed = read(tmp_path, here, there)
    assert [one.machine for one in mixed] == ["A", "B"]
    assert "2 machines, A, B" in text_page(mixed)
    marks = {one["recording"].text: one["otherwise"].text for one in rows(tables(mixed)["cost-heap"])}
    assert marks == {"2026-01-30-example": "", "2026-01-31-example": "machine B"}


def test_one_recording_of_two_machines_is_two(tmp_path):
    """Else the older machine's runs would be left out, or stand in the other's lines."""
    here = synthetic.campaign([OPENSSL], [SUITE])
    there = [one.model_copy(update={"machine": one.machine.model_copy(update=MACHINE)}) for one in here]
    found = read(tmp_path, here + there)
    assert [one.name for one in found] == ["2026-01-30-example on A", "2026-01-30-example on B"]
    assert len(tables(found)["cost-heap"].rows) == 2 * len(tables(found[:1])["cost-heap"].rows)


def test_other_schemas_are_read_and_said(tmp_path):
    old = [one.model_copy(update={"schema_": 1}) for one in synthetic.campaign([RUSTLS], [SUITE])]
    found = read(tmp_path, synthetic.campaign([OPENSSL, "boringssl@5.4.0"], [SUITE]) + old)
    assert row(tables(found)["recordings"], recording=found[0].name)["schemas"].text == "1, 2"
    marks = {one["stack"].text: one["otherwise"].text for one in rows(tables(found)["cost-heap"])}
    assert marks == {OPENSSL: "", "boringssl@5.4.0": "", RUSTLS: "schema 1"}


@pytest.mark.parametrize(
    ("changes", "mark"),
    [
        ({"compiler": "clang 14.0.6"}, "clang 14.0.6"),
        ({"flags": "-Os"}, "other flags"),
        ({"argv": ["build/harness/x", "certs=memtest/certs/ecdsa-p256"]}, "certs ecdsa-p256"),
        (
            {"argv": ["certs=memtest/certs/rsa-2048", "options=low-memory", "tickets=2"]},
            "tickets 2; options low-memory",
        ),
        ({"commit": "f" * 16, "dirty": True}, "commit ffffffffffff with changes"),
    ],
)
def test_what_is_declared_otherwise_is_marked(tmp_path, changes, mark):
    runs = synthetic.campaign([OPENSSL, "boringssl@5.4.0", RUSTLS], [SUITE])
    runs = [one.model_copy(update=changes) if one.stack == RUSTLS else one for one in runs]
    marks = {one["stack"].text: one["otherwise"].text for one in rows(tables(read(tmp_path, runs))["cost-heap"])}
    assert marks == {OPENSSL: "", "boringssl@5.4.0": "", RUSTLS: mark}


def test_where_all_is_declared_alike_there_is_no_mark(two):
    assert "otherwise" not in rows(tables(two)["cost-heap"])[0]


@pytest.mark.thorough
def test_rows_of_timed_runs_are_marked_too(tmp_path):
    runs = synthetic_timed.campaign([OPENSSL, "boringssl@5.4.0", RUSTLS], [SUITE])
    runs = [one.model_copy(update={"compiler": "clang 1"}) if one.stack == RUSTLS else one for one in runs]
    made = tables(read(tmp_path, runs))["handshakes"]
    assert {one["stack"].text for one in rows(made) if one["otherwise"].text == "clang 1"} == {RUSTLS}


class Loads(HTMLParser):
    """What a browser would fetch, and what would run."""

    def __init__(self):
        super().__init__()
        self.found, self.handlers, self.scripts, self.inside = [], [], [], None

    def handle_starttag(self, tag, attributes):
        given = dict(attributes)
        self.found += [given[name] for name in ("src", "srcset", "action", "data") if given.get(name)]
        self.found += [given["href"]] if tag in ("link", "base", "a") and given.get("href") else []
        self.handlers += [name for name in given if name.startswith("on")]
        self.inside = "" if tag == "script" and "type" not in given else None

    def handle_data(self, data):
        if self.inside is not None:
            self.scripts.append(data)

    def handle_endtag(self, tag):
        self.inside = None


@pytest.mark.page
def test_a_page_needs_nothing_else_and_its_policy_allows_its_own_script_alone(two):
    text = text_page(two)
    loads = Loads()
    loads.feed(text)
    assert all(link.startswith("#") for link in loads.found) and loads.handlers == []
    assert "url(" not in re.search(r"<style>(.*?)</style>", text, re.DOTALL)[1]
    (policy,) = re.findall(r'http-equiv="Content-Security-Policy" content="([^"]*)"', text)
    hashes = {f"'sha256-{base64.b64encode(hashlib.sha256(one.encode()).digest()).decode()}'" for one in loads.scripts}
    assert hashes and {*policy.replace("&#39;", "'").split("script-src ")[1].split(";")[0].split()} == hashes
    assert policy.startswith("default-src") and "connect-src" not in policy and "http" not in policy


def test_what_a_recording_says_stays_text(tmp_path):
    """In names, reasons and libraries; in HTML, in JSON within a script, in Markdown and CSV."""
    runs = synthetic.campaign([OPENSSL], [SUITE])
    runs = [one.model_copy(update={"reported": WICKED, "compiler": WICKED}) for one in runs]
    lines = [one.to_json_line() for one in (*runs, synthetic.failed(WICKED, WICKED, 100, WICKED))]
    (tmp_path / "wicked.jsonl").write_bytes(b"".join(lines))
    found = list(recordings.by_machine(recordings.load_recordings([tmp_path / "wicked.jsonl"])))
    text = text_page(found)
    loads = Loads()
    loads.feed(text)
    assert len(loads.scripts) == text.count("<script>") == 1 and "<img src=x" not in text and loads.handlers == []
    assert not any('="taken"' in script for script in loads.scripts)


@pytest.mark.thorough
def test_a_recordings_name_becomes_no_markup_and_no_style(tmp_path):
    folder = synthetic.write(
        tmp_path / '2026-01-31-"><img onerror=x>{}*', synthetic.campaign([OPENSSL, RUSTLS], [SUITE])
    )
    other = synthetic.write(tmp_path / "other", synthetic_timed.campaign([OPENSSL], [SUITE]))
    third = synthetic.write(tmp_path / "third", synthetic_timed.campaign([RUSTLS], [SUITE]))
    found = list(recordings.by_machine(recordings.load_recordings([folder, other, third])))
    loads = Loads()
    loads.feed(text_page(found))
    assert loads.handlers == []
    assert identifier("a b<c>@d.é") == "a-b-c--d--"


def test_data_of_a_section_ends_no_tag():
    text = page.page("T", "s", [Section("one", "One", data={"a": WICKED, "b": "\u2028"})])
    (inside,) = re.findall(r'<script type="application/json" id="data-one">(.*?)</script>', text, re.DOTALL)
    assert json.loads(inside) == {"a": WICKED, "b": "\u2028"} and "<" not in inside


def test_every_figure_is_in_markdown_csv_and_the_page_alike(two):
    for name, table in tables(two).items():
        packed = unpack(table_html.html_table(ShownTable(table, "command")).packed)
        columns = (read_texts(packed, at) for at in range(len(packed["columns"])))
        seen = [list(texts) for texts in zip(*columns, strict=True)]
        lines = [line for line in render.markdown(table).splitlines() if line.startswith("|")][2:]
        markdown = [[re.sub(r" [⁰¹²³⁴⁵⁶⁷⁸⁹]+$", "", text.strip()) for text in line[1:-1].split("|")] for line in lines]
        assert seen == markdown, name
        assert written_csv(packed) == list(csv.reader(io.StringIO(render.comma_separated(table)))), name
        assert len(written_csv(packed)) == 1 + len(table.rows)


def written_csv(packed: dict) -> list[list[str]]:
    """The rows of a packed table's CSV, its heading first."""
    columns = [
        (one["name"], *(packed["columns"][one["values"]]["texts"] if isinstance(one["values"], int) else one["values"]))
        for one in packed["csv"]
    ]
    return [list(row) for row in zip(*columns, strict=True)]


def test_cells_name_their_notes_by_number():
    rows = [[text_cell("a"), missing_cell("why so")], [text_cell("b"), missing_cell("why so")]]
    rows.append([text_cell("c"), text_cell("1")])
    table = Table("small", "Small", "Caption.", [Heading("stack", "stack", left=True), Heading("x", "x")], rows)
    packed = unpack(table_html.html_table(ShownTable(table, "command")).packed)
    assert packed["columns"] == [{"texts": ["a", "b", "c"]}, {"of": [1], "others": {}, "notes": [1, 1, 0]}]
    assert read_texts(packed, 1) == ["–", "–", "1"]
    assert packed["csv"] == [{"name": "stack", "values": 0}, {"name": "x", "values": ["", "", "1"]}]
    assert packed["notes"] == ["why so"] and packed["first"] is None


def settings_table(*rows: tuple[str, str, str, str]) -> Table:
    columns = [Heading(name, name, left=True) for name in ("stack", "suite", "role")] + [Heading("bytes", "bytes")]
    return Table("t", "T", "Caption.", columns, [[*map(text_cell, row)] for row in rows])


def test_one_row_a_stack_stands_there_at_first_in_the_setting_of_the_most_stacks():
    few = [("a", "tls12", "client", "1"), ("a", SUITE, "client", "1"), ("a", SUITE, "server", "1")]
    few += [("b", "tls12", "server", "1"), ("c", "tls12", "client", "1"), ("c", "tls12", "server", "1")]
    assert table_html.default_rows(settings_table(*few)) == [0, 3, 5]
    most = [*few, ("b", SUITE, "server", "1"), ("c", SUITE, "server", "1")]
    assert table_html.default_rows(settings_table(*most)) == [2, 6, 7]
    assert table_html.default_rows(settings_table(("a", SUITE, "server", "1"), ("b", SUITE, "server", "1"))) is None


def test_a_picture_that_cannot_be_is_a_sentence_in_its_place():
    def draw():
        raise ValueError("nothing was <measured>")

    picture = Picture("none", "Nothing", "says", "command", draw)
    assert "No picture: nothing was &lt;measured&gt;." in page.page(
        "T", "s", [Section("one", "One", pictures=[picture])]
    )


def drawn(*marks: int) -> Picture:
    """A picture of so many marks at random places."""

    def draw():
        made, axes = pyplot.subplots()
        axes.plot(*np.random.default_rng(1).random((2, marks[0])), ".")
        return made

    return Picture(f"marks-{marks[0]}", f"{marks[0]} marks", "says", "command", draw)


@pytest.mark.thorough
def test_each_section_of_a_page_that_would_be_too_large_has_a_share_for_its_pictures(monkeypatch):
    """The small one stays whatever the others need; one without room is a link to where it is."""

    def sections():
        return [
            Section(name, name, pictures=[drawn(marks)])
            for name, marks in (("small", 100), ("large", 4_000), ("middle", 2_000))
        ]

    whole = len(page.page("T", "s", sections()).encode())
    monkeypatch.setattr(page, "MOST", whole - 10_000)
    beside = page.Directory("talk", "tools/tls-memtest show report --format directory -o talk")
    text = page.page("T", "s", sections(), beside=beside)
    assert len(text.encode()) < whole - 10_000
    assert re.findall(r'data-of="(picture-\S+)-svg"', text) == ["picture-marks-100", "picture-marks-2000"]
    assert re.findall(r'href="(talk/.*?)"', text) == ["talk/index.html#picture-marks-4000"]
    assert "tools/tls-memtest show report --format directory -o talk" in text and "No picture" not in text


def test_room_is_shared_alike_and_what_is_not_needed_is_the_others():
    assert page.share_room({"a": 100, "b": 1_000, "c": 5_000}, 3_100) == {"a": 100, "b": 1_000, "c": 2_000}
    assert page.share_room({"a": 5_000, "b": 6_000}, 3_000) == {"a": 1_500, "b": 1_500}
    assert page.share_room({"a": 5}, -1) == {"a": 0}


def test_texts_of_a_picture_are_texts_and_keep_their_digits():
    def draw():
        made, axes = pyplot.subplots()
        axes.set_title("openssl@3.14.15")
        return made

    text = embedded_pictures.svg(Picture("p", "P", "says", "command", draw))
    assert ">openssl@3.14.15</text>" in text
    assert not re.search(r"\d\.\d\d", " ".join(re.findall(r' d="([^"]*)"', text)))


def test_a_text_with_a_halo_stays_a_text():
    def draw():
        made, axes = pyplot.subplots()
        axes.text(0, 0, "12 B", path_effects=HALO)
        return made

    text = embedded_pictures.svg(Picture("p", "P", "says", "command", draw))
    assert re.search(r'<g style="paint-order:stroke;stroke:white;[^"]*">\s*<text[^>]*>12 B</text>', text)


def test_letters_go_on_after_z():
    assert [letters(at) for at in (0, 25, 26, 27, 52)] == ["A", "Z", "AA", "AB", "BA"]


def test_the_most_frequent_is_usual_and_the_first_of_equals():
    assert (
        differing_settings.most(["a", "b", "b", "", ""]) == "b"
        and differing_settings.most(["a", "b"]) == "a"
        and not differing_settings.most([])
    )


@pytest.mark.thorough
def test_newest_recordings_are_read_until_all_is_there(tmp_path, monkeypatch):
    monkeypatch.setattr(recordings, "NEEDED", ("mem", "handshake"))
    for name in ("2026-01-01-cpu", "2026-01-02-cpu", "2026-01-02-cpu-2", "2026-01-02-cpu-10", "published"):
        (tmp_path / name).mkdir()
    mem = definitions_of("mem")
    synthetic.write(tmp_path / "2026-01-01-cpu", mem)
    synthetic.write(tmp_path / "2026-01-02-cpu", mem)
    synthetic.write(tmp_path / "2026-01-02-cpu-2", synthetic.campaign([OPENSSL], [SUITE]))
    stacks = [OPENSSL, "boringssl@5.4.0", RUSTLS]
    suites = recordings.definitions.campaigns()["handshake"].suites
    synthetic.write(tmp_path / "2026-01-02-cpu-10", synthetic_timed.campaign(stacks, suites))
    assert [path.rpartition("/")[2] for path in recordings.load_newest(tmp_path)] == [
        "2026-01-02-cpu-10",
        "2026-01-02-cpu",
    ]


def test_recordings_with_runs_that_no_newer_one_has_are_read_for_sections_of_each_stack(tmp_path):
    def stalls(*stacks):
        runs = [synthetic.record(stack, SUITE, 100) for stack in stacks]
        return [run.model_copy(update={"scenario": "stall"}) for run in runs]

    for name, stacks in {
        "2026-01-01-cpu": [OPENSSL],
        "2026-01-02-cpu": [OPENSSL, RUSTLS],
        "2026-01-03-cpu": [RUSTLS],
    }.items():
        (tmp_path / name).mkdir()
        synthetic.write(tmp_path / name, stalls(*stacks))
    assert names(recordings.load_newest(tmp_path), tmp_path) == ["2026-01-03-cpu", "2026-01-02-cpu"]


@pytest.mark.slow
def test_the_page_is_made_of_the_recordings_that_slides_of_each_stack_are_of():
    used = {ROOT / path for path in recordings.load_newest(ROOT / "data")}
    assert {
        ROOT / f"data/2026-11-24-amd-epyc-p0457-{name}" for name in ("go", "hellos", "c1m", "c1m-2", "c1m-3")
    } <= used


@pytest.mark.thorough
def test_the_users_newest_recording_is_always_read_and_others_where_needed(tmp_path, monkeypatch):
    monkeypatch.setattr(recordings, "NEEDED", ("mem",))
    small = synthetic.campaign([OPENSSL], [SUITE])
    for name, runs in {
        "2026-01-02-cpu": definitions_of("mem"),
        "2026-01-02-a-cpu": small,
        "2026-01-03-cpu-2": small,
        "local/2026-01-01-cpu": small,
        "local/2026-01-02-cpu": small,
        "local/2026-01-03-cpu": definitions_of("mem"),
    }.items():
        (tmp_path / name).mkdir(parents=True, exist_ok=True)
        synthetic.write(tmp_path / name, runs)
    data, local = tmp_path, tmp_path / "local"
    assert names(recordings.load_newest(data, local), tmp_path) == ["local/2026-01-03-cpu"]
    shutil.rmtree(local / "2026-01-03-cpu")
    assert names(recordings.load_newest(data, local), tmp_path) == ["local/2026-01-02-cpu", "2026-01-02-cpu"]
    (local / "2026-01-02-cpu").rename(local / "2025-12-31-cpu")
    assert names(recordings.load_newest(data, local), tmp_path) == ["2026-01-02-cpu", "local/2026-01-01-cpu"]
    assert names(recordings.load_newest(data), tmp_path) == ["2026-01-02-cpu"]


def names(loaded: dict, folder) -> list[str]:
    return [str(Path(path).relative_to(folder)) for path in loaded]


def definitions_of(name: str) -> list[records.RecordLine]:
    found = recordings.definitions.campaigns()[name]
    return synthetic.campaign(found.stacks, found.suites)


def test_without_any_recording_there_is_a_sentence(tmp_path, snapshot):
    with pytest.raises(ValueError) as error:
        recordings.load_newest(tmp_path)
    assert str(error.value) == snapshot


@pytest.mark.parametrize(
    "arguments",
    [
        "nowhere",
        pytest.param("{good} --format csv --table cost-hepa", marks=pytest.mark.thorough),
        "{good} --table cost-heap",
        "{good} --format files -o {file}",
        pytest.param("{good} --format files --picture memroy -o {empty}", marks=pytest.mark.thorough),
        "{good} --picture memory",
        "{empty}",
        "{good} -o {good}/openssl@3.5.5.jsonl",
        pytest.param("{good} -o /proc/nothing.html", marks=pytest.mark.thorough),
    ],
)
def test_bad_input_is_a_sentence(tmp_path, arguments, snapshot):
    good = synthetic.write(tmp_path / "2026-01-31-good", synthetic.campaign([OPENSSL], [SUITE]))
    (tmp_path / "empty").mkdir()
    (tmp_path / "empty/openssl@3.5.5.jsonl").touch()
    (tmp_path / "file").touch()
    places = {"good": good, "empty": tmp_path / "empty", "file": tmp_path / "file"}
    result = run(*(word.format(**places) for word in arguments.split()), cwd=tmp_path)
    assert result.returncode == (2 if arguments in ("nowhere", "{empty}") else 1)
    assert result.stderr.splitlines()[-1] == snapshot  # those before tell how long reading took
    assert result.stderr.splitlines()[-1].startswith("memtest: ") and result.stdout == ""
    assert len(read_runs.load(good)) == 6


@pytest.mark.slow
def test_files_are_markdown_and_csv_of_tables_and_both_forms_of_pictures(tmp_path):
    made = synthetic.write(tmp_path / "2026-01-31-good", synthetic.campaign([OPENSSL, RUSTLS], [SUITE]))
    result = run(made, "--format", "files", "-o", tmp_path / "out")
    assert result.returncode == 0, result.stderr
    written = {str(path) for path in (tmp_path / "out").rglob("*") if path.is_file()}
    assert written == {*result.stdout.splitlines()}
    written = {path.rpartition("/")[2] for path in written}
    assert {"index.html", "packed-answer.js", "table-cost-heap-packed.js", "picture-memory-svg.js"} <= written
    assert '<script type="text/plain"' not in (tmp_path / "out/index.html").read_text()
    assert {"cost-heap.md", "cost-heap.csv", "memory.png", "memory.svg"} <= written
    text = run(made, "--format", "csv", "--table", "cost-heap").stdout
    assert (tmp_path / "out/cost-heap.csv").read_text() == text
    assert "64000,0,240,0," in text


@pytest.mark.thorough
def test_one_picture_is_written_alone(tmp_path):
    made = synthetic.write(tmp_path / "2026-01-31-good", synthetic.campaign([OPENSSL, RUSTLS], [SUITE]))
    result = run(made, "--format", "files", "--picture", "memory", "-o", tmp_path / "out", drawn=False)
    assert result.returncode == 0, result.stderr
    written = [tmp_path / "out" / name for name in ("memory.png", "memory.svg")]
    assert result.stdout.splitlines() == [*map(str, written)]
    assert sorted((tmp_path / "out").iterdir()) == written


@pytest.mark.thorough
def test_a_directory_is_the_page_and_its_data_alone(tmp_path):
    made = synthetic.write(tmp_path / "2026-01-31-good", synthetic.campaign([OPENSSL, RUSTLS], [SUITE]))
    result = run(made, "--format", "directory", "-o", tmp_path / "out")
    assert result.returncode == 0, result.stderr
    written = {path.relative_to(tmp_path / "out") for path in (tmp_path / "out").rglob("*") if path.is_file()}
    assert {str(tmp_path / "out" / path) for path in written} == {*result.stdout.splitlines()}
    assert {str(path) for path in written if path.parts[0] != "data"} == {"index.html"}
    assert Path("data/table-cost-heap-packed.js") in written


@pytest.mark.parametrize("words, paths", [("", []), (" , ", []), ("a b", ["a", "b"]), (" a,b, ", ["a", "b"])])
def test_names_in_one_word_are_none_where_nothing_is_named(words, paths, monkeypatch):
    """As make gives them: without any the newest recordings are read, and not the directory that one is in."""
    monkeypatch.setattr(build_report, "write_report", lambda given: [*map(str, given.recording)])
    command = commands.command("show report")
    assert command.run(commands.parse("show report", f"RECORDINGS={words}"), command.parser()) == paths


@pytest.mark.thorough
@pytest.mark.parametrize("suite", ["tls13-rsa-camellia+tickets-library", f"{SUITE}+new-thing"])
def test_a_suite_that_is_not_defined_here_is_shown_by_its_name(tmp_path, suite):
    """As recordings of a newer version may have it: in the report, in tables and in pictures."""
    runs = [run.model_copy(update={"suite": suite, "window": 100}) for run in recorded(OPENSSL)]
    recording = synthetic.write(tmp_path / "recording", runs)
    done = run(recording, "-o", tmp_path / "report.html")
    assert (done.returncode, "Traceback" in done.stderr) == (0, False), done.stderr
    tables = forked_command.run([sys.executable, ROOT / "tools/tls-memtest", "show", "tables", str(recording)])
    assert tables.returncode == 0 and suite.removesuffix("+tickets-library") in tables.stdout
