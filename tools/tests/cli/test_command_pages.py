"""The site has a page for each command, made from its parser."""

import pytest

from tlsmem.base.paths import ROOT

PAGES = ROOT / "docs/reference/commands"
PARSERS = [file.stem for file in sorted((ROOT / "tools/tlsmem/cli").glob("*.py")) if "def parser()" in file.read_text()]
COMMANDS = [name for name in PARSERS if (ROOT / f"tools/{name}.py").is_file()]


@pytest.mark.parametrize("name", COMMANDS)
def test_a_command_has_a_page(name):
    page = (PAGES / f"{name}.md").read_text()
    assert f":func: {name}\n" in page and f":prog: tools/{name}.py\n" in page


def test_no_page_is_of_a_command_that_is_gone():
    assert {file.stem for file in PAGES.glob("*.md")} == {"index", *COMMANDS}
