"""What a CI reads of a verdict beside the text: JUnit XML, and a summary in Markdown."""

from collections.abc import Sequence
from pathlib import Path
from xml.etree import ElementTree

import forms
from gating import verdict_table
from gating.growth import Growth
from gating.verdicts import EXCEEDED, HELD, Ruling
from tables import clean

SUITE = "tls-memtest budgets"
Explained = dict[Growth, list[Ruling]]


def junit(rulings: Sequence[Ruling], growth: Explained) -> bytes:
    """A test case for each budget; what exceeds has the call sites that are known of it."""
    counts = {"tests": len(rulings), "failures": sum(one.verdict == EXCEEDED for one in rulings)}
    counts["errors"] = sum(one.verdict not in (HELD, EXCEEDED) for one in rulings)
    told = {name: str(count) for name, count in counts.items()}
    root = ElementTree.Element("testsuites", told)
    suite = ElementTree.SubElement(root, "testsuite", {"name": SUITE, **told})
    for one in rulings:
        budget = one.budget
        named = {"classname": xml(budget.stack), "name": xml(f"{budget.place}, limit {budget.limit}")}
        case = ElementTree.SubElement(suite, "testcase", named)
        if one.verdict != HELD:  # what could not be judged is an error of JUnit's
            kind = "failure" if one.verdict == EXCEEDED else "error"
            fault = ElementTree.SubElement(case, kind, {"message": xml(verdict_table.sentence(one))})
            fault.text = xml("\n".join([verdict_table.sentence(one), *sites(one, growth)]))
    ElementTree.indent(root)
    return ElementTree.tostring(root, encoding="utf-8", xml_declaration=True) + b"\n"


def sites(ruling: Ruling, growth: Explained) -> list[str]:
    return [line for one, explained in growth.items() if ruling in explained for line in one.lines()]


def xml(text: str) -> str:
    """Without what no XML may have."""
    return "\n".join(map(clean, text.split("\n")))


def summary(rulings: Sequence[Ruling], growth: Explained) -> str:
    """For a page of a CI's: the answer as its heading, what is not held, the tables."""
    wrong = [f"- {verdict_table.sentence(one)}" for one in rulings if one.verdict != HELD]
    parts = [f"### {verdict_table.summary(rulings)}", "\n".join(wrong)]
    parts += [forms.markdown(table) for table in (verdict_table.table(rulings), *(one.table() for one in growth))]
    return "\n\n".join(part.strip() for part in parts if part) + "\n"


def append(file: Path, text: str) -> None:
    with file.open("a", encoding="utf-8") as page:
        page.write(text)
