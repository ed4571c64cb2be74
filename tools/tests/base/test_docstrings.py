"""Docstrings name exceptions that exist."""

import ast
import builtins
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

from tlsmem.base.cache_file import PACKAGE

OF_LIBRARIES = {"CalledProcessError", "ZstdError"}
ORDINARY = {  # words that begin a sentence and stand before "when" or "where"
    *("All", "Both", "Bytes", "Empty", "Established", "Exit", "Exits", "Fraction", "Instructions", "KiB", "Live"),
    *("Markdown", "Nothing", "Return", "Say", "Slopes", "What", "Whole"),
}
NAME = r"`?(?:\w+\.)*([A-Z]\w+)`?"
NAMES = rf"{NAME}(?:(?:,|,? or|,? and) {NAME})*"
SENTENCE = r",? with (?:half )?(?:a|its|one|the) (?:sentence|number)"
RAISED = re.compile(rf"\b[Rr]aises? (?:a |an )?({NAMES})")
CONDITIONAL = re.compile(
    rf"(?<![\w.-])({NAMES})(?:{SENTENCE}|,? (?:when|where|unless|naming|else)\b|,? as `?\w+`? has)"
)


@cache
def parse_package() -> dict[Path, ast.Module]:
    return {file: ast.parse(file.read_text(encoding="utf-8")) for file in sorted(PACKAGE.rglob("*.py"))}


@cache
def find_classes() -> tuple[set[str], set[str]]:
    """The names of all exceptions, Python's too, and of the package's other classes."""
    bases = {
        node.name: {getattr(base, "id", getattr(base, "attr", "")) for base in node.bases}
        for tree in parse_package().values()
        for node in ast.walk(tree)
        if isinstance(node, ast.ClassDef)
    }
    known = {
        name for name, value in vars(builtins).items() if isinstance(value, type) and issubclass(value, BaseException)
    }
    known |= OF_LIBRARIES
    while more := {name for name, those in bases.items() if those & known} - known:
        known |= more
    return known, bases.keys() - known


def find_docstrings() -> Iterator[tuple[str, str]]:
    """Each docstring in one line, with its place."""
    for file, tree in parse_package().items():
        for node in ast.walk(tree):
            has_text = isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef)
            if has_text and (text := ast.get_docstring(node)):
                yield f"{file.relative_to(PACKAGE)}:{node.body[0].lineno}", " ".join(text.split())


def find_unknown(text: str, exceptions: set[str], classes: set[str]) -> set[str]:
    """The words that read as exceptions and are none."""
    raised = {name for match in RAISED.finditer(text) for name in re.findall(NAME, match[1])}
    listed = [set(re.findall(NAME, match[0])) for match in re.finditer(NAMES, text)]
    raised |= {name for names in listed if names & exceptions for name in names}
    raised = {name for name in raised if not name.isupper()}  # ENOSPC, an errno
    conditional = {name for match in CONDITIONAL.finditer(text) for name in re.findall(NAME, match[1])}
    values = {name for name in conditional if name.isupper() or name in ORDINARY | classes | {"None", "True", "False"}}
    return (raised | conditional - values) - exceptions


@pytest.mark.thorough
def test_docstrings_name_exceptions_that_exist():
    exceptions, classes = find_classes()
    unknown = [(place, find_unknown(text, exceptions, classes)) for place, text in find_docstrings()]
    assert [(place, names) for place, names in unknown if names] == []


@pytest.mark.parametrize(
    ("text", "unknown"),
    [
        ("Raises Unusable with a sentence.", {"Unusable"}),
        ("Read it. Torn where it is cut off.", {"Torn"}),
        ("Unusable, with a sentence, where there is none.", {"Unusable"}),
        ("ValueError, Failed and OSError with a sentence.", {"Failed"}),
        ("What was measured; choice.Unmatched, with a sentence, when nothing is found.", {"Unmatched"}),
        ("Missing where one is; None where there is none. Raises KeyError at others, ValueError else.", set()),
    ],
)
def test_a_retired_exception_is_found(text, unknown):
    assert find_unknown(text, {"KeyError", "OSError", "ValueError"}, {"Missing"}) == unknown
