"""Opening profiles: the one reader of each form, the names of phases, and a corpus of what is no profile."""

import gzip
import io
import json
import os
import zipfile
from contextlib import suppress
from pathlib import Path

import pytest
from backports import zstd
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from tests.support import synthetic
from tests.support.mutations import count_open
from tlsmem.base.paths import ROOT
from tlsmem.profile import open_profile as profile_files
from tlsmem.profile import pprof_message, profile_metadata
from tlsmem.profile.errors import Unreadable
from tlsmem.profile.heap_profile import DUMP, END, PEAK, LiveHeap, sum_live
from tlsmem.profile.open_profile import open_profile
from tlsmem.profile.profile_metadata import ProfileRecord
from tlsmem.schema import recording_files
from tlsmem.schema.read_records import without_collection
from tlsmem.schema.records import SCHEMA

RECORDING = recording_files.locate(ROOT / "data/2026-11-21-amd-epyc-2/openssl@3.5.5.jsonl")
HEAPTRACK = "v 10400 3\nX ./app\ns 1 m\ns 4 main\ni 100 1 2\nt 1 0\na 10 1\n+ 0\n+ 0\n# strings: 2\n# ips: 1\n"
HEADER = "desc: (none)\ncmd: ./app\ntime_unit: B\n"
MASSIF = """\
#-----------
snapshot={0}
#-----------
time={0}
mem_heap_B={1}
mem_heap_extra_B=0
mem_stacks_B=0
heap_tree={2}
n1: {1} (heap allocation functions) malloc/new/new[], --alloc-fns, etc.
 n0: {1} 0x10: main (main.c:1)
"""
POINT = {"tb": 9, "tbk": 1, "gb": 9, "gbk": 1, "eb": 9, "ebk": 1, "fs": [1]}
DHAT = {
    "dhatFileVersion": 2,
    "mode": "heap",
    "cmd": "./app",
    "pps": [POINT],
    "ftbl": ["[root]", "0x10: main (main.c:1)"],
}

PPROF = pprof_message.Message(
    (pprof_message.ValueType("inuse_space", "bytes"),),
    (pprof_message.Sample((1,), (9,)),),
    (pprof_message.Mapping(1, file="./app"),),
    (pprof_message.Location(1, 1, 16, (pprof_message.Line(1, 1),)),),
    (pprof_message.Function(1, "main", file="main.c"),),
)


def massif(snapshots: int) -> str:
    return (
        HEADER
        + "".join(MASSIF.format(at, 100 + at, "detailed") for at in range(snapshots))
        + MASSIF.format(99, 999, "peak")
    )


def zipped(**members: str) -> bytes:
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in members.items():
            archive.writestr(name, content)
    return file.getvalue()


RUN = synthetic.record("null@c", "none", 20)
SITES = synthetic.record("null@c", "none", 20, "sites", sites={"frames": [], "stacks": []})
FORMS = {
    "heaptrack": HEAPTRACK.encode(),
    "massif": massif(2).encode(),
    "DHAT": json.dumps(DHAT).encode(),
    "DHAT's zip": zipped(**{"contexts.json": json.dumps(DHAT), "sessions.json": json.dumps(DHAT)}),
    "pprof": pprof_message.encode(PPROF),
    "recording": SITES.to_json_line(),
    "record": ProfileRecord(tool="sites", tool_version="1", command=["x"], file=None, file_sha256=None, run=SITES)
    .to_json()
    .encode(),
}
MOMENTS = {
    "heaptrack": [PEAK, END],
    "massif": ["snapshot 0", "snapshot 1", PEAK],
    "DHAT": [PEAK, END],
    "pprof": [DUMP],
    "DHAT's zip": ["contexts", "sessions", PEAK],
}


def written(folder: Path, content: bytes | str, name: str = "file") -> Path:
    file = folder / name
    file.write_bytes(content if isinstance(content, bytes) else content.encode())
    return file


@pytest.mark.parametrize("form", MOMENTS)
@pytest.mark.parametrize("pack", [bytes, gzip.compress, zstd.compress])
def test_the_form_is_told_by_content_and_not_by_name(tmp_path, form, pack):
    told = []
    found = open_profile(written(tmp_path, pack(FORMS[form]), "profile.of.what"), told.append)
    assert (found.tool, found.command) == (form.partition("'")[0].lower(), "./app")
    assert list(found.moments) == MOMENTS[form]
    assert (found.run, found.sessions_of_role) == (None, None)
    assert told


def test_a_recording_has_its_sites_runs(snapshot):
    found = open_profile(RECORDING, suite="tls13-rsa-aes256")
    assert sum_live(found.live_of_sessions("established", "client")) == LiveHeap(47_592, 194)
    assert (found.tool, found.sessions_of_role, found.file) == ("sites", 1, str(RECORDING))
    assert said(RECORDING) == snapshot(name="several suites")
    assert said(RECORDING, suite="other") == snapshot(name="another suite")
    assert said(RECORDING, suite="tls13-rsa-aes256", stack="x") == snapshot(name="another stack")


def test_the_largest_run_of_both_roles_in_one_process_is_taken(tmp_path):
    nothing = {"sites": {"frames": [], "stacks": []}}
    runs = [synthetic.record("null@c", "none", 20 * n, "sites", **nothing) for n in (1, 3, 2)]
    runs.append(synthetic.record("null@c", "none", 200, "sites", roles="split", **nothing))
    runs.append(synthetic.failed("null@c", "none", 2000, "killed", meter="sites"))
    file = synthetic.write(tmp_path, runs) / "null@c.jsonl"
    assert profile_files.sites_run(file, None, None).sessions == 60


def test_a_recording_without_sites_runs_is_a_sentence(tmp_path, snapshot):
    file = synthetic.write(tmp_path, [RUN]) / "null@c.jsonl"
    assert said(file) == snapshot


def test_a_recording_with_a_line_that_is_none_is_a_sentence(tmp_path):
    file = synthetic.write(tmp_path, [RUN]) / "null@c.jsonl"
    file.write_bytes(file.read_bytes() + b"{}\n")
    assert said(file).startswith(f"{file}: line 2 is not a record of schema {SCHEMA}")


def beside(folder: Path, content: bytes | str, tool: str, run=RUN) -> tuple[Path, Path]:
    """A profile, and its record."""
    scratch = written(folder, content, "scratch")
    checksum = profile_metadata.sha256(scratch)
    made = ProfileRecord(tool=tool, tool_version="1", command=["x"], file="null@c.m.zst", file_sha256=checksum, run=run)
    profile_metadata.save(made, folder / "null@c.m.json", scratch)
    return folder / "null@c.m.zst", folder / "null@c.m.json"


def test_with_the_record_beside_it_moments_are_phases(tmp_path):
    for file in beside(tmp_path, massif(len(synthetic.PHASES)), "massif"):
        found = open_profile(file)
        assert list(found.moments) == [*synthetic.PHASES, PEAK]
        assert all(moment.name == name for name, moment in found.moments.items())
        assert found.moments["sessions"].bytes == 101
        assert (found.run.digest, found.sessions_of_role, found.warnings) == (RUN.digest, 10, [])
        assert found.file == str(tmp_path / "null@c.m.zst")


def test_with_other_moments_than_phases_they_have_numbers(tmp_path, snapshot):
    file, _ = beside(tmp_path, massif(3), "massif")
    found = open_profile(file)
    assert list(found.moments) == ["snapshot 0", "snapshot 1", "snapshot 2", PEAK]
    assert found.warnings == snapshot
    assert found.sessions_of_role == 10


def test_moments_of_a_zip_keep_their_names(tmp_path):
    file, _ = beside(tmp_path, FORMS["DHAT's zip"], "dhat")
    found = open_profile(file)
    assert list(found.moments) == ["contexts", "sessions", PEAK] and not found.warnings


def test_a_profile_that_is_not_the_recorded_one_is_read_without(tmp_path, snapshot):
    file, _ = beside(tmp_path, massif(len(synthetic.PHASES)), "massif")
    file.write_text(massif(1))
    found = open_profile(file)
    assert list(found.moments) == ["snapshot 0", PEAK] and found.run is None
    assert found.warnings == snapshot


BY_HAND = {
    "tool": ('"tool":"massif"', '"tool":"heaptrack"'),
    "sessions": ('"sessions":20', '"sessions":40'),
    "phase": ('"phase":"sessions"', '"phase":"end"'),
}


@pytest.mark.parametrize("key", BY_HAND)
def test_a_record_edited_by_hand_is_a_warning(tmp_path, key, snapshot):
    file, record = beside(tmp_path, massif(len(synthetic.PHASES)), "massif")
    compact = json.dumps(json.loads(record.read_text()), separators=(",", ":"))
    assert BY_HAND[key][0] in compact
    record.write_text(compact.replace(*BY_HAND[key]))
    found = open_profile(file)
    assert (found.run, found.sessions_of_role) == (None, None) and "snapshot 0" in found.moments
    assert found.warnings == snapshot


def test_the_record_of_a_sites_run_is_a_profile(tmp_path):
    run = json.loads(FORMS["record"])["run"]
    frame = {"function": "client_session_new", "file": None, "line": None, "module": "h", "offset": 1}
    run["sites"] = {"frames": [frame], "stacks": [[0]]}
    run["phases"][1]["sites"]["live"] = [
        {"role": "client", "since": "sessions", "stack": 0, "blocks": 3, "bytes": 4072}
    ]
    file = written(tmp_path, json.dumps(json.loads(FORMS["record"]) | {"run": run}), "x.json")
    found = open_profile(file)
    assert sum_live(found.live("sessions", "client")) == LiveHeap(4072, 3) and found.file == str(file)


def test_a_record_does_not_lead_to_a_record(tmp_path, snapshot):
    _, record = beside(tmp_path, massif(1), "massif")
    record.write_bytes(record.read_bytes().replace(b"null@c.m.zst", b"null@c.m.json"))
    assert said(record) == snapshot


def said(file, **choice) -> str:
    with pytest.raises(Unreadable) as refused:
        open_profile(file, **choice)
    assert "\n" not in str(refused.value)
    return str(refused.value)


CORPUS = {
    "nothing": b"",
    "one byte": b"v",
    "text": b"Dear Sir or Madam\n",
    "text like heaptrack's": b"v for victory\n",
    "text like massif's": b"desc: of my cat\n",
    "gzip of junk": gzip.compress(bytes(range(256)) * 20),
    "gzip, cut off": gzip.compress(b"")[:5],
    "gzip of nothing": gzip.compress(b""),
    "zstd of junk": zstd.compress(bytes(range(256)) * 20),
    "zstd in name only": b"\x28\xb5\x2f\xfd" + b"\xff" * 100,
    "zip of junk": zipped(**{"a.json": "junk"}),
    "zip of nothing": b"PK\x05\x06" + b"\x00" * 18,
    "zip of massif's": zipped(contexts=massif(1)),
    "JSON of others": b'{"traceEvents": []}',
    "JSON with one of a recording's keys": b'{"key": [1]}',
    "JSON, a list": b"[1, 2]",
    "JSON, deep": b"{" + b'"a":{' * 100_000,
    "JSON with DHAT's key": b'{"dhatFileVersion": 1}',
    "JSON with a record's key": b'{"tool_version": 1}',
    "JSON with a recording's keys": b'{"key": 1, "stack": 2}\n',
    "heaptrack, nothing in it": HEAPTRACK.partition("+")[0].encode(),
    "massif, nothing in it": (HEADER + MASSIF.format(0, 0, "detailed")).encode(),
    "DHAT, nothing in it": json.dumps(DHAT | {"pps": []}).encode(),
    "DHAT, cut off": FORMS["DHAT"][:-9],
    "massif, cut off": FORMS["massif"][:99],
    "heaptrack, cut off": FORMS["heaptrack"][:30],
    "pprof, nothing in it": pprof_message.encode(PPROF._replace(samples=())),
    "pprof, cut off": FORMS["pprof"][:-9],
    "pprof of CPU time": pprof_message.encode(PPROF._replace(sample_types=(pprof_message.ValueType("cpu", "ns"),))),
    "pprof of a difference": pprof_message.encode(PPROF._replace(samples=(pprof_message.Sample((1,), (-9,)),))),
    "a program": Path("/bin/sh").read_bytes(),
}
BROKEN_ZIPS = {"zip in name only": b"PK\x03\x04" + b"\xff" * 100, "DHAT's zip, cut off": FORMS["DHAT's zip"][:-9]}
LONG_LINES = {"one line": b"a", "one line like massif's": b"desc:a", "one line like heaptrack's": b"v 1"}


@pytest.mark.parametrize("kind", CORPUS)
def test_what_is_no_profile_is_a_sentence(tmp_path, kind, snapshot):
    assert said(written(tmp_path, CORPUS[kind])) == snapshot


@pytest.mark.parametrize("kind", BROKEN_ZIPS)
def test_a_broken_zip_is_a_sentence(tmp_path, kind):
    assert ": a zip that is cut off or damaged: " in said(written(tmp_path, BROKEN_ZIPS[kind]))  # and Python's words


@pytest.mark.parametrize("kind", LONG_LINES)
def test_a_line_of_100_mib_is_a_sentence(tmp_path, kind, snapshot):
    begin = LONG_LINES[kind]
    assert said(written(tmp_path, begin + begin[-1:] * (100 << 20))) == snapshot


def test_what_is_no_file_is_a_sentence(tmp_path, snapshot):
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "loop").symlink_to("loop")
    assert [said(file) for file in (tmp_path / "pipe", "/dev/zero", tmp_path)] == snapshot
    assert said(tmp_path / "none") == f"{tmp_path}/none: cannot read it: No such file or directory"
    assert said(tmp_path / "loop").startswith(f"{tmp_path}/loop: cannot read it: Too many levels")
    assert said("a\0b").endswith("cannot read it: embedded null byte")


def test_a_recording_without_anything_has_its_reader_s_sentence(tmp_path, snapshot):
    file = written(tmp_path, gzip.compress(b"\n# strings: 0\n# ips: 0\n"))
    assert said(file) == snapshot


def test_call_trees_name_the_profile_beside_them(tmp_path, snapshot):
    tree = "# callgrind format\nversion: 1\n"
    file = tmp_path / "null@c.none.4.massif.xtree.zip"
    file.write_bytes(zipped(**{"callgrind.out.contexts": tree}))
    assert said(file) == snapshot(name="zip")
    assert said(written(tmp_path, tree.encode())) == snapshot(name="one tree")


@pytest.mark.skipif(not os.getuid(), reason="root may read all")
def test_what_may_not_be_read_is_a_sentence(tmp_path):
    file = written(tmp_path, FORMS["massif"])
    file.chmod(0)
    assert said(file) == f"{file}: cannot read it: Permission denied"


@pytest.mark.parametrize("form", sorted({*FORMS} - {"recording", "record", "pprof"}))
def test_no_damaged_file_stays_open(tmp_path, form):
    """Also where no garbage is collected, as in a command that reads recordings. Those of pprof are tried elsewhere."""
    whole = FORMS[form]
    with without_collection():
        for at in range(len(whole)):
            with suppress(Unreadable):
                open_profile(written(tmp_path, whole[:at] + b"\x00" + whole[at + 1 :]))
        assert count_open(tmp_path / "file") == 0


class Drawn:
    """The values of an example, where a property draws."""

    def __init__(self, *values: object) -> None:
        self.values = iter(values)

    def draw(self, _: object) -> object:
        return next(self.values)


@pytest.mark.thorough
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None, max_examples=400)
@example("heaptrack", bytes, Drawn(62, 4, False))
@example("heaptrack", bytes, Drawn(62, 0, False))
@given(st.sampled_from(sorted(FORMS)), st.sampled_from([bytes, gzip.compress, zstd.compress]), st.data())
def test_no_damage_is_worse_than_a_sentence(tmp_path, form, pack, data):
    whole = pack(FORMS[form])
    at = data.draw(st.integers(0, len(whole) - 1))
    flipped = bytes([whole[at] ^ 1 << data.draw(st.integers(0, 7))]) + whole[at + 1 :]
    file = written(tmp_path, whole[:at] + (b"" if data.draw(st.booleans()) else flipped))
    try:
        open_profile(file)
    except Unreadable as error:
        assert str(error).startswith(f"{file}: ") and "\n" not in str(error)
