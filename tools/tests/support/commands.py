"""Commands of tls-memtest as tests name them: how each is started, and what its words mean."""

import argparse
import sys
from pathlib import Path

from tlsmem.base.paths import ROOT
from tlsmem.cli.command import Command, CommandParser
from tlsmem.cli.registry import all_commands, find_command


def command_line(words: str, root: Path = ROOT) -> list[str]:
    """Return how a process of this command begins."""
    return [sys.executable, str(root / "tools/tls-memtest"), *words.split()]


def command(words: str) -> Command:
    """Return the command of these words."""
    found, rest = find_command(words.split())
    assert not rest, rest
    return found


def parser(words: str) -> CommandParser:
    return command(words).parser()


def parse(words: str, *arguments: object, checked: bool = False) -> argparse.Namespace:
    """Return the values that a command is given; with its own check if asked for. Raises UserError."""
    found = command(words)
    made = found.parser()
    given = found.parse([str(one) for one in arguments], made)
    if checked and found.check:
        found.check(given, made)
    return given


def parse_target(target: str, **options: str) -> argparse.Namespace:
    """Return the values of options that are given to make, checked. Raises UserError."""
    found = next(one for one in all_commands() if one.target == target)
    made = found.parser()
    given = found.parse([f"{name}={value}" for name, value in options.items()], made)
    if found.check:
        found.check(given, made)
    return given
