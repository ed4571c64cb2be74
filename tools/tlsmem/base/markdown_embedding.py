"""Generated text inside a Markdown file, between markers that hold the command which makes it."""

import argparse
import os
import re
import shlex
from collections.abc import Sequence
from pathlib import Path
from typing import Protocol

from tlsmem.base import atomic_file
from tlsmem.base.errors import UserError

BLOCK = re.compile(r"(<!-- begin: (?P<command>[^\n]*?) -->\n).*?(<!-- end -->)", re.DOTALL)
READ = ("recording", "profile", "diff")  # the arguments that are files


def meaning(arguments: argparse.Namespace) -> dict[str, object]:
    """Return what a command asks for, without where its result goes: equal for commands that make the same text."""
    asked = {name: value for name, value in vars(arguments).items() if name != "into"}
    return asked | {name: normal(asked[name]) for name in READ if asked.get(name)}


def normal(files: str | Path | list[str]) -> str | list[str]:
    """Return the path or paths as `os.path.normpath` writes them."""
    return [*map(os.path.normpath, files)] if isinstance(files, list) else os.path.normpath(files)


class Parser(Protocol):
    """What reads the words of a command; `prog` is how it is called, `tls-memtest show tables`."""

    prog: str

    def parse_args(self, args: Sequence[str]) -> argparse.Namespace: ...


def stands_for(command: str, arguments: argparse.Namespace, parser: Parser) -> bool:
    """Return whether this command line, of a marker, asks for the same as the arguments."""
    words, own = shlex.split(command), parser.prog.split()
    if not words or [Path(words[0]).name, *words[1 : len(own)]] != own:
        return False
    try:
        asked = meaning(parser.parse_args(words[len(own) :]))
    except UserError:  # a marker with a command that cannot be parsed
        return False
    return asked == {name: value for name, value in meaning(arguments).items() if name in asked}


def replace_block(file: Path, arguments: argparse.Namespace, parser: Parser, text: str) -> None:
    """Replace the text of every block of the file that has this command.

    Raises ValueError when no block has it, and OSError when the file cannot be read or written."""
    found = 0

    def renewed(block: re.Match[str]) -> str:
        nonlocal found
        if not stands_for(block["command"], arguments, parser):
            return block[0]
        found += 1
        return f"{block[1]}\n{text}\n{block[3]}"

    written = BLOCK.sub(renewed, file.read_text())
    if not found:
        raise ValueError(f"{file} has no place for this table: put <!-- begin: COMMAND --> and <!-- end --> there")
    with atomic_file.replace_file(file) as beside:
        beside.write_text(written)
