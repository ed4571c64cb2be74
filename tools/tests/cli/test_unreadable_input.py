"""One rule for what a command line names: what is not there, of another kind or damaged is exit status 2."""

import pytest

from tests.support import in_process
from tlsmem.cli.dispatch import run_words

COMMANDS = ("heap read {}", "show tables {}", "show report {}", "diff recordings {} {}")
CONTENTS = {
    "not there": None,
    "empty": b"",
    "of another kind": b"words\n",
    "cut off": b'{"key":"0","stack":"openssl@3.5.5",\n',
    "packed and cut off": b"\x28\xb5\x2f\xfd\x04\x58",
}


@pytest.mark.parametrize("content", CONTENTS)
@pytest.mark.parametrize("words", COMMANDS)
def test_what_is_named_and_cannot_be_read_is_exit_2(tmp_path, capsys, words, content):
    file = tmp_path / ("it.jsonl.zst" if content.startswith("packed") else "it.jsonl")
    if (made := CONTENTS[content]) is not None:
        file.write_bytes(made)
    assert in_process.exit_status(lambda: run_words(words.replace("{}", str(file)).split())) == 2
    told = capsys.readouterr()
    assert told.out == "" and told.err.splitlines()[-1].startswith(f"memtest: {file}")
