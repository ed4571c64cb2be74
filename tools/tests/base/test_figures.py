"""Below each picture of a page stands the command that draws it again."""

import re
import shlex

import pytest

from tlsmem.base.paths import ROOT

PICTURE = re.compile(r"^!\[[^]]+\]\((?P<file>[^)]+\.(?:png|svg))\)$(?P<after>(?:\n\n.*)?)", re.MULTILINE)
PAGES = [page for page in (ROOT / "README.md", *(ROOT / "docs").rglob("*.md")) if PICTURE.search(page.read_text())]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_each_picture_is_there_and_can_be_reproduced(page):
    for picture in PICTURE.finditer(page.read_text()):
        assert (page.parent / picture["file"]).is_file()
        reproduce = re.fullmatch(r"\n\nReproduce this figure: `(?:(?P<tool>tools/.*)|make .*)`", picture["after"])
        assert reproduce, f"no line `Reproduce this figure` below {picture['file']}"
        if reproduce["tool"]:
            words = shlex.split(reproduce["tool"])
            file = (page.parent / picture["file"]).resolve().relative_to(ROOT).as_posix()
            assert (ROOT / words[0]).is_file()
            assert any(word.startswith("docs/") and file.startswith(word) for word in words)
