"""Where an answer goes: a terminal by way of a pager, or the file of -o in the format of its name. Standard library
only."""

import argparse
import contextlib
import os
import shlex
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import BinaryIO

from tlsmem.base import atomic_file, stdout
from tlsmem.base.errors import UserError
from tlsmem.config.choices import CSV, JSON, MARKDOWN, TABLE

FORMATS = {".md": MARKDOWN, ".csv": CSV, ".json": JSON, ".txt": TABLE}  # of files, by how their names end
PICTURES = (".png", ".svg", "")
PAGER = "less -FRX"  # quits where one screen is enough


def text_file(given: argparse.Namespace, draws: bool) -> Path | None:
    """Return the file that the answer goes to as text; its format is then in `given`. None where there is none, or
    where it is a picture, which the command draws itself. Raises UserError."""
    file: Path | None = given.output
    if file is not None and file.exists() and not file.is_file():
        raise UserError(f"-o {file} is {'a directory' if file.is_dir() else 'no regular file'}; name a file", 2)
    if file is not None and file.name in FORMATS:
        raise UserError(f"-o {file}: there is nothing before {file.name}; name a file", 2)
    if file is None or (draws and file.suffix in PICTURES):
        return None
    if file.suffix not in FORMATS:
        endings = [*FORMATS, *PICTURES[:-1]] if draws else [*FORMATS]
        raise UserError(f"-o {file}: the name must end in {', '.join(endings[:-1])} or {endings[-1]}", 2)
    form = FORMATS[file.suffix]
    if getattr(given, "into", None):
        raise UserError("-o and --into both say where the answer goes; leave one out", 2)
    if given.format and given.format != form:
        raise UserError(
            f"-o {file} is a file of {form}, and --format {given.format} asks for another; leave one out", 2
        )
    given.format, given.output = form, None
    return file


@contextlib.contextmanager
def write_to_file(file: Path) -> Iterator[None]:
    """Let stdout be the file, complete or not at all. Raises UserError where it cannot be written."""
    try:
        with atomic_file.replace_file(file) as beside, open(beside, "w") as stream, contextlib.redirect_stdout(stream):
            yield
    except OSError as error:
        raise UserError(f"{file}: {error.strerror}") from None


@contextlib.contextmanager
def page_on_terminal() -> Iterator[None]:
    """Let a pager show what is written to a terminal; nothing else changes: tables have its width, and colours."""
    try:
        words = shlex.split(os.environ.get("PAGER") or PAGER)
    except ValueError as error:
        raise UserError(f"PAGER={os.environ['PAGER']}: {error}; correct it, or unset it") from None
    if not (stdout.is_terminal() and sys.stdin and sys.stdin.isatty() and words and shutil.which(words[0])):
        yield
        return
    columns = str(shutil.get_terminal_size().columns)
    sys.stdout.flush()
    terminal, answer = os.dup(1), os.memfd_create("answer")
    os.dup2(answer, 1)
    before = {name: os.environ.get(name) for name in ("COLUMNS", "TTY_COMPATIBLE")}
    os.environ |= {"COLUMNS": columns, "TTY_COMPATIBLE": "1"}  # rich then draws as on the terminal
    stdout.is_paged = True
    try:
        yield
    finally:
        sys.stdout.flush()
        os.dup2(terminal, 1)
        os.close(terminal)
        stdout.is_paged = False
        for name, value in before.items():
            os.environ.pop(name) if value is None else os.environ.update({name: value})
        with open(answer, "rb") as text:
            if os.fstat(answer).st_size:
                show_by_pager(words, text)


def show_by_pager(words: Sequence[str], text: BinaryIO) -> None:
    """Let a pager show a file; where the pager cannot, print it on stdout."""
    text.seek(0)
    try:
        pager = subprocess.Popen(words, stdin=text)
    except OSError:
        status = 1
    else:
        interrupt = signal.signal(signal.SIGINT, signal.SIG_IGN)  # less goes on after Ctrl-C, and has the terminal
        status = pager.wait()
        signal.signal(signal.SIGINT, interrupt)
    if status:
        text.seek(0)
        shutil.copyfileobj(text, sys.stdout.buffer)
        sys.stdout.flush()
