"""Runs of the store are those of the lines, field by field; and an entry that is not as it was written is none."""

import json
import multiprocessing
import os
import random
import re
import shutil
import subprocess
from collections import Counter
from pathlib import Path

import pytest
from pydantic import BaseModel

from tests.support import planted, synthetic, synthetic_timed
from tlsmem.base.cache_file import PACKAGE, import_closure
from tlsmem.base.errors import UserError
from tlsmem.base.paths import ROOT
from tlsmem.schema import read_records, recording_files, records, seal_recording
from tlsmem.schema.records import RecordLine, record_cell_key
from tlsmem.store import database, derive, read_runs, tables

STACK, SUITE = "openssl@3.5.5", "tls13-rsa-aes256"
RECORDED = sorted(file for file in (ROOT / "data").glob("20*/*.jsonl.zst"))
OF_EVERY_KIND = RECORDED[:: len(RECORDED) // 12]
NOT_OF_A_RUN = {"checksum", "schema_"}


def differences(found: object, line: object, place: str = "") -> list[str]:
    """Return where a value of the store is not that of the line."""
    if isinstance(line, BaseModel):
        names = type(line).model_fields.keys() - {"checksum"}
        return [
            one for name in names for one in differences(getattr(found, name), getattr(line, name), f"{place}.{name}")
        ]
    if isinstance(line, list) and isinstance(found, list) and len(line) == len(found):
        pairs = enumerate(zip(found, line, strict=True))
        return [one for at, pair in pairs for one in differences(*pair, f"{place}[{at}]")]
    return [] if found == line and type(found) is type(line) else [f"{place}: {found!r}, and the line has {line!r}"]


def compare(file: Path) -> list[str]:
    """Return how the runs of the store differ from the lines of a file."""
    runs, lines = read_runs.load(file), read_records.load_file(file)
    pairs = enumerate(zip(runs, lines, strict=True))
    return [f"{file}: run {at}{one}" for at, pair in pairs for one in differences(*pair)]


@pytest.fixture(autouse=True)
def own_store(tmp_path, monkeypatch):
    monkeypatch.setattr(derive, "FOLDER", tmp_path / "store")
    monkeypatch.setattr(derive, "LEAST_BYTES", 0)


@pytest.fixture
def lines():
    runs = [synthetic.record(STACK, SUITE, n, meter) for n in (100, 200) for meter in ("rss", "heap")]
    runs.append(synthetic.record(STACK, SUITE, 100, "heap", roles="split"))
    runs += [planted.run("sites", 200, temporary=planted.TEMPORARY), planted.run("sites", 400)]
    runs.append(planted.run("sites", 600, momentary=planted.MOMENTARY))
    runs.append(synthetic.failed(STACK, SUITE, 400, "killed"))
    return [*runs, synthetic_timed.record(STACK, SUITE)]


@pytest.fixture
def file(tmp_path, lines):
    written = tmp_path / "recording" / f"{STACK}.jsonl"
    written.parent.mkdir()
    written.write_bytes(b"".join(one.to_json_line() for one in lines))
    return written


@pytest.fixture
def parsed(monkeypatch):
    """Places of the lines that were checked."""
    places = []

    def parse(line, place):
        places.append(place)
        return read_records.parse(line, place)

    monkeypatch.setattr(derive, "parse", parse)
    return places


def digests(file):
    return [run.digest for run in read_runs.load(file)]


def entries():
    return sorted(derive.FOLDER.glob("*/entry"))


def test_every_field_is_the_lines(file):
    assert compare(file) == []
    assert len(entries()) == 1


@pytest.mark.thorough
@pytest.mark.parametrize("recorded", OF_EVERY_KIND, ids=lambda file: f"{file.parent.name}/{file.name}")
def test_every_field_of_what_is_recorded_is_the_lines(recorded):
    assert compare(recorded) == []


@pytest.mark.slow
@pytest.mark.parametrize("recorded", RECORDED, ids=lambda file: f"{file.parent.name}/{file.name}")
def test_every_field_of_all_that_is_recorded_is_the_lines(recorded):
    assert compare(recorded) == []


def test_each_column_is_a_field_and_each_field_a_column():
    """A new field of the schema is a column by its declaration alone."""
    of_runs = {"schema" if name == "schema_" else name for name in RecordLine.model_fields} - {"checksum"}
    assert of_runs - {"phases", "sites"} == tables.RUN_COLUMNS.keys() - {"digest"}


def test_runs_that_stand_in_no_recording_are_the_same(lines):
    found = read_runs.load_lines(lines)
    assert [differences(*pair) for pair in zip(found, lines, strict=True)] == [[]] * len(lines)
    assert [run.digest for run in found] == [line.digest for line in lines]
    assert list(map(record_cell_key, found)) == list(map(record_cell_key, lines))


def test_call_stacks_of_a_run_that_is_no_sites_run_are_the_lines(file, lines):
    file.write_bytes(lines[0].model_copy(update={"sites": lines[5].sites}).to_json_line())
    assert compare(file) == [] and read_runs.load(file)[0].sites.frames


def test_a_file_is_checked_once(file, parsed):
    first, second = digests(file), digests(file)
    assert len(parsed) == len(first) == len(set(first)) and first == second


def test_several_files_have_a_list_of_runs_each(tmp_path, lines):
    files = [tmp_path / f"{name}.jsonl" for name in ("a", "b", "c")]
    for at, one in enumerate(files):
        one.write_bytes(b"".join(line.to_json_line() for line in (lines[at:], lines[:at], [])[at]))
    found = read_runs.load_each(files)
    assert [len(runs) for runs in found] == [len(lines), 1, 0]
    for runs, expected in zip(found, (lines, lines[:1], []), strict=True):
        assert [differences(*pair) for pair in zip(runs, expected, strict=True)] == [[]] * len(runs)


def test_a_process_of_a_split_run_has_its_phases_alone(file):
    for run, line in zip(read_runs.load(file), read_records.load_file(file), strict=True):
        for process in ("client", "server") if run.roles == "split" else ():
            chosen = run.select_process(process)
            assert chosen.processes == [process] and not chosen.has_phases_apart
            assert differences(chosen, line.select_process(process)) == []
            assert chosen.digest != run.digest and len(run.phases) == len(line.phases)


def test_other_counts_of_an_owner_leave_the_others(file):
    run = read_runs.load(file)[1]
    heap = run.phases[3].heap
    changed = run.phases[3].with_heap({"client": heap.client._replace(live_bytes=7)}).heap
    assert (changed.client.live_bytes, changed.server, changed.total) == (7, heap.server, heap.total)
    assert run.phases[3].heap.client == heap.client
    both = run.phases[3].with_heap({"client": changed.client}).with_heap({"server": changed.client}).heap
    assert (both.client, both.server) == (changed.client, changed.client)


@pytest.mark.parametrize("change", ["file", "code", "version"])
def test_what_has_changed_is_checked_anew(file, monkeypatch, parsed, change):
    before = digests(file)
    if change == "file":
        file.write_bytes(b"".join(file.read_bytes().splitlines(keepends=True)[1:]))
    elif change == "code":
        monkeypatch.setattr(derive, "digest_own_code", lambda: b"other")
    else:
        monkeypatch.setattr(tables, "VERSION", tables.VERSION + 1)
    parsed.clear()
    found = digests(file)
    assert len(parsed) == len(found) and found == before[change == "file" :]


def test_a_manifest_that_was_changed_is_compared_anew(file):
    """A sealed file in the store is no longer what its manifest says."""
    seal_recording.seal(file.parent)
    sealed, manifest = file.with_name(f"{file.name}.zst"), file.with_name("manifest.json")
    before = digests(sealed)
    fields = json.loads(manifest.read_text())
    fields["files"][sealed.name]["sha256"] = "0" * 64
    manifest.write_text(json.dumps(fields))
    with pytest.raises(UserError, match=r"was changed after it was sealed: manifest\.json has another checksum"):
        digests(sealed)
    assert before


def test_the_key_of_an_entry_covers_all_modules_that_write_it():
    writers = import_closure([PACKAGE / "store/derive.py"])
    covered = {module for pattern in derive.CODE for module in PACKAGE.glob(pattern)}
    rooms = [PACKAGE / "store", PACKAGE / "schema"]
    assert {one for one in writers if one.parent in rooms and one.name != "__init__.py"} <= covered


def test_what_duckdb_cannot_write_is_an_error_of_the_system(tmp_path, lines):
    (tmp_path / "runs.parquet").mkdir()
    with pytest.raises(OSError, match=r"runs\.parquet"):
        database.write_parquet(tmp_path, [derive.add_digest(lines[0].to_json_line().rstrip())], are_live=False)


def test_a_bad_line_is_named_though_the_file_was_in_the_store(file):
    digests(file)
    lines = file.read_bytes().splitlines(keepends=True)
    fields = json.loads(lines[2]) | {"sessions": 4}
    file.write_bytes(b"".join([*lines[:2], json.dumps(fields).encode() + b"\n", *lines[3:]]))
    with pytest.raises(UserError, match="line 3"):
        read_runs.load(file)


def test_a_line_that_was_cut_off_is_told_at_each_reading(file):
    file.write_bytes(file.read_bytes()[:-20])
    for _ in range(2):
        recording_files.skipped_lines.clear()
        read_runs.load(file)
        assert len(recording_files.skipped_lines) == 1


def cut(part: Path) -> None:
    part.write_bytes(part.read_bytes()[:-40])


def flip(part: Path) -> None:
    content = bytearray(part.read_bytes())
    content[len(content) // 2] ^= 1
    part.write_bytes(content)


def replace(part: Path) -> None:
    """By what is whole, but is of another file."""
    with database.connect().cursor() as cursor:
        cursor.execute(f"COPY (SELECT 1 AS run) TO {tables.quote(part)} (FORMAT parquet)")


@pytest.mark.parametrize("damage", [cut, flip, replace, Path.unlink, lambda part: part.write_bytes(b"")])
@pytest.mark.parametrize("part", ["runs.columns", "phases.columns", "blocks.pieces", "callstacks.pieces", "entry"])
def test_an_entry_that_is_not_as_it_was_written_is_made_again(file, parsed, damage, part):
    before = digests(file)
    (about,) = entries()
    damage(about.with_name(part))
    parsed.clear()
    assert digests(file) == before and len(parsed) == len(before)
    assert compare(file) == []
    parsed.clear()
    assert digests(file) == before and not parsed


def test_another_number_of_runs_in_an_entry_is_found(file):
    before = digests(file)
    (about,) = entries()
    about.write_bytes(about.read_bytes().replace(b'"runs": 10', b'"runs": 4'))
    assert digests(file) == before


@pytest.mark.parametrize("content", ["[]", "{}", '{"runs": 1}', "null", '{"folder": 1}', "\xff"])
def test_what_an_entry_says_of_itself_is_checked(file, content):
    before = digests(file)
    entries()[0].write_bytes(content.encode("latin-1"))
    assert digests(file) == before


def test_a_store_that_cannot_be_written_is_no_error(file, tmp_path, monkeypatch):
    monkeypatch.setattr(derive, "FOLDER", file)  # a file, where a directory should be
    assert compare(file) == []


def test_an_entry_that_goes_while_it_is_used_is_a_sentence(file):
    run = read_runs.load(file)[0]
    shutil.rmtree(derive.FOLDER)
    with pytest.raises(UserError, match="was changed meanwhile; run the command again"):
        run.stack  # noqa: B018


@pytest.mark.skipif(os.getuid() != 0, reason="mounts a file system")
@pytest.mark.parametrize("kib", [4, 16])
def test_a_full_disk_is_no_error_where_there_is_another(file, tmp_path, monkeypatch, kib):
    place = tmp_path / "full"
    place.mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={kib}k", "none", place], check=True)
    try:
        monkeypatch.setattr(derive, "FOLDER", place / "store")
        assert compare(file) == []
        assert not list(place.glob("store/*"))
    finally:
        subprocess.run(["umount", place], check=True)


def test_without_any_room_the_sentence_has_a_way_out(file, monkeypatch):
    def refuse(folder):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(derive, "make_folder", refuse)
    with pytest.raises(UserError, match=r"No space left on device; set TMPDIR= to another$"):
        read_runs.load(file)


def read_in_process(folder: Path, file: Path, answers) -> None:
    derive.FOLDER, derive.LEAST_BYTES = folder, 0
    answers.put(digests(file))


@pytest.mark.thorough
def test_two_readers_at_once_agree(file):
    context = multiprocessing.get_context("spawn")
    answers = context.Queue()
    readers = [context.Process(target=read_in_process, args=(derive.FOLDER, file, answers)) for _ in range(4)]
    for one in readers:
        one.start()
    found = [answers.get(timeout=60) for _ in readers]
    for one in readers:
        one.join()
    assert found == [digests(file)] * 4
    assert len(entries()) == 1 and not list(derive.FOLDER.glob(".partial-*"))


@pytest.mark.parametrize("damage", [None, cut, flip, replace, Path.unlink])
def test_parquet_is_derived_when_it_is_asked_for(file, parsed, damage):
    """And again where it is not as it was written; lines are checked once."""
    before = derive.find_entry(file, as_parquet=True)
    assert len(parsed) == before.runs == 10
    for name in tables.TABLES if damage else ():
        damage(before.table(name))
    found = derive.find_entry(file, as_parquet=True)
    for name in tables.TABLES:
        (counted,) = database.connect().execute(f"SELECT count(*) FROM '{found.table(name)}'").fetchall()
        assert counted[0] > 0 and (name not in ("runs", "phases") or counted[0] == getattr(found, name))
    assert len(parsed) == 10 and compare(file) == []


def test_entries_of_files_that_are_no_more_go(tmp_path, file, monkeypatch):
    other = tmp_path / "other.jsonl"
    other.write_bytes(file.read_bytes().splitlines(keepends=True)[0])
    digests(other), digests(file)
    assert len(entries()) == 2
    other.unlink()
    derive.remove_old()
    assert len(entries()) == 2  # a command may be reading it
    monkeypatch.setattr(derive, "LEAST_SECONDS", 0)
    file.write_bytes(b"".join(file.read_bytes().splitlines(keepends=True)[1:]))
    kept = digests(file)
    assert len(entries()) == 1 and digests(file) == kept
    bad = derive.FOLDER / "bad" / entries()[0].name
    bad.parent.mkdir()
    bad.write_text("not as it was written")
    derive.remove_old()
    assert len(entries()) == 1 and digests(file) == kept


def test_an_entry_that_another_process_finishes_meanwhile_is_left_to_it(file, monkeypatch):
    kept = digests(file)
    (derive.FOLDER / ".partial-other").mkdir()
    stat = Path.stat

    def finish(place: Path, **how: bool) -> os.stat_result:
        if place.name == ".partial-other":
            place.rename(derive.FOLDER / "other")
        return stat(place, **how)

    monkeypatch.setattr(Path, "stat", finish)
    derive.remove_old()
    assert (derive.FOLDER / "other").is_dir() and digests(file) == kept


@pytest.mark.thorough
def test_the_fault_of_the_first_bad_file_is_told_from_many(tmp_path, file, monkeypatch):
    monkeypatch.setattr(read_runs, "MUCH_BYTES", 0)
    content = file.read_bytes()
    for name, bad in (("a", False), ("b", True), ("c", True), ("d", False)):
        changed = content.replace(b'"sessions":200', b'"sessions":202') if bad else content
        (tmp_path / f"{name}.jsonl").write_bytes(changed + b"" * len(name))
    with pytest.raises(UserError, match=r"b\.jsonl: line 3"):
        read_runs.load_each([tmp_path / f"{name}.jsonl" for name in "abcd"])
    assert [len(one) for one in read_runs.load_each([tmp_path / f"{name}.jsonl" for name in "ad"])] == [10, 10]


def change_bytes(content: bytes, chance: random.Random) -> bytes:
    """Return the content with one change of those that disks, editors and interrupted copies make."""
    at = chance.randrange(len(content))
    changes = (
        lambda: content[:at] + bytes([content[at] ^ (1 << chance.randrange(8))]) + content[at + 1 :],
        lambda: content[:at],
        lambda: content[:at] + content[at + chance.randrange(1, 2000) :],
        lambda: content[:at] + content[at : at + chance.randrange(1, 2000)] + content[at:],
        lambda: content[:at] + bytes(chance.randrange(1, 500)) + content[at:],
        lambda: content[:at] + re.sub(rb"\d", lambda _: b"%d" % chance.randrange(10), content[at:], count=1),
    )
    return chance.choice(changes)()


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["plain", "sealed", "entry"])
def test_of_a_thousand_changes_none_is_silent_and_nothing_is_lost(tmp_path, lines, kind):
    """Each is read as before, or is a sentence that names the file; the record stays as it is."""
    chance = random.Random(kind)
    folder = tmp_path / "recording"
    new = [line.model_copy(update={"schema_": records.SCHEMA}) for line in lines if line.scenario == "memory"]
    file = synthetic.write(folder, map(synthetic.keyed, new)) / f"{STACK}.jsonl"
    if kind == "sealed":
        seal_recording.seal(folder)
        file = folder / f"{STACK}.jsonl.zst"
    good = [json.dumps(run_fields(run), default=str) for run in read_runs.load(folder)]
    content = file.read_bytes()
    parts = [one for about in entries() for one in about.parent.iterdir()]
    whole = {part: part.read_bytes() for part in parts}
    outcomes = Counter()
    for _ in range(1000):
        part = chance.choice(parts) if kind == "entry" else file
        changed = change_bytes(whole[part] if kind == "entry" else content, chance)
        part.write_bytes(changed)
        recording_files.skipped_lines.clear()
        try:
            found = [json.dumps(run_fields(run), default=str) for run in read_runs.load(folder)]
        except UserError as error:
            assert kind != "entry" and str(error).startswith(str(folder)) and "\n" not in str(error)
            outcomes["a sentence"] += 1
        else:
            cut_off = bool(recording_files.skipped_lines) or (kind == "plain" and content.startswith(changed))
            assert found == good or (cut_off and found == good[: len(found)]), "another figure, and no word"
            outcomes["a cut last line, skipped and said" if cut_off else "as before"] += 1
        assert file.read_bytes() == (changed if part == file else content)
        part.write_bytes(whole[part] if kind == "entry" else content)
    assert outcomes["as before"] == 1000 if kind == "entry" else outcomes["a sentence"] > 500
    print(kind, dict(outcomes))


def run_fields(run) -> list[object]:
    """Return all that is read of a run."""
    phases = [[phase.phase, phase.rss_bytes, phase.heap and phase.heap.total, phase.allocator] for phase in run.phases]
    blocks = [phase.sites and [*phase.sites.live] for phase in run.phases]
    names = tables.RUN_COLUMNS.keys() - {"digest", "schema"}
    return [run.digest, [str(getattr(run, name)) for name in sorted(names)], phases, blocks, run.sites]
