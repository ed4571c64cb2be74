"""The parser of a command in tools/, made of the table of options. Standard library only."""

import argparse
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NoReturn

from tlsmem.base import stdout
from tlsmem.base.errors import UserError
from tlsmem.base.nearest import suggest_nearest
from tlsmem.config.option_kinds import Choice, File, Flag, Parsed
from tlsmem.config.option_model import CampaignDefault, Default, Option, Words
from tlsmem.config.options import options_of_command
from tlsmem.config.toml_tables import read_tables


class CommandParser(argparse.ArgumentParser):
    """With the nearest option for one that is not known; what an option cannot be ends with one sentence and exit 2."""

    def parse_known_args(self, args: Any = None, namespace: Any = None) -> Any:
        """As argparse has it, but what is not known ends here, with the options of the answer that was named."""
        given, unknown = super().parse_known_args(args, namespace)
        if unknown:
            self.refuse_unknown(unknown)
        return given, unknown

    def error(self, message: str) -> NoReturn:
        """Raise the sentence alone: the usage of a command with thirty options would hide it."""
        raise UserError(f"{self.prog}: error: {message}", status=2)

    def exit(self, status: int = 0, message: str | None = None) -> NoReturn:
        """End the command, as --help does when it has printed."""
        raise UserError(message or "", status)

    def refuse_unknown(self, words: Sequence[str]) -> NoReturn:
        known = [flag for flag in self._option_string_actions if flag.startswith("--")]
        first = next((word.partition("=")[0] for word in words if word.startswith("--")), "")
        self.error(f"unrecognized arguments: {' '.join(words)}{suggest_nearest(first, known) if first else ''}")


def make_parser(command: str, about: str | None, epilog: str | None = None) -> CommandParser:
    """The parser of tools/COMMAND.py, with all options that the table has for it."""
    stdout.write_plain_signs()
    made = CommandParser(
        prog=f"{command.rpartition('/')[2]}.py",
        description=about,
        epilog=epilog,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    add_options(made, command)
    return made


def add_options(parser: argparse.ArgumentParser, command: str) -> None:
    groups: dict[str, Any] = {}
    for option, default in options_of_command(command):
        if option.is_positional or option.option_strings:
            add_option(container_of(option, parser, groups), option, default)


def container_of(option: Option, parser: argparse.ArgumentParser, groups: dict[str, Any]) -> Any:
    """The parser, or the group that the option stands in."""
    if option.exclusive:
        if option.exclusive not in groups:
            groups[option.exclusive] = parser.add_mutually_exclusive_group()
        return groups[option.exclusive]
    if option.group:
        if option.group not in groups:
            groups[option.group] = parser.add_argument_group(option.group)
        return groups[option.group]
    return parser


def add_option(to: Any, option: Option, default: Default) -> None:
    value = default_value(default)
    about = option.help if default is None else f"{option.help} (default: {default_text(default)})"
    words: dict[str, Any] = {"help": about.replace("%", "%%")}
    if isinstance(option.kind, Flag):
        words["action"] = "store_true" if option.const is None else "store_const"
        words["help"] = option.help.replace("%", "%%")
    else:
        words |= {"type": type_of(option), "default": value, "metavar": metavar_of(option)}
        words |= {"action": "append"} if option.repeat else {}
    words |= {name: found for name in ("nargs", "const", "dest") if (found := getattr(option, name)) is not None}
    if option.is_positional:
        to.add_argument(option.name, **words)
    else:
        to.add_argument(*option.option_strings, required=option.required, **words)


def metavar_of(option: Option) -> str | tuple[str, ...] | None:
    if option.metavar is not None:
        return option.metavar
    return f"{{{','.join(option.kind.values)}}}" if isinstance(option.kind, Choice) else None


def type_of(option: Option) -> Callable[[str], object]:
    """What makes a value of a word. Values of variables stay text, which check_options() checks as it does make's."""
    if isinstance(option.kind, Parsed):
        return option.kind.parse
    if isinstance(option.kind, Choice):
        return choice_parser(option, option.kind)
    return Path if isinstance(option.kind, File) else option.kind.normalise


def choice_parser(option: Option, kind: Choice) -> Callable[[str], str]:
    def parsed(text: str) -> str:
        try:
            kind.check(option.name, text)
        except ValueError as error:
            if not option.is_variable:
                raise argparse.ArgumentTypeError(str(error).removeprefix(f"{option.name}=")) from None
            raise UserError(str(error), status=2) from None
        return text

    return parsed


def default_value(default: Default) -> str | None:
    return None if default is None or isinstance(default, Words) else default_text(default)


def default_text(default: Default) -> str:
    """As it is shown. Raises UserError with exit status 2 where a campaign's cannot be read."""
    if not isinstance(default, CampaignDefault):
        return default or ""
    try:
        found = read_tables("campaigns").get(default.campaign, {}).get(default.key, default.otherwise)
    except ValueError as error:
        raise UserError(str(error), status=2) from None
    return " ".join(map(str, found)) if isinstance(found, list) else str(found)
