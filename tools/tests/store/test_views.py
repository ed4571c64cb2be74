"""The tables for queries have what recordings have, under names that are a promise."""

import shutil
import subprocess
import sys
from itertools import combinations

import pytest

import tlsmem
from tests.support import live, planted, synthetic
from tlsmem.base.errors import UserError
from tlsmem.base.paths import ROOT
from tlsmem.config.choices import QUERY_TABLES
from tlsmem.schema.live_records import LiveRecord, append_live
from tlsmem.schema.records import Phase, RecordLine
from tlsmem.store import derive, tables, views
from tlsmem.store.column_meanings import MEANINGS, TABLE_MEANINGS

STACK, SUITE = planted.STACK, planted.SUITE
RENAMED = {"phases": "phase_count", "sites": "has_sites", "allocator": "allocator_statistics"}


@pytest.fixture(autouse=True)
def own_store(tmp_path, monkeypatch):
    monkeypatch.setattr(derive, "FOLDER", tmp_path / "store")


@pytest.fixture
def recording(tmp_path):
    """Three runs of OpenSSL, a mixed pair, and two live runs."""
    runs = planted.counted(temporary=planted.TEMPORARY, momentary=planted.MOMENTARY)
    runs.append(synthetic.record("null@c", SUITE, 20, "rss", client=STACK))
    written = planted.write(tmp_path / "2026-01-31-a-cpu", runs)
    for connections in (10, 20):
        append_live(written, live.live_record(connections, "heap"))
    return written


@pytest.fixture
def read(recording):
    return tlsmem.read(recording)


@pytest.mark.thorough
def test_a_run_has_its_name_its_settings_and_what_people_ask_for(read, recording):
    wanted = "recording, run, library, release, sessions, settings['sessions'], allocator_name, machine_cpu, peer_stack"
    found = read.sql(f"SELECT {wanted} FROM runs ORDER BY run").fetchall()
    first, mixed = found[1], found[0]
    place = f"{recording}/{STACK}.jsonl:1"
    assert first == (str(recording), place, "openssl", "3.5.5", 20, "20", "system", "Example CPU", None)
    assert (mixed[2:4], mixed[-1]) == (("null", "c"), STACK)


def test_one_more_session_costs_what_was_planted(read):
    query = """SELECT per_session(server_live_bytes, sessions), per_session(client_live_blocks, sessions)
               FROM runs JOIN phases USING (run) WHERE phase = 'established' AND stack = 'openssl@3.5.5'"""
    server, client = (
        (sum(column) for column in zip(*planted.SITES[role].values(), strict=True)) for role in ("server", "client")
    )
    assert read.sql(query).fetchall() == [(next(server), [*client][1])]


@pytest.mark.thorough
def test_a_cost_of_one_number_of_sessions_is_null(read):
    query = "SELECT per_session(total_live_bytes, sessions) FROM runs JOIN phases USING (run) WHERE sessions = 20"
    assert read.sql(query).fetchall() == [(None,)]


def test_blocks_have_their_call_stacks(read):
    query = """SELECT role, since, bytes, blocks, string_agg(function, ' < ' ORDER BY depth)
               FROM blocks JOIN stacks USING (run, callstack) WHERE phase = 'established' AND kind = 'live'
               GROUP BY ALL ORDER BY bytes"""
    known = [
        (role, "sessions", size, blocks, f"CRYPTO_malloc < {function} < {role}_handshake < main")
        for role, sites in planted.SITES.items()
        for function, (size, blocks) in sites.items()
    ]
    assert read.sql(query).fetchall() == sorted(known, key=lambda one: one[2])


@pytest.mark.parametrize(
    ("kind", "phase", "sites"),
    [("temporary", "sessions", planted.TEMPORARY), ("peak", planted.PEAK_PHASE, planted.MOMENTARY)],
)
def test_blocks_that_were_freed_are_of_a_kind_of_their_own(read, kind, phase, sites):
    query = f"SELECT role, bytes, blocks FROM blocks WHERE kind = '{kind}' AND since = '{phase}' AND phase = '{phase}'"
    known = {(role, *counts) for role, of_role in sites.items() for counts in of_role.values()}
    assert {*read.sql(query).fetchall()} == known


def test_live_runs_are_tables_too(read, recording):
    query = "SELECT run, phase, live_bytes, open_connections, server FROM live WHERE phase = 'established' ORDER BY run"
    known = [
        (
            f"{recording}/live/nginx.jsonl:{place}",
            "established",
            live.FIXED["heap"] + live.HEAP * number,
            number,
            "nginx",
        )
        for place, number in ((1, 10), (2, 20))
    ]
    assert read.sql(query).fetchall() == known
    record = live.live_record(10)
    assert read.live_samples.filter("run LIKE '%:1'").aggregate("count(*)").fetchall() == [
        (len(record.samples.elapsed_s),)
    ]


def test_of_a_run_that_was_made_again_the_last_counts(recording):
    again = planted.run("heap", 20, started_at="2026-02-01T00:00:00Z", reported="again")
    planted.write(recording, [again])
    found = tlsmem.read(recording).sql("SELECT reported FROM runs WHERE sessions = 20 AND stack = 'openssl@3.5.5'")
    assert found.fetchall() == [("again",)]


@pytest.mark.thorough
def test_a_recording_is_read_once_however_often_it_is_named(read, recording):
    both = tlsmem.read(recording, recording / f"{STACK}.jsonl")
    for name in ("runs", "phases"):
        assert len(both.sql(f"FROM {name}").fetchall()) == len(read.sql(f"FROM {name}").fetchall()) > 0


def test_every_column_of_the_store_is_in_a_table_and_has_a_meaning(read):
    """So a new field of the schema needs no code, but a meaning."""
    found = {name: read.sql(f"FROM {name}").columns for name in views.VIEWS}
    assert {name: [*meanings] for name, meanings in MEANINGS.items()} == found
    assert list(found) == list(TABLE_MEANINGS) == list(QUERY_TABLES)
    of_phases = {**tables.PHASE_COLUMNS, **tables.HEAP_COLUMNS, **tables.PAIR_COLUMNS}
    assert {RENAMED.get(name, name) if name != "allocator" else name for name in tables.LINE} <= {*found["runs"]}
    assert {RENAMED.get(name, name) for name in of_phases} <= {*found["phases"]}
    assert {*tables.LIVE_RUN_COLUMNS, *tables.LIVE_PHASE_COLUMNS} <= {*found["live"]}
    assert {*tables.SAMPLES} <= {*found["live_samples"]}


@pytest.mark.parametrize(
    ("model", "columns", "elsewhere"),
    [
        (RecordLine, tables.LINE, {"checksum"}),
        (Phase, {**tables.PHASE_COLUMNS, "heap": "", "sites": ""}, set()),
        (LiveRecord, tables.LIVE_LINE, set()),
    ],
)
def test_every_field_of_the_schema_is_a_column(model, columns, elsewhere):
    fields = {field.alias or name for name, field in model.model_fields.items()}
    assert fields - elsewhere == {*columns} - {"digest"}


def test_a_new_field_of_a_line_is_a_column_without_more_code(recording, monkeypatch):
    monkeypatch.setattr(tables, "LINE", {**tables.LINE, "invented": "BIGINT"})
    assert tlsmem.read(recording).sql("SELECT DISTINCT invented FROM runs").fetchall() == [(None,)]


@pytest.mark.thorough
def test_tables_of_no_files_have_the_same_columns(read):
    empty = views.Recordings(views.define_views(views.duckdb.connect(), []))
    for name in views.VIEWS:
        assert empty.sql(f"DESCRIBE {name}").fetchall() == read.sql(f"DESCRIBE {name}").fetchall()
        assert empty.sql(f"FROM {name}").fetchall() == []


def test_two_tables_share_the_columns_that_join_them_alone(read):
    joins = {("phases", "blocks"): {"run", "position", "phase", "process"}, ("blocks", "stacks"): {"run", "callstack"}}
    for one, other in combinations(("runs", "phases", "blocks", "stacks"), 2):
        assert {*MEANINGS[one]} & {*MEANINGS[other]} == joins.get((one, other), {"run"})


@pytest.mark.parametrize("damage", ["bad line", "bad live line", "no recording", "nothing there"])
def test_what_cannot_be_read_is_one_sentence(recording, tmp_path, damage):
    places = {"bad line": recording / f"{STACK}.jsonl", "bad live line": recording / "live/nginx.jsonl"}
    if damage in places:
        places[damage].write_bytes(
            places[damage].read_bytes().replace(b'"sessions":20,', b'"sessions":22,').replace(b"nginx/1", b"nginx/2")
        )
    named = {"no recording": tmp_path / "none", "nothing there": tmp_path / "empty"}.get(damage, recording)
    (tmp_path / "empty").mkdir()
    with pytest.raises(UserError) as refused:
        tlsmem.read(named)
    assert str(refused.value).count("\n") == 0 and str(places.get(damage, named)) in str(refused.value)


def test_without_duckdb_one_sentence_says_how_to_install_it(recording, monkeypatch):
    monkeypatch.setitem(sys.modules, "duckdb", None)
    monkeypatch.delitem(sys.modules, "tlsmem.store.views", raising=False)
    monkeypatch.delattr(tlsmem.store, "views")
    with pytest.raises(UserError, match="needs duckdb: pip install duckdb, or `make setup` in a clone"):
        tlsmem.read(recording)


@pytest.mark.thorough
def test_a_script_without_a_main_guard_reads_recordings_by_several_processes(recording, tmp_path):
    script = tmp_path / "notebook.py"
    script.write_text(f"""import sys
import tlsmem
print("duckdb" in sys.modules, "pydantic" in sys.modules)
from tlsmem.store import derive, read_runs
from pathlib import Path
derive.FOLDER, read_runs.MUCH_BYTES = Path({str(tmp_path / "other")!r}), 0
found = tlsmem.read({str(recording)!r})
print(found.runs.aggregate("count(*)").fetchall(), found.sql("select count(*) from live").fetchall())
print(tlsmem.read({str(recording)!r}).phases.limit(1).columns[:2])
""")
    done = subprocess.run(
        [sys.executable, script], capture_output=True, text=True, check=False, env={"PYTHONPATH": str(ROOT / "tools")}
    )
    assert done.stderr == ""
    assert done.stdout == "False False\n[(4,)] [(6,)]\n['run', 'position']\n"


@pytest.mark.thorough
def test_a_package_that_was_copied_to_install_it_reads_recordings(recording, tmp_path):
    """There is no clone around it: what is derived goes to the user's cache directory."""
    site = tmp_path / "lib/python3/site-packages"
    shutil.copytree(ROOT / "tools/tlsmem", site / "tlsmem", ignore=shutil.ignore_patterns("__pycache__"))
    sealed = ROOT / "data/2026-11-24-amd-epyc-p0457-live"
    script = tmp_path / "notebook.py"
    script.write_text(f"""import tlsmem
for named in ({str(recording)!r},), ({str(sealed)!r},), ():
    try:
        print(tlsmem.read(*named).runs.aggregate("count(*)").fetchall())
    except tlsmem.store.views.Usage as error:
        print(error)
""")
    done = subprocess.run(
        [sys.executable, script],
        capture_output=True,
        text=True,
        check=False,
        env={"PYTHONPATH": str(site), "XDG_CACHE_HOME": str(tmp_path / "cache")},
    )
    assert done.stderr == ""
    assert done.stdout.startswith("[(4,)]\n[(24,)]\n") and "there are no recordings" in done.stdout
    assert {one.name for one in tmp_path.glob("cache/*/*")} == {"store"}
    assert {one.name for one in site.parent.iterdir()} == {"site-packages"}
