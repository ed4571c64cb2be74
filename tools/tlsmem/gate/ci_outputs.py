"""What a CI reads of a verdict beside the text: JUnit XML, and a summary in Markdown."""

import os
from collections.abc import Sequence
from pathlib import Path
from xml.etree import ElementTree

import rich.console

from tlsmem.base.printable import printable_text
from tlsmem.compare import pull_request
from tlsmem.config import choices
from tlsmem.explore import profile_output
from tlsmem.gate import verdict_table
from tlsmem.gate.budget import BudgetError
from tlsmem.gate.grown_call_sites import Growth
from tlsmem.gate.verdicts import EXCEEDED, HELD, Ruling
from tlsmem.store.record import Record
from tlsmem.tables import render
from tlsmem.tables.table import Table

SUITE = "tls-memtest budgets"
Explained = dict[Growth, list[Ruling]]


def junit(rulings: Sequence[Ruling], growth: Explained) -> bytes:
    """A test case for each budget, with the time that its runs took; what exceeds has the call sites that are known of
    it. Names of classes and cases are the same from one commit to the next."""
    counts = {"tests": len(rulings), "failures": sum(one.verdict == EXCEEDED for one in rulings)}
    counts["errors"] = sum(one.verdict not in (HELD, EXCEEDED) for one in rulings)
    told = {name: str(count) for name, count in counts.items()}
    root = ElementTree.Element("testsuites", told)
    suite = ElementTree.SubElement(root, "testsuite", {"name": SUITE, **told, **times(rulings)})
    for one in rulings:
        budget = one.budget
        named = {"classname": xml(budget.title), "name": xml(f"{budget.place}, limit {budget.limit}")}
        named["time"] = format_seconds(one.new)
        case = ElementTree.SubElement(suite, "testcase", named)
        if one.verdict != HELD:  # what could not be judged is an error of JUnit's
            kind = "failure" if one.verdict == EXCEEDED else "error"
            fault = ElementTree.SubElement(case, kind, {"message": xml(verdict_table.describe_ruling(one))})
            fault.text = xml("\n".join([verdict_table.describe_ruling(one), *sites(one, growth)]))
    ElementTree.indent(root)
    text: bytes = ElementTree.tostring(root, encoding="utf-8", xml_declaration=True)
    return text + b"\n"


def times(rulings: Sequence[Ruling]) -> dict[str, str]:
    """What all runs took, each once, and when the first of them began; nothing where there are none."""
    runs = list({run.key: run for one in rulings for run in one.new}.values())
    if not runs:
        return {"time": format_seconds(runs)}
    return {"time": format_seconds(runs), "timestamp": min(run.started_at for run in runs).removesuffix("Z")}


def format_seconds(runs: Sequence[Record]) -> str:
    return f"{sum(run.elapsed_ns for run in runs) / 1e9:.3f}"


def sites(ruling: Ruling, growth: Explained) -> list[str]:
    return [line for one, explained in growth.items() if ruling in explained for line in one.plain_lines()]


def xml(text: str) -> str:
    """Without what no XML may have."""
    return "\n".join(map(printable_text, text.split("\n")))


def format_summary(rulings: Sequence[Ruling], growth: Explained) -> str:
    """For a page of a CI's: the answer as its heading, what is not held, the tables."""
    wrong = verdict_table.describe_failures(rulings)
    parts = [f"### {verdict_table.summarise(rulings)}", pull_request.format_bullets(wrong)]
    parts += [render.markdown(table) for table in build_tables(rulings, growth)]
    return "\n\n".join(part.strip() for part in parts if part) + "\n"


def build_tables(rulings: Sequence[Ruling], growth: Explained) -> list[Table]:
    """Return the table of all budgets, and the call sites of those that are exceeded."""
    return [verdict_table.build_table(rulings), *(one.table() for one in growth)]


def print_terminal(rulings: Sequence[Ruling], growth: Explained, console: rich.console.Console) -> None:
    """Print the verdict, green or red; what is not held; the tables."""
    wrong = verdict_table.describe_failures(rulings)
    render.print_text(console, verdict_table.summarise(rulings), "bold red" if wrong else "bold green")
    for sentence in wrong:
        render.print_text(console, f"- {printable_text(sentence)}")
    console.print()
    render.show(build_tables(rulings, growth), choices.TABLE, console)


def step_summary() -> list[Path]:
    """GitHub's, where a step of it runs."""
    named = os.environ.get("GITHUB_STEP_SUMMARY")
    return [Path(named)] if named else []


def check_outputs(files: Sequence[Path | None], budgets: Path) -> None:
    """Before anything is measured. Raises BudgetError where one is a recording or the budgets, or has no directory to
    be in."""
    named = dict.fromkeys(file for file in [*files, *step_summary()] if file)
    try:
        profile_output.check_outputs(map(str, named), [])
    except ValueError as error:
        raise BudgetError(str(error)) from None
    for file in named:
        if profile_output.is_same_file(file, budgets):
            raise BudgetError(f"{file} has the budgets; name another file to write")
        if file.is_dir():
            raise BudgetError(f"{file} is a directory; name a file to write")
        if not file.absolute().parent.is_dir():
            parent = file.absolute().parent
            why = f"{parent} is a file" if parent.exists() else f"there is no directory {parent}; make it first"
            raise BudgetError(f"{file} cannot be written: {why}")


def write_outputs(rulings: Sequence[Ruling], growth: Explained, xml: Path | None, page: Path | None) -> None:
    """OSError, which names the file, when one cannot be written; XML is whole or not there."""
    if xml:
        profile_output.write_text(junit(rulings, growth).decode(), str(xml))
    for file in filter(None, dict.fromkeys([page, *step_summary()])):
        append(file, format_summary(rulings, growth))


def append(file: Path, text: str) -> None:
    """OSError, which names the file, when it cannot be written."""
    try:
        with file.open("a", encoding="utf-8") as page:
            page.write(text)
    except OSError as error:
        raise OSError(error.errno, error.strerror, str(file)) from None
