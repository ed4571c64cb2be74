"""Lines that cannot be true, or were changed, are named by file and line; what is right is read."""

import json
import re

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from tests.support import planted, synthetic_timed
from tests.support.synthetic import keyed, record, write
from tlsmem.base.errors import UserError
from tlsmem.schema import append_records, read_records, recording_files, records
from tlsmem.schema.manifest import BadRecording
from tlsmem.schema.records import RecordLine

STACK = "null@c"
HEAP = record(STACK, "none", 4, "heap")
TIMED = synthetic_timed.record(STACK, "none")
PEAK = planted.run("sites", 2, momentary=planted.MOMENTARY)
WRITTEN = [record(STACK, "none", sessions, "heap", schema=records.SCHEMA) for sessions in (2, 4, 6)]
WAY_OUT = "restore the file from git or a copy, or record again into another OUT="


def changed(run: RecordLine, change) -> bytes:
    """The run's line with `change` made to its fields."""
    fields = json.loads(run.to_json_line())
    change(fields)
    return json.dumps(fields).encode()


def refusal(tmp_path, line: bytes) -> str:
    """Of a line that is the second of its file."""
    file = tmp_path / f"{STACK}.jsonl"
    file.write_bytes(record(STACK, "none", 2).to_json_line() + line + b"\n")
    with pytest.raises(UserError) as stop:
        read_records.load(tmp_path)
    said = str(stop.value)
    assert said.startswith(f"{file}: line 2") and said.endswith(WAY_OUT) and "\n" not in said
    return said


def heap(fields: dict, role: str = "client", phase: int = 5) -> dict:
    return fields["phases"][phase]["heap"][role]


def peaks(fields: dict, phase: int = 2) -> dict:
    return fields["phases"][phase]["sites"]


IMPOSSIBLE = {
    "peak RSS": (HEAP, lambda one: one["phases"][5].update(peak_rss_bytes=1), "peak_rss_bytes is 1, below rss_bytes"),
    "RSS": (HEAP, lambda one: one["phases"][5].update(rss_shmem_bytes=1), "not the sum of"),
    "live": (HEAP, lambda one: heap(one).update(peak_bytes=heap(one)["live_bytes"] - 1), "above peak_bytes"),
    "cumulative": (HEAP, lambda one: heap(one).update(cumulative_bytes=1), "more was live than was ever allocated"),
    "blocks": (HEAP, lambda one: heap(one).update(cumulative_blocks=1), "more was live than was ever allocated"),
    "peak stacks": (
        PEAK,
        lambda one: peaks(one)["peak"].pop(),
        "sites: peak: the server's call stacks add up to 14,116 bytes, and peak_bytes is 14,756",
    ),
    "peak of a session above all sessions'": (
        PEAK,
        lambda one: heap(one, phase=2).update(peak_bytes=21_000),
        "sites: peak_bytes of the client is 21,100, not from 14,100 live to 21,000 at the most",
    ),
    "peak below what is live": (
        PEAK,
        lambda one: peaks(one, 4).update(planted.peak([])),
        "sites: peak_bytes of the client is 0, not from 14,100 live to ",
    ),
    "roles": (HEAP, lambda one: heap(one, "harness").update(cumulative_blocks=7), "cumulative_blocks of the roles is"),
    "key": (HEAP, lambda one: one.update(suite="another"), "but its fields have the key"),
    "machine": (HEAP, lambda one: one["machine"].update(kernel="7"), "but its fields have the key"),
    "infinite load": (TIMED, lambda one: one["noise"].update(load=float("inf")), "noise.load: "),
    "NaN": (TIMED, lambda one: one["noise"].update(mhz=[float("nan"), 1.0]), "noise.mhz.0: "),
    "more than 64 bits": (HEAP, lambda one: one.update(elapsed_ns=1 << 63), "elapsed_ns: Input should be less than"),
    "a block of more than 64 bits": (PEAK, lambda one: peaks(one)["live"][0].update(bytes=1 << 63), "live.0.bytes: "),
    "resumed": (TIMED, lambda one: one["timings"][0].update(resumed=10**9), "above rounds"),
    "part": (
        TIMED,
        lambda one: one["timings"][0]["parts"][0].update(total_ns=10**18),
        "above the thread's",
    ),
    "checksum": (HEAP, lambda one: one.update(checksum="0" * 16), "its schema has no checksum"),
    "no checksum": (HEAP, lambda one: one.update(schema=5), "it does not end in its checksum"),
}


@pytest.mark.parametrize("name", IMPOSSIBLE)
def test_what_cannot_be_true_is_one_sentence_with_its_line(tmp_path, name):
    run, change, said = IMPOSSIBLE[name]
    assert said in refusal(tmp_path, changed(run, change))


def test_a_number_beyond_all_is_refused_as_infinity(tmp_path):
    line = TIMED.to_json_line().strip().replace(b'"load":0.1', b'"load":1e999')
    assert "noise.load: " in refusal(tmp_path, line)


def test_more_blocks_live_than_at_the_peak_of_bytes_is_possible(tmp_path):
    def change(fields):
        heap(fields)["peak_blocks"] = 0

    (tmp_path / f"{STACK}.jsonl").write_bytes(changed(HEAP, change) + b"\n")
    assert len(read_records.load(tmp_path)) == 1


def objects(value, path=()):
    """Each object in a JSON value, by the way to it."""
    if isinstance(value, dict):
        yield path
    parts = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for name, part in parts:
        yield from objects(part, (*path, name))


OBJECTS = list(objects(json.loads(HEAP.to_json_line())))


@settings(max_examples=60, deadline=None)
@given(place=st.sampled_from(OBJECTS), at=st.integers(0))
def test_a_key_that_stands_twice_is_named(place, at):
    fields = json.loads(HEAP.to_json_line())
    holder = fields
    for name in place:
        holder = holder[name]
    assume(holder)
    name = [*holder][at % len(holder)]
    mark = "a mark that stands nowhere else"
    holder[mark] = holder[name]
    line = json.dumps(fields).replace(json.dumps(mark), json.dumps(name)).encode()
    assert json.loads(line) == json.loads(HEAP.to_json_line())  # JSON's readers take the last
    with pytest.raises(
        BadRecording, match=re.escape(f"f: line 1: the key {name} stands twice in an object; {WAY_OUT}")
    ):
        read_records.parse(line, "f: line 1")


def test_what_is_appended_ends_in_its_checksum_and_is_read_back(tmp_path):
    for run in WRITTEN:
        append_records.append(tmp_path, run)
    lines = (tmp_path / f"{STACK}.jsonl").read_bytes().splitlines()
    assert [list(json.loads(line))[-1] for line in lines] == ["checksum"] * 3
    found = read_records.load(tmp_path)
    assert [run.model_copy(update={"checksum": None}) for run in found] == WRITTEN
    assert [run.to_json_line() for run in found] == [run.to_json_line() for run in WRITTEN]


CONTENT = b"".join(run.to_json_line() for run in WRITTEN)


@pytest.mark.thorough
@settings(max_examples=300, deadline=None)
@given(bit=st.integers(0, 8 * len(CONTENT) - 1))
def test_every_flipped_bit_is_found_with_its_line(tmp_path_factory, bit):
    """Only the last line may be taken for one that was cut off; readers then exit with 1 too."""
    at = bit // 8
    content = bytearray(CONTENT)
    content[at] ^= 1 << bit % 8
    file = tmp_path_factory.mktemp("flipped") / f"{STACK}.jsonl"
    file.write_bytes(content)
    number = CONTENT[:at].count(b"\n") + 1
    recording_files.skipped_lines.clear()
    try:
        read_records.load_file(file)
        said = recording_files.skipped_lines.pop()
    except UserError as error:
        said = str(error)
    assert said.startswith(f"{file}: line {number} ")


def test_a_changed_line_is_said_to_be_changed(tmp_path):
    line = WRITTEN[1].to_json_line().strip().replace(b'"elapsed_ns":1000000000', b'"elapsed_ns":1000000001')
    assert line != WRITTEN[1].to_json_line().strip()
    assert "line 2 was changed after it was recorded: its checksum does not match" in refusal(tmp_path, line)


HOSTILE = "a\x1b[2Jb\x9bc\u202ed\ne\x7f"


def test_no_control_character_of_a_record_comes_out_of_the_reader(tmp_path):
    run = record(
        STACK, "none", 2, reported=HOSTILE, environment={"aslr": "off", "thp": "off", "cpu": 0, "notes": [HOSTILE]}
    )
    named = keyed(run.model_copy(update={"suite": HOSTILE, "argv": [HOSTILE]}))
    for file, line in (
        ("escaped", json.dumps(json.loads(named.to_json_line())).encode()),
        ("raw", named.to_json_line().strip()),
    ):
        (tmp_path / f"{file}.jsonl").write_bytes(line + b"\n")
        (found,) = read_records.load_file(tmp_path / f"{file}.jsonl")
        assert {found.reported, found.suite, *found.argv, *found.environment.notes} == {"a?[2Jb?c?d?e?"}


def test_a_sentence_about_a_hostile_key_is_printable(tmp_path):
    said = refusal(tmp_path, changed(HEAP, lambda one: one.update({HOSTILE: 1})))
    assert said.isprintable() and "a?[2Jb?c?d?e?: no such key" in said


def test_letters_of_any_language_stay_as_they_are(tmp_path):
    write(tmp_path, [record(STACK, "none", 2, reported="zürich – 東京")])
    assert read_records.load(tmp_path)[0].reported == "zürich – 東京"
