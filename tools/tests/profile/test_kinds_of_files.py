"""What `heap read` says first of each kind of file that people have: its first line and all that it warns of, or why
it reads none."""

import re

import pytest

from tests.support.in_process import exit_status
from tests.support.kinds_of_files import KINDS
from tlsmem.base.paths import ROOT
from tlsmem.cli.main import run_words

LEAST = 35
SAMPLES = 5


@pytest.mark.parametrize("kind", KINDS)
def test_each_kind_is_read_or_refused_by_one_sentence(tmp_path, capsys, kind, snapshot):
    file = tmp_path / "file"
    file.write_bytes(KINDS[kind])
    status = exit_status(lambda: run_words(["heap", "read", str(file)]))
    out, err = capsys.readouterr()
    outcome = ("read" if status == 0 else "read in part") if out else "refused"
    assert status in ((0, 1) if out else (1, 2))
    assert (out + err).replace("\n", "").isprintable()
    assert all(line.startswith(f"memtest: {file}: ") for line in err.splitlines())
    assert status == 0 or "cut off" in err if out else err.count("\n") == 1
    assert [outcome, *out.splitlines()[:1], *err.splitlines()] == snapshot


def test_the_page_has_the_number_of_kinds():
    assert len([kind for kind in KINDS if "as in" in kind]) >= SAMPLES
    found = re.search(r"(\d+) kinds of files", " ".join((ROOT / "docs/how-to/profiles.md").read_text().split()))
    assert found and int(found[1]) == len(KINDS) >= LEAST
