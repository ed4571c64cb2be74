#!/usr/bin/env python3
"""Take every command out of a report: does each run as it is printed?

Commands below tables and pictures are run, without rendering the pictures. Charts and notes have thousands, for each
stack and suite: these are parsed until each word was parsed once, and run until each recording and each value of an
option was. What measures lists its runs instead; targets of make are checked as `build --check` does. What writes the
whole report again is only parsed. Exit status 1: a command does not run as it is printed; each is named."""

import argparse
import contextlib
import gc
import html
import json
import os
import re
import shlex
import sys
import tempfile
from collections.abc import Callable, Iterable, Iterator
from html.parser import HTMLParser
from pathlib import Path
from typing import Any, NamedTuple
from unittest import mock

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import printed_commands
from printed_commands import Printed
from tlsmem.base import venv
from tlsmem.base.errors import UserError
from tlsmem.base.paths import ROOT
from tlsmem.cli.main import run as run_command
from tlsmem.report.packed_json import unpack_json

PAYLOAD = re.compile(r'<script type="(text/plain|application/json)" id="([^"]*)(?<!-svg)">([^<]*)</script>')
SCRIPT = re.compile(r"<script>(.*?)</script>", re.DOTALL)
LITERAL = re.compile(r'"((?:[^"\\\n]|\\.)*)"')
TEMPLATE = re.compile(r"`((?:tools/|make )[^`]*)`")
HOLE = re.compile(r"\$\{([^}]*)\}")
# In a sentence a command stands at the beginning, after a colon or in brackets or backquotes; and to the end, or to a
# semicolon.
IN_SENTENCE = re.compile(r"(?:^|: |\(|`)((?:tools/(?:tls-memtest|[\w/]+\.py)|make)(?: [^;)`]*|(?=[;)`]|$)))")
NAME = re.compile(r"tools/(?:tls-memtest(?: [a-z]+){1,2}|[\w/]+\.py)")
OPTION = re.compile(r"(--?\w[\w-]*) ('[^']*'|\S+)")
RUNS = re.compile(
    r"tools/tls-memtest (?:show (?!report)\w+|cost|plan|measure|heap read|show report .*--(?:table|picture)) .*"
)
READS = re.compile(
    r"tools/tls-memtest (?:cost|why|plan \w+|show (?!report)\w+ data/20|diff (?:recordings|releases) data/20"
    r"|heap read (?:--diff )?data/20"
    r"|gate \S+ --recording|measure (?:live|configuration) data/20"
    r"|data verify|stacks(?! --(?:outdated|details)))(?:(?<=data/20)|\b).*"
)
CHANGED = "exit status 3"  # of a comparison: no fault
LOCAL = re.compile(r"data/local|--into|\b[A-Z]{4,}\b|\.\.\.|\$|>|\|")  # what is the reader's own, or writes a page
MEASURES = re.compile(r"tools/tls-memtest measure (?!(?:live|configuration) data/)")  # not recorded tables
CHOICES = re.compile(r" --(?:table|picture) \S+")


class Page(NamedTuple):
    """A report, taken apart."""

    html: str  # without scripts
    data: dict[str, Any]  # by the id of its element
    scripts: str


def read_page(file: Path) -> Page:
    """Return the parts of a report in one file."""
    text = file.read_text()
    data = {}
    for kind, name, content in PAYLOAD.findall(text):
        is_packed = kind == "text/plain"
        data[name] = unpack_json(content) if is_packed else json.loads(html.unescape(content))
    return Page(re.sub(r"<(script|style)\b.*?</\1>", "", text, flags=re.DOTALL), data, "\n".join(SCRIPT.findall(text)))


class Texts(HTMLParser):
    """The texts of a page: those of code apart."""

    def __init__(self) -> None:
        super().__init__()
        self.found: list[tuple[str, bool]] = []
        self.is_code = False

    def handle_starttag(self, tag: str, attributes: object) -> None:
        self.is_code = tag == "code"

    def handle_endtag(self, tag: str) -> None:
        self.is_code = False

    def handle_data(self, data: str) -> None:
        self.found.append((data, self.is_code))


def find_shown_commands(page: Page) -> Iterator[Printed]:
    """Yield the commands that stand on the page: most are below a table or a picture."""
    texts = Texts()
    texts.feed(page.html)
    for text, is_code in texts.found:
        if is_code:
            yield from printed_commands.commands_of_line("the page", text, in_prose=True)
        else:
            yield from commands_of_sentence("the page", text)


def find_data_commands(page: Page) -> Iterator[Printed]:
    """Yield the commands in the data of tables and charts, and those that scripts put together."""
    for name, data in page.data.items():
        for text in texts_of(data):
            yield from commands_of_sentence(name, text)
    for text in LITERAL.findall(page.scripts):
        yield from commands_of_sentence("a script", text)
    for template in TEMPLATE.findall(page.scripts):
        for text in fill(template, page.data["packed-phases"]):
            yield Printed(f"a script, {template}", text)
    for group in page.data.get("packed-residuals", {}).get("groups", ()):
        stacks = "".join(f" --stack {shlex.quote(stack)}" for stack in group["opens"])
        yield Printed("packed-residuals", group["command"] + stacks)


def texts_of(data: Any) -> Iterator[str]:
    """Yield each text in JSON."""
    if isinstance(data, str):
        yield data
    elif isinstance(data, list | dict):
        for one in data.values() if isinstance(data, dict) else data:
            yield from texts_of(one)


def commands_of_sentence(place: str, text: str) -> Iterator[Printed]:
    """Yield the commands of a sentence. One that does not stand apart is yielded with the words after it: a fault."""
    for command in IN_SENTENCE.findall(text):
        yield Printed(place, command.strip().rstrip("."), in_prose=True)
    if apart := NAME.search(IN_SENTENCE.sub("", text)):
        yield Printed(place, text[text.index(apart[0]) :])


def fill(template: str, phases: dict) -> Iterator[str]:
    """Yield the commands of a script's template, one for each stack and suite; if it names a moment, one for each and
    for each role. A hole that is not known here is left as it is."""
    for entry in phases["entries"]:
        values = {
            "known.recordings[entry.recording].path": phases["recordings"][entry["recording"]]["path"],
            "quoted(entry.stack)": shlex.quote(entry["stack"]),
            "quoted(entry.suite)": shlex.quote(entry["suite"]),
            "picture": "parts" if entry["pair_of"] else "mem",
            "more": "--flamegraph flames.html",
        }
        is_of_moment = "moment" in template
        if entry["phases"] and not is_of_moment:
            yield fill_holes(template, values)
        for role, phase, at in moments(entry) if is_of_moment and entry["pair_of"] else ():
            moment = shlex.quote(at + phases["readable"].get(phase, phase))
            yield fill_holes(template, values | {"of": role and f" --role {role}", "quoted(moment)": moment})


def fill_holes(template: str, values: dict[str, str]) -> str:
    return HOLE.sub(lambda hole: values.get(hole[1], hole[0]), template)


def moments(entry: dict) -> Iterator[tuple[str, str, str]]:
    """Yield role (none for both), phase, and which moment in it, of all that a chart has call stacks of."""
    for role in ("", "client", "server"):
        peaks = entry["roles"].get(role, {}).get("alone") or [None] * len(entry["phases"])
        for phase, peak in zip(entry["phases"], peaks, strict=True):
            yield from ((role, phase, at) for at in ("", *["peak of "] * bool(peak)))


def cover(commands: Iterable[Printed], parts: Callable[[str], Iterable[object]]) -> Iterator[Printed]:
    """Yield the commands that have a part, with their name, that no earlier one has."""
    seen: set[object] = set()
    for one in commands:
        name = NAME.match(one.text)
        found = {(name and name[0], part) for part in parts(one.text)}
        if not found <= seen:
            seen |= found
            yield one


def parts_to_run(text: str) -> set[object]:
    """Return the recordings, and the options with their values but for stacks and suites: these are many."""
    options = {
        (name, name in ("--stack", "--stacks", "--suite", "--suites") or value) for name, value in OPTION.findall(text)
    }
    return {*options, *re.findall(r"data/\S+", text), *re.findall(r"^tools/tls-memtest measure \S+", text)}


def merge(commands: Iterable[Printed]) -> list[Printed]:
    """Return the commands; those for tables or pictures of one report are one, since each reads all recordings."""
    merged: dict[str, tuple[str, list[str]]] = {}
    for place, text, _ in commands:
        is_report = text.startswith("tools/tls-memtest show report ")
        choices = CHOICES.findall(text) if is_report else []
        merged.setdefault(CHOICES.sub("", text) if is_report else text, (place, []))[1].extend(choices)
    return [Printed(place, text + "".join(dict.fromkeys(found))) for text, (place, found) in merged.items()]


def run(commands: Iterable[Printed]) -> Iterator[str]:
    """Run the commands in a directory of their own; yield a sentence for each that fails."""
    from matplotlib import pyplot
    from matplotlib.figure import Figure

    from tests.support.forked_command import save_one_pixel

    with tempfile.TemporaryDirectory() as folder, contextlib.chdir(folder):
        for name in ("data", "docs/BUDGET.toml", "docs/figures", "docs/slides", "build"):
            Path(name).parent.mkdir(exist_ok=True)
            os.symlink(ROOT / name, name) if (ROOT / name).is_file() or name == "data" else Path(name).mkdir()
        there = set(os.listdir())
        with mock.patch.object(Figure, "savefig", save_one_pixel):
            for one in commands:
                lists = ["--list"] if MEASURES.match(one.text) else []
                refusal, out = printed_commands.run_script([*one.words(), *lists])
                if refusal == CHANGED and one.text.startswith("tools/tls-memtest diff "):
                    continue
                if refusal or not (out.strip() or set(os.listdir()) - there):
                    yield f"{one.place}: `{one.text}`: {refusal or 'prints nothing'}"
                pyplot.close("all")
                gc.enable()  # a command that reads disables it


def check(page: Page) -> tuple[list[str], str]:
    """Return a sentence for each command that does not run as it is printed, and how many there are."""
    shown, others = list(dict.fromkeys(find_shown_commands(page))), list(find_data_commands(page))
    parsed = [*shown, *cover(others, str.split)]
    faults = list(printed_commands.find_refusals(parsed))
    refused = [fault.split("`")[1] for fault in faults]
    chosen = [*merge(shown), *cover(others, parts_to_run)]
    to_run = [one for one in chosen if RUNS.fullmatch(one.text) and one.text not in refused]
    faults += run(to_run)
    number = len({one.text for one in [*shown, *others]})
    return faults, f"{number:,} commands of the report, {len(parsed)} of them parsed and {len(to_run)} run"


def find_page_commands() -> Iterator[Printed]:
    """Yield the commands of README and docs that read what is committed, as they stand there."""
    for page in (ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))):
        for one in printed_commands.commands_of_markdown(str(page.relative_to(ROOT)), page.read_text()):
            is_whole = not one.in_prose and one.words() == shlex.split(one.text)
            if is_whole and READS.fullmatch(one.text) and not LOCAL.search(one.text):
                yield one


def check_pages() -> tuple[list[str], str]:
    """Return a sentence for each command of README and docs that does not run, and how many ran."""
    found = list({one.text: one for one in find_page_commands()}.values())
    return list(run(found)), f"{len(found)} commands of README and docs run"


def main() -> None:
    asked = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    asked.add_argument("page", type=Path, help="a report in one file")
    asked.add_argument("--docs-only", action="store_true", help="only the commands of README and docs")
    given = asked.parse_args()
    venv.activate()
    results = [check_pages()] + ([] if given.docs_only else [check(read_page(given.page))])
    faults = [fault for some, _ in results for fault in some]
    print(*faults, *(f"check-commands: {said}" for _, said in results), sep="\n")
    if faults:
        raise UserError(f"check-commands: {len(faults)} do not run as printed")


if __name__ == "__main__":
    run_command(main)
