"""The site has a page for each command, made from its parser."""

import re

import pytest

from tlsmem.base.paths import ROOT

PAGES = ROOT / "docs/reference/commands"
PARSERS = [file.stem for file in sorted((ROOT / "tools/tlsmem/cli").glob("*.py")) if "def parser()" in file.read_text()]
COMMANDS = [name for name in PARSERS if (ROOT / f"tools/{name}.py").is_file()]


@pytest.mark.parametrize("name", COMMANDS)
def test_a_command_has_a_page_and_stands_in_the_list(name):
    page = (PAGES / f"{name}.md").read_text()
    assert f":func: {name}\n" in page and f":prog: tools/{name}.py\n" in page
    assert f"({name}.md)" in (PAGES / "index.md").read_text()


def test_no_page_is_of_a_command_that_is_gone():
    assert {file.stem for file in PAGES.glob("*.md")} == {"index", *COMMANDS}


def test_the_list_says_of_each_what_the_readme_of_the_tools_says():
    rows = dict(re.findall(r"^\| `(\w+)\.py` \| (.*) \|$", (ROOT / "tools/README.md").read_text(), re.MULTILINE))
    page = (PAGES / "index.md").read_text()
    listed = dict(re.findall(r"^\| \[`tools/(\w+)\.py`\]\(.*?\) \| (.*) \|$", page, re.MULTILINE))
    assert listed == {name: rows[name] for name in COMMANDS}
