"""What a release says of itself is the same wherever it says it."""

import datetime
import re

import pytest

import tlsmem
from tlsmem.base.paths import ROOT

CITATION = (ROOT / "CITATION.cff").read_text()
CRATES = [*(ROOT / "harness-rust").glob("**/Cargo.toml"), *(ROOT / "tools/tlsmem").glob("**/Cargo.toml")]


def read_field(name):
    """The value of a key of CITATION.cff that stands on one line."""
    return re.search(rf"^{name}: (.+)$", CITATION, re.MULTILINE)[1]


def newest_release():
    """Version and date of the newest entry of the changelog that is a release."""
    return re.search(r"^## (\d+\.\d+\.\d+) \((\S+)\)$", (ROOT / "CHANGELOG.md").read_text(), re.MULTILINE).groups()


def test_the_package_the_citation_and_the_changelog_have_one_version():
    assert newest_release() == (tlsmem.__version__, read_field("date-released"))
    assert read_field("version") == tlsmem.__version__
    datetime.date.fromisoformat(read_field("date-released"))


@pytest.mark.parametrize("manifest", CRATES, ids=lambda file: str(file.parent.relative_to(ROOT)))
def test_every_crate_has_it_too(manifest):
    assert re.search(r'^version = "(.+)"$', manifest.read_text(), re.MULTILINE)[1] == tlsmem.__version__


def test_the_citation_names_the_licences_of_the_project():
    [entries] = re.findall(r"^license:.*\n((?:  - .*\n)+)", CITATION, re.MULTILINE)
    licences = re.findall(r"  - (.*)\n", entries)
    assert f"SPDX-License-Identifier: {' OR '.join(licences)}\n" in (ROOT / "LICENSE").read_text()
