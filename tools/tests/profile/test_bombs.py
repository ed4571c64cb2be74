"""Files made to do harm, for each reader: small ones that unpack to much, ones packed twice, with cycles in their
tables, and with escapes in the file's own name. One sentence each, after a bounded part of the file."""

import bz2
import gzip
import lzma
import re

import pytest
from backports import zstd

from tests.support.in_process import exit_status
from tests.support.kinds_of_files import GO, GPERFTOOLS, HEAPTRACK, JEMALLOC, KINDS, MASSIF, dhat, zipped
from tlsmem.cli.main import run_words
from tlsmem.profile import compressed_file, dhat_reader, heap_text_reader, massif_reader, pprof_reader
from tlsmem.profile.errors import Unreadable
from tlsmem.profile.open_profile import open_profile
from tlsmem.profile.pprof_message import encode

PACKS = {"gzip": gzip.compress, "zstd": zstd.compress, "bzip2": bz2.compress, "xz": lzma.compress}
LIMIT = 1 << 20  # bytes, in the place of the readers' own
PIECE = 16 << 20  # bytes of what may be unpacked at once
SIZE = 64 << 20
LINE = b"     2:      100 [     4:      300] @ 0x00401011 0x00401021\n"
BOMBS = {  # how a file begins, and what is repeated
    "heaptrack": (b"v 10400 3\nX ./app\nI 1000 5e3\n", b"\n"),
    "massif": (
        MASSIF.partition(b" n0: 900")[0].replace(b"n1: 900", b"n9999999: 900"),
        b" n0: 0 0x10: main (main.c:1)\n",
    ),
    "DHAT": (dhat()[:-1] + b', "more": "', b"a"),
    "pprof": (encode(GO), b"\x32\x00"),
    "gperftools": (GPERFTOOLS.partition("     1:")[0].encode(), LINE),
    "jemalloc": (JEMALLOC.partition("@")[0].encode(), b"@ 0x401011\n  t*: 2: 96 [0: 0]\n"),
}
SENTENCE = (
    r"more than 1 MiB|more than 100,000 empty lines|has more than [\d,]+ (empty lines|bytes)|too large|no heaptrack"
)


@pytest.fixture
def unpacked(monkeypatch) -> list[int]:
    """The sizes of the pieces that are unpacked; readers have a limit of LIMIT bytes."""
    for module in (massif_reader, dhat_reader, heap_text_reader, pprof_reader):
        monkeypatch.setattr(module, "LARGEST", LIMIT)
    sizes: list[int] = []
    unpack = compressed_file.unpacked

    def counted(packed):
        for piece in unpack(packed):
            sizes.append(len(piece))
            yield piece

    monkeypatch.setattr(compressed_file, "unpacked", counted)
    return sizes


@pytest.mark.parametrize("pack", PACKS)
@pytest.mark.parametrize("form", BOMBS)
def test_a_small_file_that_unpacks_to_much_is_left_early(tmp_path, unpacked, form, pack):
    begin, line = BOMBS[form]
    file = tmp_path / "bomb"
    part = PACKS[pack](line * (LIMIT // len(line)))
    file.write_bytes(PACKS[pack](begin) + part * (SIZE // LIMIT))
    assert file.stat().st_size < SIZE / 50
    with pytest.raises(Unreadable, match=rf"^{file}: .*({SENTENCE})"):
        open_profile(file)
    assert max(unpacked) <= PIECE and sum(unpacked) <= LIMIT + 2 * PIECE


@pytest.mark.thorough
def test_a_zip_that_unpacks_to_much_is_left_early(tmp_path, unpacked):
    begin, line = BOMBS["DHAT"]
    (tmp_path / "bomb").write_bytes(zipped(contexts=begin + line * SIZE))
    with pytest.raises(Unreadable, match="more than 1 MiB"):
        open_profile(tmp_path / "bomb")


@pytest.mark.parametrize("form", ["heaptrack", "massif", "DHAT", "pprof of Go", "gperftools", "jemalloc"])
def test_a_file_that_is_packed_twice_is_no_profile(tmp_path, form):
    for one in PACKS.values():
        for other in PACKS.values():
            (tmp_path / "file").write_bytes(one(other(KINDS[form])))
            with pytest.raises(Unreadable, match="not a heap profile"):
                open_profile(tmp_path / "file")


CYCLES = {
    "a call that calls itself": (HEAPTRACK.replace("t 2 1\n", "t 2 2\n"), "a number of what does not come before it"),
    "a call that a later one calls": (
        HEAPTRACK.replace("t 1 0\n", "t 1 2\n"),
        "a number of what does not come before it",
    ),
    "a frame that is not there": (dhat().replace(b'"fs": [1', b'"fs": [9'), "ftbl"),
    "a frame before the first": (dhat().replace(b'"fs": [1', b'"fs": [-1'), ""),
}


@pytest.mark.parametrize("kind", CYCLES)
def test_an_index_that_leads_back_or_nowhere_is_a_sentence(tmp_path, kind):
    content, why = CYCLES[kind]
    file = tmp_path / "file"
    file.write_bytes(content if isinstance(content, bytes) else content.encode())
    with pytest.raises(Unreadable, match=f"^{file}: .*{why}"):
        open_profile(file)


@pytest.mark.parametrize(
    "kind", ["heaptrack, cut off", "massif, cut off", "gperftools, cut off", "CSV", "DHAT, cut off"]
)
def test_escapes_in_the_file_s_name_move_no_cursor(tmp_path, capsys, kind):
    file = tmp_path / "a\x1b[31m\nb"
    file.write_bytes(KINDS[kind])
    exit_status(lambda: run_words(["heap", "read", str(file)]))
    out, err = capsys.readouterr()
    assert (out + err).replace("\n", "").isprintable()
    name = f"{tmp_path}/a?[31m?b: "
    assert err and all(
        re.fullmatch(f"memtest: {re.escape(name)}(?!{re.escape(name)}).*", line) for line in err.splitlines()
    )
