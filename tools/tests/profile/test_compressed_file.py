"""Packed files are unpacked to their end, or to where they are torn, in pieces of bounded size."""

import bz2
import gzip
import lzma
import os
import random
from functools import cache
from itertools import pairwise

import pytest
from backports import zstd
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tlsmem.profile import compressed_file
from tlsmem.profile.errors import Unreadable

ZSTD = zstd.compress
PACKS = {"plain": bytes, "gzip": gzip.compress, "zstd": ZSTD, "bzip2": bz2.compress, "xz": lzma.compress}
PACKED = [pack for pack in PACKS if pack != "plain"]
CONTENT = random.Random(1).randbytes(600_000) + b"a line\n" * 100_000
SMALL = settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None, max_examples=50)


@cache
def pack_content(pack: str) -> bytes:
    return PACKS[pack](CONTENT)


def read_content(file) -> tuple[bytes, compressed_file.TornFile | None]:
    content = []
    try:
        content.extend(compressed_file.read_chunks(file))
    except compressed_file.TornFile as torn:
        return b"".join(content), torn
    return b"".join(content), None


@pytest.mark.parametrize("pack", PACKS)
def test_content_is_whole_and_frames_may_follow_each_other(tmp_path, pack):
    file = tmp_path / "file"
    file.write_bytes(pack_content(pack) + PACKS[pack](b"more") + PACKS[pack](b""))
    content, torn = read_content(file)
    assert content == CONTENT + b"more"
    assert torn is None


@pytest.mark.parametrize("pack", PACKS)
def test_progress_is_told_in_bytes_of_the_file_as_it_lies_there(tmp_path, pack):
    file, told = tmp_path / "file", []
    file.write_bytes(pack_content(pack))
    for _ in compressed_file.read_chunks(file, told.append):
        pass
    assert all(before <= after for before, after in pairwise(told))
    assert len(told) > 2
    assert told[-1] == file.stat().st_size


@SMALL
@given(st.floats(0.01, 0.999), st.sampled_from(PACKED))
def test_a_file_that_is_cut_off_is_torn_at_its_end(tmp_path, part, pack):
    file, whole = tmp_path / "file", pack_content(pack)
    file.write_bytes(whole[: int(len(whole) * part)])
    content, torn = read_content(file)
    assert CONTENT.startswith(content)
    assert torn
    assert torn.at == torn.size == file.stat().st_size


def test_what_was_flushed_before_the_cut_is_not_lost(tmp_path):
    file, packer = tmp_path / "file", zstd.ZstdCompressor()
    first = packer.compress(b"first\n") + packer.flush(packer.FLUSH_BLOCK)
    file.write_bytes(first)
    content, torn = read_content(file)
    assert content == b"first\n"
    assert torn


@pytest.mark.parametrize("pack", PACKED)
def test_damage_is_told_with_its_place(tmp_path, pack):
    file, whole = tmp_path / "file", pack_content(pack)
    damaged = PACKS[pack](b"first") + b"\xff" * len(whole)
    file.write_bytes(damaged)
    content, torn = read_content(file)
    assert content == b"first"
    assert torn
    assert torn.at < torn.size == len(damaged)


@pytest.mark.thorough
@pytest.mark.parametrize("pack", PACKS)
def test_little_that_unpacks_to_much_comes_in_pieces(tmp_path, pack):
    file, size = tmp_path / "file", 1 << 26
    file.write_bytes(PACKS[pack](bytes(size)))
    sizes = [len(chunk) for chunk in compressed_file.read_chunks(file)]
    assert sum(sizes) == size
    assert max(sizes) <= size / 4


def test_xz_may_have_padding_between_streams(tmp_path):
    file = tmp_path / "file"
    file.write_bytes(lzma.compress(b"first") + bytes(8) + lzma.compress(b"second") + bytes(4))
    assert read_content(file) == (b"firstsecond", None)


def test_xz_that_needs_much_memory_is_refused(tmp_path):
    """A file of a few bytes may ask for 4 GiB."""
    file = tmp_path / "file"
    filters = [{"id": lzma.FILTER_LZMA2, "preset": 0, "dict_size": 1 << 29, "mode": lzma.MODE_FAST, "mf": lzma.MF_HC3}]
    file.write_bytes(lzma.compress(b"some", filters=filters))
    content, torn = read_content(file)
    assert content == b"" and torn


@pytest.mark.parametrize(("name", "why"), [("none", "cannot read it: No such file"), (".", "not a regular file")])
def test_a_file_that_cannot_be_read_is_a_sentence(tmp_path, name, why):
    with pytest.raises(Unreadable, match=f"^{tmp_path}.*: {why}"):
        list(compressed_file.read_chunks(tmp_path / name))


def test_a_pipe_is_not_waited_for(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(Unreadable, match=f"^{tmp_path}/pipe: not a regular file$"):
        list(compressed_file.read_chunks(tmp_path / "pipe"))


STARTS = [b"", compressed_file.GZIP, compressed_file.ZSTD, compressed_file.BZIP2, compressed_file.XZ]


@given(st.binary(max_size=64), st.sampled_from(STARTS))
@SMALL
def test_any_bytes_are_content_or_torn(tmp_path, content, start):
    file = tmp_path / "file"
    file.write_bytes(start + content)
    read_content(file)
