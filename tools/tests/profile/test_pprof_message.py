"""profile.proto: what is written is what pprof reads, what is read is what was written, and the rest is a clause."""

import gzip
import shutil
import subprocess

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tlsmem.profile import pprof_message, pprof_samples
from tlsmem.profile.pprof_message import (
    BadMessage,
    Function,
    Label,
    Line,
    Location,
    Mapping,
    Message,
    Sample,
    ValueType,
    begins_message,
    decode,
    encode,
)

MESSAGE = Message(
    sample_types=(ValueType("inuse_objects", "count"), ValueType("inuse_space", "bytes")),
    samples=(Sample((1, 2), (3, 3072)), Sample((2,), (-1, -(1 << 63)), (Label("bytes", number=1024, unit="bytes"),))),
    mappings=(Mapping(1, 0x400000, 0x500000, 0, "/bin/app", "abc", has_functions=True),),
    locations=(Location(1, 1, 0x400010, (Line(1, 7), Line(2, 9))), Location(2, 0, (1 << 64) - 1)),
    functions=(Function(1, "inner", "inner", "a.c", 5), Function(2, "main", "main", "ä.c")),
    time_ns=1,
    period_type=ValueType("space", "bytes"),
    period=524288,
    comments=("one", "two"),
    default_sample_type="inuse_space",
)


def test_what_is_written_is_read():
    assert decode(encode(MESSAGE)) == MESSAGE
    assert decode(encode(Message())) == Message()


@pytest.mark.skipif(not shutil.which("go"), reason="go is not installed")
def test_go_s_pprof_reads_what_is_written(tmp_path):
    file = tmp_path / "profile.pb.gz"
    samples = (Sample((1,), (3, 3072)), Sample((2,), (1, 1000)))
    file.write_bytes(gzip.compress(encode(MESSAGE._replace(samples=samples))))
    done = subprocess.run(["go", "tool", "pprof", "-raw", file], capture_output=True, text=True, check=True)
    for text in (
        "Period: 524288",
        "3       3072: 1",
        "1: 0x400010 M=1 inner a.c:7:0 s=5",
        "main ä.c:9",
        "/bin/app abc",
    ):
        assert text in done.stdout, done.stdout


def field(number: int, content: bytes) -> bytes:
    return bytes([number << 3 | 2, len(content)]) + content


STRINGS = field(6, b"") + field(6, b"space")
BROKEN = {
    "no strings": (b"", "it has no string_table that begins with an empty string"),
    "no empty string": (field(6, b"a"), "it has no string_table that begins with an empty string"),
    "a group": (STRINGS + b"\x0b", "it has a field of the unknown wire type 3"),
    "a short field": (STRINGS + b"\x0a\x7f", "it ends within a field"),
    "a short fixed field": (STRINGS + b"\x79\x01", "it ends within a field"),
    "a short number": (STRINGS + b"\x60\x80", "it ends within a number"),
    "a long number": (STRINGS + b"\x60" + b"\x80" * 10 + b"\x00", "it has a number of more than 64 bits"),
    "65 bits": (STRINGS + b"\x60" + b"\xff" * 9 + b"\x02", "it has a number of more than 64 bits"),
    "a number for a message": (STRINGS + b"\x10\x01", "it has a number where a message or a string is expected"),
    "bytes for a number": (STRINGS + field(12, b"1"), "its field period is no number"),
    "a string that is not there": (STRINGS + b"\x70\x02", "it names string 2 of 2"),
    "values": (STRINGS + field(2, b"\x10\x01"), "its sample 1 has 1 values for 0 sample types"),
    "a location": (STRINGS + field(2, b"\x08\x01"), "its sample 1 has a location that is not there"),
    "a mapping": (STRINGS + field(4, b"\x08\x01\x10\x09"), "its location 1 is in the mapping 9, which is not there"),
    "a function": (STRINGS + field(4, b"\x08\x01\x22\x02\x08\x09"), "its location 1 has the function 9, which is not"),
    "an id of 0": (STRINGS + field(5, b"\x08\x00"), "it has a function whose id is 0 or another's"),
    "an id twice": (STRINGS + field(4, b"\x08\x01") * 2, "it has a location whose id is 0 or another's"),
}


@pytest.mark.parametrize("kind", BROKEN)
def test_what_is_broken_is_a_clause(kind):
    content, clause = BROKEN[kind]
    with pytest.raises(BadMessage) as refused:
        decode(content)
    assert str(refused.value).startswith(clause)


def test_a_file_of_empty_parts_is_refused_before_it_fills_the_memory(monkeypatch):
    monkeypatch.setattr(pprof_message, "MOST_FIELDS", 1000)
    monkeypatch.setattr(pprof_samples, "MOST_SAMPLES", 2000)
    assert len(decode(STRINGS + field(2, b"") * 2000).samples) == 2000
    with pytest.raises(BadMessage, match="it has more than 2,000 samples"):
        decode(STRINGS + field(2, b"") * 2001)
    for more in (field(3, b"") * 1001, field(13, b"\x01" * 112) * 80):
        with pytest.raises(BadMessage, match="it has more than 1,000 fields"):
            decode(STRINGS + more)


numbers = st.one_of(st.integers(0, 3), st.integers(0, (1 << 64) - 1))


@given(st.lists(st.tuples(st.lists(numbers, max_size=5), st.booleans()), max_size=9), st.integers(1, 40))
def test_numbers_of_samples_are_read_in_any_form(lists, together):
    """Packed, or one by one; decoded in pieces of any size."""
    content = STRINGS + field(1, b"")
    for id in sorted({one for those, _ in lists for one in those} - {0}):
        content += field(4, b"\x08" + pprof_message.varint(id))
    kept = [([one for one in those if one], is_packed) for those, is_packed in lists]
    for those, is_packed in kept:
        texts = [pprof_message.varint(one) for one in those]
        locations = field(1, b"".join(texts)) if is_packed else b"".join(b"\x08" + one for one in texts)
        content += field(2, locations + b"\x10\x07")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(pprof_samples, "TOGETHER", together)
        found = decode(content).samples
    assert [list(one.locations) for one in found] == [those for those, _ in kept]
    assert all(one.values == (7,) for one in found)


BEGINNINGS = {
    b"\n\x04\x08\x01\x10\x02Z\x04\x08\x03\x10\x04`\x01": True,
    b"\n# strings: 0\n": False,
    b"2\x00": True,
    b"": False,
}


@pytest.mark.parametrize("start", BEGINNINGS)
def test_a_message_is_told_by_its_first_fields(start):
    assert begins_message(start) == BEGINNINGS[start]
    assert begins_message(encode(MESSAGE)[:60]) and begins_message(encode(MESSAGE))


def test_fields_of_a_newer_version_are_passed_over():
    newer = b"\xa0\x06\x01" + b"\xa1\x06" + bytes(8) + b"\xa5\x06" + bytes(4) + b"\xa2\x06\x03abc"
    assert decode(newer + encode(MESSAGE)) == MESSAGE


def test_a_number_that_has_no_64_bits_is_not_written():
    with pytest.raises(ValueError, match="64 bits"):
        encode(Message(period=1 << 64))


@pytest.mark.thorough
@settings(max_examples=1000)
@given(st.data())
def test_no_damage_is_worse_than_a_clause(data):
    whole = encode(MESSAGE)
    at = data.draw(st.integers(0, len(whole) - 1))
    byte = bytes([data.draw(st.integers(0, 255))])
    try:
        decode(
            data.draw(
                st.sampled_from([whole[:at], whole[:at] + byte + whole[at:], whole[:at] + byte + whole[at + 1 :]])
            )
        )
    except BadMessage as error:
        assert str(error).startswith("it")
