"""The site has a page for each first word of a command, and on it a section for each command, made from its parser."""

import os
import re
from importlib.util import module_from_spec, spec_from_file_location

import pytest

from tlsmem.base.paths import ROOT
from tlsmem.cli.registry import GROUPS, group_commands

PAGES = ROOT / "docs/reference/commands"


@pytest.fixture(scope="module")
def command_parsers():
    spec = spec_from_file_location("command_parsers", ROOT / "docs/command_parsers.py")
    module = module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize("group", GROUPS)
def test_a_page_has_a_section_for_each_command(group, command_parsers):
    page = (PAGES / f"{group}.md").read_text()
    commands = [one.words for one in group_commands(group)]
    functions = re.findall(r":func: (\w+)\n", page)
    assert re.findall(r":prog: tls-memtest (.*)\n", page) == commands
    assert [command_parsers.COMMANDS[name].words for name in functions] == commands
    assert re.findall(r"^#+ (.*)", page, re.MULTILINE) == [
        f"tls-memtest {group}",
        *([] if len(commands) == 1 else commands),
    ]


def test_no_page_is_of_a_command_that_is_gone():
    assert {file.stem for file in PAGES.glob("*.md")} == {"index", *GROUPS}


def readme_rows(heading):
    """The names in the first column of the tables below a heading of tools/README.md."""
    section = (ROOT / "tools/README.md").read_text().partition(f"## {heading}\n")[2].partition("\n## ")[0]
    cells = re.findall(r"^\| (`.*?`) \|", section, re.MULTILINE)
    return sorted(name for cell in cells for name in re.findall(r"`(.*?)`", cell))


def test_the_readme_lists_the_commands():
    commands = [one.words for group in GROUPS for one in group_commands(group)]
    commands[commands.index("measure")] = "measure CAMPAIGN"
    assert readme_rows("The command") == sorted(words for words in commands if " --" not in words)


def test_the_readme_lists_the_scripts_of_developers():
    scripts = [file for file in (ROOT / "tools/dev").glob("*.py") if os.access(file, os.X_OK)]
    assert readme_rows("For developers") == sorted(f"dev/{file.name}" for file in scripts)


def test_a_stack_is_no_address_of_mail(command_parsers):
    assert command_parsers.escape("as `openssl@3.5.5`, or openssl@3.5.5") == "as ``openssl@3.5.5``, or openssl\\@3.5.5"


def test_indented_names_become_a_list_of_definitions(command_parsers):
    text = "The status:\n  0    all is well\n  125  no build\n\n  W  as --rate says\n"
    assert command_parsers.escape(text) == ("The status:\n\n0\n  all is well\n125\n  no build\n\nW\n  as --rate says\n")
