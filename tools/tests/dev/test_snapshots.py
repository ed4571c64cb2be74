"""Every snapshot belongs to a test that is there. `make check` leaves out syrupy's own search for unused ones, which
takes two seconds of each worker and five after the last test; `make snapshots` does it, and removes them."""

import re

from tlsmem.base.paths import ROOT

NAME = re.compile(r"^# name: (?:[A-Z]\w*\.)?(\w+)", re.MULTILINE)
TEST = re.compile(r"^ *def (test_\w+)\(", re.MULTILINE)


def test_every_snapshot_belongs_to_a_test():
    found = [(file, set(NAME.findall(file.read_text()))) for file in ROOT.glob("*/tests/**/__snapshots__/*.ambr")]
    assert len(found) > 50 and all(names for _, names in found)
    for file, names in found:
        test = file.parent.parent / f"{file.stem}.py"
        assert test.is_file(), f"{file}: no {test.name}"
        unused = names - set(TEST.findall(test.read_text()))
        assert not unused, f"{file}: no {', '.join(sorted(unused))}: `make snapshots` removes them"
