#!/usr/bin/env python3
"""Find words that people do not read any more: in pages, and in the texts of the package (help, captions, messages).

  tools/dev/check_words.py            every place, as FILE:LINE: WORD (write: INSTEAD); exit 1 where there is one

The words are in retired_words.toml. A text of the package is a string with a space in it: keys and names have none."""

import argparse
import ast
import re
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parents[2]
WORDS = Path(__file__).with_name("retired_words.toml")
PAGES = ("README.md", "CONTRIBUTING.md", "docs/**/*.md", "tools/README.md")
CODE = ("tools/tlsmem/**/*.py",)


class Word(NamedTuple):
    """A retired word, what to write instead, and phrases in which it is allowed."""

    pattern: re.Pattern[str]
    instead: str
    allow: tuple[str, ...]


def read_words() -> list[Word]:
    """Return the retired words."""
    found = tomllib.loads(WORDS.read_text())["word"]
    return [Word(re.compile(one["pattern"], re.I), one["instead"], tuple(one.get("allow", ()))) for one in found]


def page_texts(file: Path) -> Iterator[tuple[int, str]]:
    """Yield the lines of a page with their numbers, without commands and keys: in backquotes, fenced or indented."""
    in_fence = False
    for number, line in enumerate(file.read_text().splitlines(), 1):
        in_fence ^= line.startswith("```")
        if not in_fence and not line.startswith(("    ", "<!--")):
            yield number, re.sub(r"`[^`]*`|\([^)\s]*\)", "", line)


def code_texts(file: Path) -> Iterator[tuple[int, str]]:
    """Yield the strings that have a space in them, docstrings too, with the line that each begins in."""
    for node in ast.walk(ast.parse(file.read_text())):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and " " in node.value.strip():
            yield node.lineno, re.sub(r"`[^`]*`", "", node.value)


def find_retired(words: list[Word]) -> Iterator[str]:
    """Yield a line for each place of a retired word."""
    for patterns, read in ((PAGES, page_texts), (CODE, code_texts)):
        for file in sorted({one for pattern in patterns for one in ROOT.glob(pattern)}):
            for number, text in read(file):
                yield from retired_in(words, text, f"{file.relative_to(ROOT)}:{number}")


def retired_in(words: list[Word], text: str, place: str) -> Iterator[str]:
    """Yield a line for each retired word of a text."""
    for word in words:
        rest = text
        for phrase in word.allow:
            rest = rest.replace(phrase, "")
        for match in word.pattern.finditer(rest):
            yield f"{place}: {match[0]} (write: {word.instead})"


def main() -> None:
    argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter).parse_args()
    found = list(find_retired(read_words()))
    if found:
        print("\n".join(found))
    sys.exit(f"check: {len(found)} retired words" if found else 0)


if __name__ == "__main__":
    main()
