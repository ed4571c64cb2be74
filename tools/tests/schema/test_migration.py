"""Recordings of every schema so far: read, shown alike, kept as they are; those of a newer one are refused."""

import json
import re
from functools import cache
from pathlib import Path

import pytest

from tlsmem.base.errors import UserError
from tlsmem.base.paths import ROOT
from tlsmem.config import choices
from tlsmem.schema import read_records, recording_files, records
from tlsmem.schema.records import SCHEMA, RecordLine
from tlsmem.stats.selection import ASPECTS
from tlsmem.tables import recording_contents, render
from tlsmem.tables.table import Table

RECORDED = Path(__file__).parent / "recorded"  # schemas that no recording in data/ has, or has of few scenarios
COMMITTED = [
    file
    for recording in [*sorted(RECORDED.iterdir()), *sorted((ROOT / "data").glob("20*"))]
    for file in recording_files.list_files(recording)
]
CAME = {  # with a schema: what of a run, and of its phases, no older line has
    2: (("sites", "cpu_features"), ("phase_minor_faults", "vm_data_bytes", "rollup_rss_bytes", "allocator", "sites")),
    3: (("threads", "rounds", "size_bytes", "sealed", "timings", "noise", "instructions"), ()),
    6: (("path",), ()),
    7: ((), ("received_bytes",)),
    8: ((), ("wave",)),
}


@cache
def lines(schema: int) -> list[bytes]:
    """All of one committed file that has this schema."""
    mark = f'{{"schema":{schema},'.encode()
    for file in COMMITTED:
        content = recording_files.read_content(file)
        if content.startswith(mark):
            return content.splitlines()
    return []


OLD = range(1, SCHEMA)


def upgraded(line: bytes) -> RecordLine:
    """As today's tools would have recorded it, of the fields that it has."""
    return RecordLine.model_validate_json(json.dumps({"env": "lab"} | json.loads(line) | {"schema": SCHEMA}))


def shown(runs: list[RecordLine]) -> dict[str, Table]:
    """Every table that these runs have by themselves, by name."""
    tables = recording_contents.select(runs, dict.fromkeys(ASPECTS)).tables(None, None)
    return {table.name: table for table in tables}


def test_every_older_schema_has_committed_recordings():
    assert all(map(lines, OLD)), "of a schema that is left a recording is kept, which is read here ever after"


@pytest.mark.parametrize("schema", OLD)
def test_an_old_line_is_read_and_written_back_as_it_was(schema):
    for line in lines(schema)[::10]:
        run = RecordLine.model_validate_json(line)
        assert run.schema_ == schema
        assert json.loads(run.to_json_line()) == json.loads(line)
        assert records.run_key(run.model_dump()) == run.key


@pytest.mark.parametrize("schema", OLD)
def test_what_came_later_is_unknown_and_never_nought(schema):
    run = RecordLine.model_validate_json(next(line for line in lines(schema) if b'"status":"measured"' in line))
    later = [names for since, names in CAME.items() if since > schema]
    assert {getattr(run, name) for of_run, _ in later for name in of_run} <= {None}
    assert {getattr(phase, name) for _, of_phase in later for phase in run.phases for name in of_phase} <= {None}
    assert run.env == "lab"


@pytest.mark.parametrize("schema", OLD)
def test_a_sites_run_of_an_old_schema_does_not_say_what_was_temporary_or_live_at_the_peak(schema):
    phases = [phase for line in lines(schema) for phase in RecordLine.model_validate_json(line).phases if phase.sites]
    assert all(phase.sites.temporary is None for phase in phases if schema < 8)
    assert all(phase.sites.peak is phase.sites.peak_bytes is None for phase in phases if schema < 9)


@pytest.mark.parametrize("schema", OLD)
def test_tables_of_an_old_recording_are_those_of_a_new_one(schema):
    suite = json.loads(lines(schema)[0])["suite"].encode()
    some = [line for line in lines(schema) if b'"suite":"%b"' % suite in line and b'"roles":"together"' in line]
    some = [line for line in some if b'"meter":"sites"' not in line and b'"meter":"instructions"' not in line]
    old, new = [RecordLine.model_validate_json(line) for line in some], [upgraded(line) for line in some]
    assert {run.schema_ for run in old} == {schema} and {run.schema_ for run in new} == {SCHEMA}
    tables, others = shown(old), shown(new)
    assert len(tables) > 2
    for name, table in tables.items():
        assert render.format_tables([table], choices.JSON) == render.format_tables([others[name]], choices.JSON)


def load_runs(recording: str, stack: str) -> list[RecordLine]:
    found = read_records.load(ROOT / "data" / recording / f"{stack}.jsonl")
    alike = [run for run in found if (run.suite, run.window, run.roles, run.env) == ("tls13-rsa-aes256", "all", *LAB)]
    return [run for run in alike if run.allocator.name == "system"]


LAB = ("together", "lab")


@pytest.mark.thorough
def test_schemas_stand_beside_each_other_and_a_hole_says_what_is_not_recorded(tmp_path):
    old, new = (
        load_runs("2026-11-21-amd-epyc", "rustls+aws-lc@0.23.46"),
        load_runs("2026-11-21-amd-epyc-2", "openssl@3.5.5"),
    )
    (tmp_path / "mixed.jsonl").write_bytes(b"".join(run.to_json_line() for run in (*old, *new)))
    found = read_records.load(tmp_path)
    assert {run.schema_ for run in found} == {1, 2} and found == [*old, *new]
    made = shown(found)
    assert {row[at].value for row in made["heap"].rows for at in (0, 1)} >= {"openssl@3.5.5", "rustls+aws-lc@0.23.46"}
    keys = [column.key for column in made["accounts"].columns]
    rows = {row[keys.index("stack")].text: row for row in made["accounts"].rows}
    assert rows["openssl@3.5.5"][-1].value
    assert rows["rustls+aws-lc@0.23.46"][-1].note == "the records have no VmData"


@pytest.mark.parametrize("schema", [SCHEMA + 1, SCHEMA + 90])
def test_a_newer_schema_is_refused_with_the_way_out(tmp_path, schema):
    newer = json.loads(lines(SCHEMA - 1)[0]) | {"schema": schema, "what_is_not_known_yet": 1}
    file = tmp_path / "null@c.jsonl"
    file.write_bytes(lines(1)[0] + b"\n" + json.dumps(newer).encode() + b"\n")
    with pytest.raises(UserError) as stop:
        read_records.load(tmp_path)
    said = f"{file}: line 2 is not a record of schema {SCHEMA}: schema: {schema} is newer than these tools, which read"
    assert str(stop.value).startswith(said) and str(stop.value).endswith(": update them (git pull)")


@pytest.mark.parametrize("schema", [0, -1, "4", None])
def test_a_schema_that_never_was_is_no_newer_one(tmp_path, schema):
    (tmp_path / "null@c.jsonl").write_text(json.dumps({"schema": schema}) + "\n")
    with pytest.raises(UserError, match=r"line 1 is not a record of schema \d+: schema: Input should be 1, 2") as stop:
        read_records.load(tmp_path)
    assert "update" not in str(stop.value)


def test_the_newest_schema_is_the_one_that_is_written():
    known = RecordLine.model_json_schema()["properties"]["schema"]["enum"]
    assert known == list(range(1, SCHEMA + 1))
    page = (ROOT / "docs/reference/records.md").read_text()
    assert re.search(rf"^\| `schema` \| `{SCHEMA}`; ", page, re.MULTILINE)
