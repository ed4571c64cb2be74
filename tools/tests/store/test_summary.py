"""A recording's summary answers as its files do, but for call stacks and histograms."""

import lzma
import shutil

import duckdb
import pytest
from pydantic_core import from_json, to_json

from tests.support import planted, synthetic, synthetic_timed
from tlsmem.base import repository
from tlsmem.base.errors import UserError
from tlsmem.base.paths import ROOT
from tlsmem.schema import recording_files, seal_recording
from tlsmem.store import derive, read_runs, summary, views
from tlsmem.store.columns import pack_pieces

STACK, OTHER, SUITE = "openssl@3.5.5", "rustls+aws-lc@0.23.46", "tls13-rsa-aes256"


@pytest.fixture(autouse=True)
def own_store(tmp_path, monkeypatch):
    monkeypatch.setattr(derive, "FOLDER", tmp_path / "store")


@pytest.fixture
def recording(tmp_path):
    """Sealed, of two stacks."""
    runs = [synthetic.record(STACK, SUITE, n, meter) for n in (100, 200) for meter in ("rss", "heap")]
    runs += [planted.run("sites", 200, temporary=planted.TEMPORARY), synthetic.failed(STACK, SUITE, 400, "killed")]
    made = tmp_path / "recording"
    made.mkdir()
    runs.append(synthetic_timed.record(STACK, SUITE))
    for stack, some in ((STACK, runs), (OTHER, [synthetic.record(OTHER, SUITE, 100, "heap")])):
        (made / f"{stack}.jsonl").write_bytes(b"".join(one.to_json_line() for one in some))
    seal_recording.seal(made)
    return made


@pytest.fixture
def summarised(recording, tmp_path):
    """The summary of the recording, in a directory of its own."""
    made, files = tmp_path / "summarised", recording_files.list_files(recording)
    made.mkdir()
    entries = read_runs.find_entries(files)
    packed = summary.pack_summary({file.name: one.folder for file, one in zip(files, entries, strict=True)})
    (made / recording_files.SUMMARY).write_bytes(packed)
    shutil.copy(recording / "manifest.json", made)
    return made


def columns(runs):
    """Return the columns of each file of these runs."""
    frames = {id(one.frame): one.frame for one in runs}.values()
    return [
        {name: frame.pieces.read(name) for name in kinds}
        for one in frames
        for frame, kinds in ((one.runs, summary.KINDS["runs"]), (one.phases, summary.KINDS["phases"]))
    ]


def test_a_summary_has_the_columns_of_every_file_but_histograms(recording, summarised):
    found, expected = columns(read_runs.load(summarised)), columns(read_runs.load(recording))
    assert len(found) == len(expected) == 4
    for one in expected:
        if "timings" in one:
            one["timings"] = summary.drop_histograms(one["timings"])
    assert found == expected
    assert "histogram" not in str(found) and "histogram" in str(columns(read_runs.load(recording)))


def test_its_files_have_the_names_of_the_recordings(recording, summarised):
    names = [file.name for file in recording_files.list_files(recording)]
    assert [file.name for file in recording_files.list_files(summarised)] == names
    assert recording_files.is_recording(summarised)
    assert recording_files.locate(summarised / f"{STACK}.jsonl") == summarised / f"{STACK}.jsonl.zst"
    assert recording_files.find_recording(summarised / f"{OTHER}.jsonl")
    assert not recording_files.find_recording(summarised / "null@c.jsonl")


def test_its_entries_are_derived_once_and_stay(summarised):
    read_runs.load(summarised)
    kept = sorted(derive.FOLDER.iterdir())
    assert len(kept) == 4  # two of the recording itself
    for place in kept:
        (place / derive.ABOUT).touch()
    read_runs.load(summarised)
    derive.LEAST_SECONDS, least = -1, derive.LEAST_SECONDS
    try:
        derive.remove_old()
    finally:
        derive.LEAST_SECONDS = least
    assert sorted(derive.FOLDER.iterdir()) == kept


@pytest.mark.thorough
@pytest.mark.parametrize("table", ["runs", "phases"])
def test_a_query_finds_the_same_runs_and_phases(recording, summarised, table):
    own = {"runs": "recording, run, timings", "phases": "run"}[table]
    query = f"SELECT * EXCLUDE ({own}) FROM {table} ORDER BY ALL"
    found, expected = (views.read(one).sql(query).fetchall() for one in (summarised, recording))
    assert found == expected and len(found) > 1


@pytest.mark.thorough
@pytest.mark.parametrize("table", ["blocks", "stacks"])
def test_a_query_of_call_stacks_fails_with_the_way_out(recording, summarised, table):
    assert views.read(recording).sql(f"SELECT count(*) FROM {table}").fetchall()[0][0]
    with pytest.raises(duckdb.Error, match="need a clone of the repository"):
        views.read(summarised).sql(f"SELECT count(*) FROM {table}").fetchall()


def test_call_stacks_that_are_asked_for_are_a_sentence_in_a_wheel(summarised, monkeypatch):
    monkeypatch.setattr(repository, "IS_WHEEL", True)
    (run,) = (one for one in read_runs.load(summarised) if one.has_sites)
    with pytest.raises(UserError, match=r"^call stacks of recordings: needs a clone"):
        _ = run.sites


@pytest.mark.parametrize("content", [b"", b"\xfd7zXZ", b"cut"])
def test_a_damaged_summary_is_a_sentence(summarised, content):
    (summarised / recording_files.SUMMARY).write_bytes(content)
    with pytest.raises(UserError, match=r"summary.json.xz: cannot be read; install the package again"):
        read_runs.load(summarised)


def test_free_bytes_come_back_whatever_they_are():
    texts = {
        "values": [None, '{"glibc":{"arena_bytes":9,"uordblks_bytes":2,"fordblks_bytes":6}}', '{"jemalloc":{}}'],
        "rows": [0],
    }
    assert '"fordblks_bytes":1}' in summary.exchange_free_bytes(texts)["values"][1]
    assert summary.exchange_free_bytes(summary.exchange_free_bytes(texts)) == texts


@pytest.mark.parametrize("follows", [True, False])
def test_keys_are_left_out_where_they_follow_from_the_run(recording, summarised, follows):
    folder = read_runs.find_entries([recording / f"{OTHER}.jsonl"])[0].folder
    runs = summary.read_table(folder / summary.FILES["runs"])
    runs["key"] = summary.make_keys(runs) if follows else {"values": ["0123456789abcdef"], "rows": [0]}
    packed = pack_pieces({name: to_json(one) for name, one in runs.items()})
    (folder / summary.FILES["runs"]).write_bytes(packed)
    (summarised / recording_files.SUMMARY).write_bytes(summary.pack_summary({"one": folder}))
    written = from_json(lzma.decompress((summarised / recording_files.SUMMARY).read_bytes()))
    assert written["runs"]["key"] == [None if follows else runs["key"]]
    found = summary.unpack_summary(summarised / recording_files.SUMMARY)
    assert found["one"].files[summary.FILES["runs"]] == packed


@pytest.mark.thorough
def test_the_key_of_every_committed_run_of_a_recording_follows_from_it():
    """Of schema 1, which has no environment, and of the newest."""
    for name in ("2026-11-21-amd-epyc", "2026-11-26-amd-epyc-p355e-cpus"):
        entries = read_runs.find_entries(recording_files.list_files(ROOT / "data" / name))
        for runs in (summary.read_table(one.folder / summary.FILES["runs"]) for one in entries):
            assert summary.make_keys(runs) == runs["key"]
