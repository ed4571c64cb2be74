"""What `plan` prints: the answer in the first line, what it consists of, and what to know about it, in 80 columns."""

import re
from collections.abc import Sequence
from typing import NamedTuple

import rich.console
from rich.text import Text

from tlsmem.base import stdout
from tlsmem.tables.table import Table

COLUMNS = 80
LABEL_CELLS, FIGURE_CELLS = 23, 11
COMMAND = re.compile(r"\b(?:tools/tls-memtest|make) [a-z][^;()]*[;)]?")


class Line(NamedTuple):
    """A part of an answer: what it is, its figure, and a remark."""

    label: str
    figure: str
    remark: str = ""


class Section(NamedTuple):
    """What the answer for one stack consists of."""

    title: str
    lines: Sequence[Line]


class Answer(NamedTuple):
    """An answer; the tables below it are printed on request."""

    headlines: Sequence[str]  # one for each stack
    sections: Sequence[Section]
    notes: Sequence[str]  # what the words mean, what is left out, where the figures are from, what to ask next
    tables: Sequence[Table]
    left_out: Sequence[str] = ()  # why stacks that were asked for are not in it


def describe_answer(answer: Answer) -> Text:
    """Return the screen."""
    screen = Text()
    for headline in answer.headlines:
        screen.append(f"{headline}\n", style="bold")
    for section in answer.sections:
        screen.append(f"\n{section.title}\n")
        for line in section.lines:
            text = f"  {line.label:<{LABEL_CELLS}}{line.figure:>{FIGURE_CELLS}}  {line.remark}"
            screen.append(f"{text.rstrip()}\n")
    screen.append("\n")
    for note in answer.notes:
        screen.append(f"{note}\n")
    return screen


def wrap_screen(screen: Text, console: rich.console.Console) -> list[Text]:
    """Return the lines at the console's width, without blanks at their ends."""
    lines = [part for line in screen.split("\n", allow_blank=True) for part in wrap_line(line, console)]
    for line in lines:
        line.rstrip()
    return lines


def wrap_line(line: Text, console: rich.console.Console) -> list[Text]:
    """Wrap a line. A command is never broken: in a line that is too long, it has a line of its own."""
    command = COMMAND.search(line.plain)
    if line.cell_len <= console.width or not command:
        return [*line.wrap(console, console.width)]
    before, own, after = line.divide(command.span())
    rest = after.wrap(console, console.width) if after.plain.strip() else ()
    return [*before.wrap(console, console.width), Text("  ").append_text(own), *rest]


def plain_screen(answer: Answer) -> str:
    """Return the screen as text of 80 columns."""
    console = rich.console.Console(width=COLUMNS)
    return "\n".join(line.plain for line in wrap_screen(describe_answer(answer), console)).rstrip() + "\n"


def print_screen(answer: Answer) -> None:
    """Print at 80 columns, the answer in bold on a terminal."""
    with stdout.raise_write_errors():
        width = min(COLUMNS, rich.console.Console().width) if stdout.is_terminal() else COLUMNS
        console = rich.console.Console(width=width, highlight=False)
        for line in wrap_screen(describe_answer(answer), console)[:-1]:
            console.print(line, soft_wrap=True)
