"""Commands that sentences advise can be run: their words, campaigns, targets and values are defined."""

import ast
import re
from functools import cache

import pytest

from tests.support import commands
from tlsmem.base.paths import ROOT
from tlsmem.cli import options as cli_options
from tlsmem.cli.registry import all_commands, find_command
from tlsmem.config.toml_tables import read_tables

PACKAGE = ROOT / "tools/tlsmem"
COMMAND = re.compile(r"tools/tls-memtest (?!0\b)([a-z]++(?: [a-z]++)?+)(?! 0)")
CAMPAIGN = re.compile(r"tools/tls-memtest measure (?!0\b)([a-z0-9][\w-]*)")
TARGETS = [command.target for command in all_commands() if command.target]
OWN = {command.words.removeprefix("measure ") for command in all_commands()}  # commands, not campaigns
TARGET = re.compile(rf"make ({'|'.join(TARGETS)})((?: [A-Z]+=[^\s`'\")]+)*)(?=[\s`'\");:.,]|$)")
OPTIONS = r"--stacks?|--suites?|STACKS?=|SUITES?=|CLIENT=|SERVER="
PLACEHOLDER = re.compile(rf"(tools/tls-memtest measure|make \w)[^`;]*({OPTIONS}) ?(STACK|SUITE|NAME)\b")


@cache
def read_texts() -> dict[str, str]:
    """Return every text of the package by its place; values that are put in when it runs are `0`."""
    found = {}
    for file in sorted(PACKAGE.rglob("*.py")):
        for node in ast.walk(ast.parse(file.read_text())):
            if isinstance(node, ast.JoinedStr):
                parts = (one.value if isinstance(one, ast.Constant) else "0" for one in node.values)
                found[f"{file.relative_to(PACKAGE)}:{node.lineno}"] = "".join(map(str, parts))
            elif isinstance(node, ast.Constant) and isinstance(node.value, str):
                found.setdefault(f"{file.relative_to(PACKAGE)}:{node.lineno}", node.value)
    return found


@pytest.mark.thorough
def test_every_advised_campaign_is_defined():
    named = {place: CAMPAIGN.findall(text) for place, text in read_texts().items()}
    assert sum(map(bool, named.values())) > 15
    defined = OWN | set(read_tables("campaigns"))
    assert {place: names for place, names in named.items() if set(names) - defined} == {}


@pytest.mark.thorough
def test_every_advised_command_is_there():
    named = {words for text in read_texts().values() for words in COMMAND.findall(text)}
    assert len(named) > 30
    for words in named:
        find_command(words.split())


def test_every_advised_target_takes_its_options():
    texts = read_texts().values()
    advised = {found.groups() for text in texts for found in TARGET.finditer(text) if "=0" not in found[2]}
    assert len(advised) > 10
    for target, options in sorted(advised):
        command = next(one for one in all_commands() if one.target == target)
        required = {
            name: value
            for key, default in command.takes.items()
            if default is cli_options.REQUIRED
            for name, value in [cli_options.OPTIONS[key].example.split("=", 1)]
        }
        commands.parse_target(target, **required | dict(one.split("=", 1) for one in options.split()))


def test_no_advised_command_has_a_placeholder_for_a_name():
    assert {place: text for place, text in read_texts().items() if PLACEHOLDER.search(text)} == {}
