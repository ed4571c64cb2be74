"""Commands that sentences advise can be run: their campaigns, targets and values are defined."""

import ast
import re

import pytest

from tlsmem.base.paths import ROOT
from tlsmem.config.option_check import check_goal
from tlsmem.config.option_model import GOALS
from tlsmem.config.toml_tables import read_tables

PACKAGE = ROOT / "tools/tlsmem"
CAMPAIGN = re.compile(r"tools/measure\.py (?!0\b)([a-z0-9][\w-]*)")
TARGET = re.compile(rf"make ({'|'.join(GOALS)})((?: [A-Z]+=[^\s`'\")]+)*)(?=[\s`'\");:.,]|$)")
OPTIONS = r"--stacks?|--suites?|STACKS?=|SUITES?=|CLIENT=|SERVER="
PLACEHOLDER = re.compile(rf"(tools/measure\.py|make \w)[^`;]*({OPTIONS}) ?(STACK|SUITE|NAME)\b")


def texts() -> dict[str, str]:
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


TEXTS = texts()


def test_every_advised_campaign_is_defined():
    named = {place: CAMPAIGN.findall(text) for place, text in TEXTS.items()}
    assert sum(map(bool, named.values())) > 15
    assert {place: names for place, names in named.items() if set(names) - set(read_tables("campaigns"))} == {}


@pytest.mark.parametrize(
    ("target", "options"),
    sorted({found.groups() for text in TEXTS.values() for found in TARGET.finditer(text) if "=0" not in found[2]}),
)
def test_every_advised_target_takes_its_options(target, options):
    check_goal(target, dict(one.split("=", 1) for one in options.split()))


def test_no_advised_command_has_a_placeholder_for_a_name():
    assert {place: text for place, text in TEXTS.items() if PLACEHOLDER.search(text)} == {}
