"""The site has a page for each command, made from its parser."""

from importlib.util import module_from_spec, spec_from_file_location

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


@pytest.fixture(scope="module")
def command_parsers():
    spec = spec_from_file_location("command_parsers", ROOT / "docs/command_parsers.py")
    module = module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_a_stack_is_no_address_of_mail(command_parsers):
    assert command_parsers.escape("as `openssl@3.5.5`, or openssl@3.5.5") == "as ``openssl@3.5.5``, or openssl\\@3.5.5"


def test_indented_names_become_a_list_of_definitions(command_parsers):
    text = "The status:\n  0    all is well\n  125  no build\n\n  W  as --rate says\n"
    assert command_parsers.escape(text) == ("The status:\n\n0\n  all is well\n125\n  no build\n\nW\n  as --rate says\n")
