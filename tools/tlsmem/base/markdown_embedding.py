"""Generated text inside a Markdown file, between markers that hold the command which makes it."""

import argparse
import os
import re
import shlex
import shutil
from pathlib import Path

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


def stands_for(command: str, arguments: argparse.Namespace, parser: argparse.ArgumentParser) -> bool:
    """Return whether this command line, of a marker, asks for the same as the arguments."""
    words = shlex.split(command)
    if not words or Path(words[0]).name != parser.prog:
        return False
    try:
        return meaning(parser.parse_args(words[1:])) == meaning(arguments)
    except UserError:  # a marker with a command that argparse does not know
        return False


def replace_block(file: Path, arguments: argparse.Namespace, parser: argparse.ArgumentParser, text: str) -> None:
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
    write_atomically(file, written)


def write_atomically(file: Path, text: str) -> None:
    """Replace the file's text completely, or leave the file as it was, for instance when the disk is full.

    A symbolic link stays one. Raises OSError, which names the file."""
    file = file.resolve()
    beside = file.with_name(f".{file.name}.{os.getpid()}")
    try:
        beside.write_text(text)
        shutil.copymode(file, beside)
        os.replace(beside, file)
    except OSError as error:
        raise OSError(error.errno, error.strerror, str(file)) from None
    finally:
        beside.unlink(missing_ok=True)
