"""memray's files are read by memray, in a process that may break down; without memray a sentence says how to get it."""

import gzip
import importlib.util
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.memray_batch import BatchReader
from tests.support.mutations import COUNT, check_mutations
from tlsmem.profile import memray_reader, memray_records
from tlsmem.profile.errors import Unreadable
from tlsmem.profile.heap_profile import END, PEAK, sum_live
from tlsmem.profile.open_profile import open_profile

PROGRAM = """\
def small():
    return [bytes(1000 + at) for at in range(200)]

def large():
    return bytearray(5_000_000)

kept = small()
large()
"""
FEW = 50  # mutations; COUNT take half a minute
MEMORY = memray_records.ADDRESS_SPACE_OF_ANY  # bytes; of a file without damage memray needs a thirtieth of it
needs_memray = pytest.mark.skipif(
    importlib.util.find_spec("memray") is None,
    reason="memray is not installed: .venv/bin/pip install -r tools/requirements-memray.txt",
)


@pytest.fixture(scope="module")
def taken(tmp_path_factory):
    """By the options of memray."""
    folder = tmp_path_factory.mktemp("memray")
    (folder / "program.py").write_text(PROGRAM)

    def take(*options: str) -> Path:
        file = folder / "".join(["memray", *options])
        if not file.exists():
            command = [sys.executable, "-m", "memray", "run", "-q", *options, "-o", file, "program.py"]
            subprocess.run(command, cwd=folder, check=True, capture_output=True)
        return file

    return take


@pytest.mark.thorough
@needs_memray
@pytest.mark.parametrize("options", [(), ("--no-compress",), ("--aggregate",), ("--native",)], ids="".join)
def test_totals_are_memray_s(taken, options):
    import memray

    file = taken(*options)
    found = open_profile(file)
    with memray.FileReader(file) as reader:
        leaked = sum(one.size for one in reader.get_leaked_allocation_records())
        assert found.moments[PEAK].bytes == reader.metadata.peak_memory == sum_live(found.live(PEAK)).bytes
        assert found.moments[END].bytes == leaked
    assert (found.tool, found.unit, found.sampled_every_bytes) == ("memray", "requested", None)
    assert "program.py" in found.command
    frames = [frame for stack in found.live(PEAK) for frame in found.stacks.frames(stack)]
    assert ("large", 5) in {(frame.function, frame.line) for frame in frames}
    assert ("native functions" in found.notes) == ("--native" not in options)


@needs_memray
def test_a_packed_file_is_a_sentence(taken, tmp_path):
    (tmp_path / "file.gz").write_bytes(gzip.compress(taken().read_bytes()))
    with pytest.raises(Unreadable, match="which memray does not unpack: unpack it first"):
        open_profile(tmp_path / "file.gz")


@pytest.mark.thorough
@needs_memray
@pytest.mark.parametrize("count", [FEW, pytest.param(COUNT, marks=pytest.mark.slow)])
@pytest.mark.parametrize("options", [(), ("--no-compress",), ("--aggregate",)], ids="".join)
def test_no_mutation_is_worse_than_a_sentence(taken, options, count, tmp_path, monkeypatch):
    """memray's reader breaks down on some of them."""
    (tmp_path / "answers").mkdir()
    with BatchReader(tmp_path / "answers", Path(memray_records.__file__)) as reader:
        monkeypatch.setattr(memray_reader, "subprocess", reader)
        assert check_mutations(tmp_path, taken(*options).read_bytes(), count) > count / 10
    assert reader.process.returncode == 0 and 0 < reader.peak_bytes < MEMORY


RECORDS = {
    "a crash": ("import os; os.abort()", "damaged: memray's reader breaks down on it"),
    "an error": ("import sys; sys.stderr.write('no'); sys.exit(3)", "memray cannot read it: no"),
    "nonsense": ("print('[]')", "damaged: memray tells sizes or call stacks of it that cannot be"),
    "time": ("import time; time.sleep(9)", "memray did not read it within 1 s"),
}


@pytest.mark.parametrize("kind", RECORDS)
def test_what_goes_wrong_in_memray_is_a_sentence(tmp_path, monkeypatch, kind):
    code, sentence = RECORDS[kind]
    (tmp_path / "records.py").write_text(code)
    (tmp_path / "file").write_bytes(b"memray\0")
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: True)
    monkeypatch.setattr(memray_records, "__file__", str(tmp_path / "records.py"))
    monkeypatch.setattr(memray_reader, "LIMIT_S", 1 if kind == "time" else 60)
    with pytest.raises(Unreadable, match=f"^{tmp_path}/file: {sentence}$"):
        open_profile(tmp_path / "file")


def test_without_memray_a_sentence_says_how_to_install_it(tmp_path, monkeypatch):
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    (tmp_path / "file").write_bytes(b"memray\0")
    with pytest.raises(Unreadable, match=r"is not installed: .venv/bin/pip install -r tools/requirements-memray.txt$"):
        open_profile(tmp_path / "file")
