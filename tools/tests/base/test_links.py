"""Links between the repository's pages lead somewhere: `make docs` sees those of docs/ alone."""

import re
import subprocess

import pytest

from tlsmem.base.paths import ROOT

LINK = re.compile(r"\]\((?!\w+:)(?P<file>[^)\s#]*)(?:#(?P<heading>[^)\s]*))?\)")
PAGES = subprocess.run(["git", "ls-files", "*.md"], cwd=ROOT, capture_output=True, text=True, check=True).stdout.split()


def anchors(text):
    """The anchors that a page's headings have on GitHub."""
    found: set[str] = set()
    for heading in re.findall(r"^#+ (.+)$", text, re.MULTILINE):
        anchor = re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-")
        found.add(next(name for name in (anchor, *(f"{anchor}-{n}" for n in range(1, 99))) if name not in found))
    return found


@pytest.mark.parametrize("page", PAGES)
def test_every_link_leads_to_a_file_and_its_heading(page):
    text = re.sub(r"`[^`\n]*`", "", (ROOT / page).read_text())
    for link in LINK.finditer(text):
        target = (ROOT / page).parent / link["file"] if link["file"] else ROOT / page
        assert target.exists(), link[0]
        if link["heading"] and target.suffix == ".md":
            assert link["heading"] in anchors(target.read_text()), link[0]


PATH = re.compile(r"`((?:\.ci|docs|harness-\w+|memtest|tools)/[\w./*-]*)`")
RECIPES = ["CONTRIBUTING.md", *(page for page in PAGES if page.startswith("docs/contributing/"))]


@pytest.mark.parametrize("page", RECIPES)
def test_files_that_a_recipe_names_are_there(page):
    """A word in capitals stands for any name."""
    for path in PATH.findall((ROOT / page).read_text()):
        assert next(ROOT.glob(re.sub(r"[A-Z]{3,}(?:_[A-Z]+)*", "*", path).rstrip("/")), None), path
