"""The table of options as text: for `make help`, make itself, and docs/reference/options.md. Standard library only."""

import textwrap
from collections.abc import Iterable, Iterator, Mapping

from tlsmem.config.option_kinds import Flag
from tlsmem.config.option_model import GOALS, Default, Option
from tlsmem.config.option_parser import default_text
from tlsmem.config.option_variables import VARIABLES
from tlsmem.config.options import OPTIONS, options_of_command, options_of_goal

WIDTH = 118
MAKEFILE = "# Which options each target takes: made by tools/names.py --makefile of config/option_variables.py."


def help_text(goal: str | None = None) -> str:
    """The options of a target; of None all, each once, with the targets that take it."""
    if goal:
        options = options_of_goal(goal).values()
        return "\n".join(line for one in options for line in paragraph(one, default_text(one.goals[goal])))
    targets = [f"  {name:<18}{' '.join(options_of_goal(name))}" for name in GOALS]
    lines = [line for one in VARIABLES for line in paragraph(one, defaults_text(one.goals))]
    return "\n".join(["options of each target:", *targets, "", "options:", *lines])


def paragraph(option: Option, default: str) -> Iterator[str]:
    indent = " " * 20
    yield f"  {option.name:<18}{option.help}"
    values = option.kind.describe().replace("`", "")
    yield f"{indent}{values}; for instance {option.example}"
    for line in textwrap.wrap(f"default: {default}", WIDTH - len(indent), break_on_hyphens=False):
        yield indent + line


def defaults_text(defaults: Mapping[str, Default]) -> str:
    """`10000 (mem); 200 (compare)`; the default alone where it is everywhere the same."""
    by_text: dict[str, list[str]] = {}
    for name, default in defaults.items():
        by_text.setdefault(default_text(default), []).append(name)
    if len(by_text) == 1:
        return next(iter(by_text))
    return "; ".join(f"{text} ({', '.join(names)})" for text, names in by_text.items())


def makefile_text() -> str:
    """Lines that the Makefile includes."""
    switches = dict.fromkeys(option.name for option in VARIABLES if isinstance(option.kind, Flag))
    lines = (f"{name}: goal := {name}\n{name}: takes := {' '.join(options_of_goal(name))}" for name in GOALS)
    return "\n".join([MAKEFILE, f"switches := {' '.join(switches)}", *lines])


def reference_text() -> str:
    """docs/reference/options.md, below its heading."""
    variables = [variable_row(option) for option in VARIABLES]
    targets = [(f"`{name}`", " ".join(options_of_goal(name))) for name in GOALS]
    parts = ["## Options of make", "", *table(("option", "meaning", "values", "default", "for instance"), variables)]
    parts += ["", "## Targets of make", "", *table(("target", "options"), targets)]
    for command in commands():
        rows = [command_row(*taken) for taken in options_of_command(command) if is_argument(taken[0])]
        if rows:
            script, _, answer = command.partition(" ")
            heading = f"## tools/{script}.py {answer}".rstrip()
            parts += ["", heading, "", *table(("option", "meaning", "values", "default"), rows)]
    return "\n".join(parts)


def commands() -> list[str]:
    """Every command with options, those for developers last."""
    named = {command for option in OPTIONS for command in option.commands}
    return sorted(named | {command for command in GOALS.values() if command}, key=lambda name: ("/" in name, name))


def is_argument(option: Option) -> bool:
    return option.is_positional or bool(option.option_strings)


def variable_row(option: Option) -> tuple[str, ...]:
    values = (option.help, option.kind.describe(), defaults_text(option.goals), f"`{option.example}`")
    return f"`{option.name}`", *values


def command_row(option: Option, default: Default) -> tuple[str, ...]:
    names = option.option_strings or (option.metavar or option.name,)
    needed = "required" if option.required else "" if default is None else default_text(default)
    return ", ".join(f"`{name}`" for name in names), option.help, option.kind.describe(), needed


def table(head: tuple[str, ...], rows: Iterable[tuple[str, ...]]) -> list[str]:
    lines = [head, tuple("---" for _ in head), *(tuple(cell.replace("|", "\\|") for cell in row) for row in rows)]
    return [f"| {' | '.join(line)} |" for line in lines]
