"""What is wrong with a profile is said once, on stderr, with its file."""

import gzip

import pytest

from tests.profile.test_massif_reader import LATER, WHOLE
from tests.support.heaptrack_text import TABLES
from tlsmem.explore import profile_input, profile_tables

PACKED = gzip.compress(WHOLE.encode()) + gzip.compress(LATER.encode())[:15]
TORN = {
    "cut off: only the first 22 lines are read, and `end` is what was live there": TABLES + "+ 1\n+ 1\n+ 2\n",
    "cut off in line 51; the snapshots before are used": PACKED,
}


@pytest.mark.parametrize("sentence", TORN)
def test_a_torn_file_is_named_once(tmp_path, capsys, sentence):
    file, content = tmp_path / "torn", TORN[sentence]
    file.write_bytes(content if isinstance(content, bytes) else content.encode())
    found = profile_input.read_profile(str(file))
    assert found.torn == found.warnings[0] == sentence
    said = capsys.readouterr().err.splitlines()
    assert said == [f"memtest: {file}: {warning}" for warning in found.warnings]
    assert "cut off" not in str(profile_tables.summary(found).rows)
