"""The parsers of the commands, with their texts as reStructuredText: `docs/reference/commands/` shows them.

`command_parsers.show_tables` is a function that returns the parser of `tls-memtest show tables`; so for all of them."""

import argparse
import re
import textwrap
from collections.abc import Callable

from tlsmem.cli.registry import GROUPS, group_commands

COMMANDS = {re.sub(r"\W+", "_", one.words): one for group in GROUPS for one in group_commands(group)}


def __getattr__(name: str) -> Callable[[], argparse.ArgumentParser]:
    """Return the function for a command, as sphinx-argparse asks for it."""
    if name not in COMMANDS:
        raise AttributeError(name)

    def documented_parser() -> argparse.ArgumentParser:
        parser = COMMANDS[name].parser()
        rewrite_texts(parser)
        return parser

    return documented_parser


def rewrite_texts(parser: argparse.ArgumentParser) -> None:
    """Make reStructuredText of all texts of a parser."""
    parser.description = escape(parser.description or "")
    if parser.epilog:
        heading, _, examples = parser.epilog.partition("\n")
        parser.epilog = f"{heading.capitalize().rstrip(':')}::\n\n{textwrap.indent(textwrap.dedent(examples), '  ')}"
    for action in parser._actions:
        if action.help and action.help != argparse.SUPPRESS:
            action.help = escape(action.help)


def escape(text: str) -> str:
    """Return text as reStructuredText: backquotes mark code, other markup and addresses of loopback are escaped.

    Indented lines, `  NAME  what it is`, become a definition list."""
    text = re.sub(r"^  (\S+) +(\S.*)$", r"\1\n  \2", text, flags=re.MULTILINE)
    text = re.sub(r"^(\S.*:)\n(?=\S+\n  \S)", r"\1\n\n", text, flags=re.MULTILINE)
    parts = re.split(r"`([^`\n]+)`", text)
    return "".join(
        f"``{part}``" if number % 2 else re.sub(r"([\\*_|`@]|://127)", r"\\\1", part)
        for number, part in enumerate(parts)
    )
