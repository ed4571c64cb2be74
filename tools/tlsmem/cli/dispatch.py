"""Which command of tls-memtest is meant: its words are parsed and checked, and it runs.

Standard library only, up to the command's own `run`."""

import argparse
import contextlib
import signal
from collections.abc import Sequence
from pathlib import Path

from tlsmem.base import stdout, venv
from tlsmem.base.errors import UserError
from tlsmem.base.repository import require_clone
from tlsmem.cli import help, registry
from tlsmem.cli.command import CLUSTER, CORE, NONE, Command, CommandParser
from tlsmem.cli.output import page_on_terminal, text_file, write_to_file

HELP = ("-h", "--help")


def run_words(words: Sequence[str]) -> int | None:
    """Run the command that these words name, and return its status. Raises UserError.

    A reader of its output that has seen enough ends it without a word. A command that must go on, as one that measures
    a program does, ignores that signal itself."""
    signal.signal(signal.SIGPIPE, signal.SIG_DFL)
    if not words or words[0] in HELP:
        return print_page(help.front_page())
    if words[1:2] and words[1] in HELP and words[0] in registry.GROUPS:
        return print_page(help.page_of(words[:1]))
    command, rest = registry.find_command(words)

    def step() -> int | None:
        if command.words.startswith(registry.OF_A_CLONE) and command.words not in registry.SHOW_RECORDED:
            require_clone(command.words)
        parser = command.parser()
        parser.known_elsewhere = registry.describe_owners
        given = command.parse(rest, parser)
        if command.check:
            command.check(given, parser)
        if command.packages != NONE:
            cluster = command.packages == CLUSTER or bool(getattr(given, "cluster", None))
            venv.activate(core=command.packages == CORE, cluster=cluster)
        return answer(command, given, parser)

    return command.around(step, rest) if command.around else step()


def answer(command: Command, given: argparse.Namespace, parser: CommandParser) -> int | None:
    """Run a command; what it prints goes where it was asked to go."""
    assert command.run
    check_page(getattr(given, "into", None))
    file = text_file(given, command.draws) if hasattr(given, "output") and command.is_answer else None
    is_short = not command.is_answer or given.format or getattr(given, "into", None)
    is_short = is_short or bool(command.streams and getattr(given, command.streams))
    with write_to_file(file) if file else contextlib.nullcontext() if is_short else page_on_terminal():
        return command.run(given, parser)


def check_page(page: Path | None) -> None:
    """Before anything is computed. Raises UserError."""
    if page and not page.is_file():
        marks = "<!-- begin: COMMAND --> and <!-- end -->"
        raise UserError(f"--into {page}: there is no such file; name a page of Markdown that has {marks}", 2)


def print_page(text: str) -> int:
    with stdout.raise_write_errors():
        print(text)
    return 0
