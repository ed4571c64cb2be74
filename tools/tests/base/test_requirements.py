"""The packages that commands need are those of requirements.txt; tests and linters have a file of their own."""

import ast
import importlib.metadata
import re
import sys

import pytest

from tlsmem.base.paths import ROOT

TOOLS = ROOT / "tools"
COMMANDS = [*TOOLS.glob("*.py"), *(TOOLS / "tlsmem").rglob("*.py")]
OURS = {"tlsmem"}


def read_pins(name):
    """The packages that a file of requirements pins, with their versions."""
    return dict(re.findall(r"^([\w-]+)==(\S+)", (TOOLS / name).read_text(), re.MULTILINE))


def find_imports(files):
    """First words of all that these files import, wherever in the file; the standard library's left out."""
    found = set()
    for file in files:
        for node in ast.walk(ast.parse(file.read_text())):
            if isinstance(node, ast.Import):
                found |= {alias.name.partition(".")[0] for alias in node.names}
            elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
                found.add(node.module.partition(".")[0])
    return found - set(sys.stdlib_module_names) - OURS


def test_what_commands_import_is_among_their_packages():
    distributions = importlib.metadata.packages_distributions()
    needed = {distributions[module][0].lower().replace("_", "-") for module in find_imports(COMMANDS)}
    assert needed and needed <= set(read_pins("requirements.txt"))


@pytest.mark.parametrize("name", ["pytest", "pytest-xdist", "hypothesis", "syrupy", "ruff", "import-linter", "mypy"])
def test_tests_and_linters_are_not_installed_for_a_report(name):
    assert name in read_pins("requirements-dev.txt") and name not in read_pins("requirements.txt")


@pytest.mark.parametrize("name", ["requirements", "requirements-dev", "requirements-docs", "requirements-pages"])
def test_each_package_is_pinned_by_hash(name):
    blocks = re.split(r"^(?=[\w-]+==)", (TOOLS / f"{name}.txt").read_text(), flags=re.MULTILINE)[1:]
    assert blocks and all("--hash=sha256:" in block for block in blocks)


def test_both_files_ask_for_the_same_version_of_what_both_need():
    commands, developers = read_pins("requirements.txt"), read_pins("requirements-dev.txt")
    assert all(commands[name] == version for name, version in developers.items() if name in commands)
