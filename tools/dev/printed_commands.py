"""Commands as pages print them: where each stands, and whether the script or the target of make would take it.

A script is started as it is printed, and stopped where it would import packages, start a process or write a page: by
then it has parsed its arguments and looked up their names. So nothing is built or measured, and a command takes
milliseconds."""

import argparse
import contextlib
import functools
import io
import os
import re
import runpy
import shlex
import signal
import subprocess
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, NamedTuple, NoReturn
from unittest import mock

from tlsmem.base import markdown_embedding, venv
from tlsmem.base.paths import ROOT
from tlsmem.config import option_check, releases, stack_names, toml_tables
from tlsmem.config.option_kinds import TREE_STACK_NAME
from tlsmem.config.option_model import GOALS
from tlsmem.config.suite_variants import split_variant

COMMAND = re.compile(
    r"(?:[A-Z_]+=\S+ |\$ |sudo |time |\.venv/bin/python )*(?P<words>(?:tools/(?:dev/)?\w+\.py|make)(?: .*)?)"
)
INLINE = re.compile(r"(?<!`)`([^`]+)`(?!`)")
MARKER = re.compile(r"<!-- begin: (.*?) -->")
SEPARATOR = re.compile(r"[();<>|&]+")
RULE = re.compile(r"^([\w./%-]+(?: [\w./%-]+)*):(?!=)", re.MULTILINE)
COMMITTED = re.compile(r"data/20|docs/.*\.(?:md|toml)$")  # files and recordings that commands read
MENTION = re.compile(r"\b(is missing:|arguments are required:)")  # what prose leaves out
# What stands for something of the reader's, and something that is here.
EXAMPLES = {
    r"\$?\bPID\b": "1",
    r"\bHOST\b": "10.0.0.1",
    r"(?<=--cluster )ADDRESS\b": "tcp://127.0.0.1:8786",
    r"(?<=tools/measure\.py )CAMPAIGN\b": "mem",
    r"(?<=build\.py )NAME\b|(?<=--stacks )NAME\b|\bNAME@VERSION\b|(?<![\w-])STACK\b(?!=)": "openssl@3.5.5",
    r"~/src/rustls|(?<![\w.])\.\./(?:openssl|rustls)\b|/opt/openssl\b": str(ROOT),
    r"/etc/nginx/nginx\.conf": str(ROOT / "Makefile"),
}
# Commands of CONTRIBUTING.md about a stack, a campaign, an option or a plot that the reader adds.
ADDED = re.compile(r"\bchacha20\b|\bBUILT=|^tools/(?:plot_)?NAME\.py")


class Printed(NamedTuple):
    """A command, and where it is printed."""

    place: str
    text: str
    in_prose: bool = False  # where it may be shortened to what the sentence is about

    def words(self) -> list[str]:
        """Return its words, with something that is here for each that stands for something of the reader's."""
        text = self.text
        for placeholder, example in EXAMPLES.items():
            text = re.sub(placeholder, example, text)
        return [word for word in shlex.split(text) if "..." not in word and "…" not in word]


class Stopped(BaseException):
    """A command has checked its arguments."""


def commands_of_markdown(place: str, text: str) -> Iterator[Printed]:
    """Yield the commands of a page: in code blocks, in the markers of generated tables, and in inline code."""
    prose, is_fenced = [], False
    for line in text.replace("\\\n", " ").splitlines():
        is_fence = line.lstrip().startswith("```")
        is_fenced ^= is_fence
        if is_fenced or line.startswith("    "):
            yield from commands_of_line(place, line)
        elif not is_fence:
            prose.append(line)
    sentences = "\n".join(prose)
    for code in MARKER.findall(sentences):
        yield from commands_of_line(place, code)
    for code in INLINE.findall(sentences):
        yield from commands_of_line(place, re.sub(r"\n[ >]*", " ", code), in_prose=True)


def commands_of_line(place: str, line: str, in_prose: bool = False) -> Iterator[Printed]:
    """Yield the commands of a line; what stands behind two spaces or # explains them."""
    lexer = shlex.shlex(re.split(r"  +|\s#\s", line.strip())[0], posix=True, punctuation_chars=True)
    lexer.whitespace_split, lexer.commenters = True, ""
    words: list[str] = []
    with contextlib.suppress(ValueError):  # no command: a quotation mark of another language
        for word in [*lexer, ";"]:
            if not SEPARATOR.fullmatch(word):
                words.append(word)
                continue
            if found := COMMAND.fullmatch(" ".join(map(quote, words))):
                yield Printed(place, found["words"], in_prose)
            words = []


def quote(word: str) -> str:
    """Return the word as a shell takes it; a ~ stays a home, and a glob stays one."""
    return word if re.fullmatch(r"[\w@%+=:,./~*-]+", word) else shlex.quote(word)


def find_refusal(printed: Printed) -> str | None:
    """Return why the command does not run as it is printed, in a sentence; None where nothing is wrong."""
    words = printed.words()
    refusal = check_make(words[1:]) if words[0] == "make" else check_script(words)
    return None if refusal and printed.in_prose and MENTION.search(refusal) else refusal


def check_script(words: Sequence[str]) -> str | None:
    """Return why the script does not take these arguments."""
    if not (ROOT / words[0]).is_file():
        return f"there is no {words[0]}"
    if len(words) == 1:
        return None  # a script that is named
    gone = next((word for word in words if COMMITTED.match(word) and not any(ROOT.glob(word))), None)
    return f"there is no {gone}" if gone else check_arguments(words)


def check_arguments(words: Sequence[str]) -> str | None:
    """Return why the script does not take these arguments, or which name among them is not one.

    Some scripts look up names only in a recording; so they are looked up here too."""
    found: list[argparse.Namespace] = []
    with contextlib.ExitStack() as around:
        for patch in stops(words[0], found):
            around.enter_context(patch)
        refusal, _ = run_script(words)
    return refusal or next(unknown_names(found[-1]) if found else iter(()), None)


def run_script(words: Sequence[str]) -> tuple[str | None, str]:
    """Run the script in this process; return the last line of what it says if its status is not 0, and its stdout."""
    out, err = io.StringIO(), io.StringIO()
    with contextlib.ExitStack() as around:
        around.enter_context(mock.patch.object(sys, "argv", [str(ROOT / words[0]), *words[1:]]))
        around.enter_context(mock.patch.object(sys, "path", [*sys.path]))
        around.enter_context(mock.patch.object(signal, "signal"))
        around.enter_context(mock.patch.dict(os.environ))
        around.enter_context(contextlib.redirect_stdout(out))
        around.enter_context(contextlib.redirect_stderr(err))
        try:
            runpy.run_path(sys.argv[0], run_name="__main__")
        except Stopped:
            pass
        except SystemExit as ended:
            said = ended.code if isinstance(ended.code, str) else err.getvalue() or f"exit status {ended.code}"
            return said.strip().rpartition("\n")[2] if ended.code else None, out.getvalue()
    return None, out.getvalue()


def stops(script: str, parsed: list[argparse.Namespace]) -> Iterator[contextlib.AbstractContextManager]:
    """Yield what stops a script once it has checked its arguments, which `parsed` then has. Those in tools/dev have
    nothing but a parser."""
    parse = argparse.ArgumentParser.parse_args

    def parse_args(*words: Any, **named: Any) -> argparse.Namespace:
        parsed.append(parse(*words, **named))
        return stop() if script.startswith("tools/dev/") else parsed[-1]

    yield mock.patch.object(argparse.ArgumentParser, "parse_args", parse_args)
    yield mock.patch.object(venv, "activate", stop)
    yield mock.patch.object(subprocess.Popen, "__init__", stop)
    yield mock.patch.object(markdown_embedding, "replace_block", stop)


def stop(*_: object, **__: object) -> NoReturn:
    raise Stopped


def unknown_names(given: argparse.Namespace) -> Iterator[str]:
    """Yield a sentence for each suite, stack, library or campaign among the arguments that there is not."""
    for option, is_known in KNOWN.items():
        values = getattr(given, option, None) or []
        for value in [values] if isinstance(values, str) else values:
            for name in toml_tables.split_names(str(value)):
                if not is_known(name):
                    yield f"there is no {option.removesuffix('s')} {name}"


def is_suite(name: str) -> bool:
    return name in toml_tables.read_tables("suites") or split_variant(name)[0] in toml_tables.read_tables("suites")


def is_stack(name: str) -> bool:
    """Return whether it is a stack, a tree, all stacks, or OLD=NEW of two stacks."""
    known = toml_tables.read_tables("stacks")
    return all(
        one == toml_tables.ALL_STACKS or TREE_STACK_NAME.fullmatch(one) or stack_names.match_stack(one, known)
        for one in name.split("=")
    )


def is_library(name: str) -> bool:
    return name in releases.group_by_library(toml_tables.read_tables("stacks"))


def is_campaign(name: str) -> bool:
    return name in toml_tables.read_tables("campaigns")


KNOWN: dict[str, Callable[[str], bool]] = {  # arguments that are names, and whether one is known
    "suite": is_suite,
    "suites": is_suite,
    "stack": is_stack,
    "stacks": is_stack,
    "library": is_library,
    "campaign": is_campaign,
}


def check_make(words: Sequence[str]) -> str | None:
    """Return why make does not take these targets and options; checked as tools/names.py does before a build."""
    words = [word for at, word in enumerate(words) if not word.startswith("-") and words[at - 1 : at] != ["-C"]]
    options = dict(word.split("=", 1) for word in words if "=" in word)
    options = {name: value for name, value in options.items() if value and name != "MEMTEST_CACHE"}
    for target in (word for word in words if "=" not in word):
        if not any(re.fullmatch(rule.replace("%", ".+"), target) for rule in rules()):
            return f"the Makefile has no target {target}"
        try:
            if target in GOALS:
                option_check.check_required(target, options)
                option_check.check_goal(target, options)
            elif unknown := [name for name in options if f"quote,{name})" not in makefile()]:
                return f"`make {target}` does not take {unknown[0]}"
        except ValueError as error:
            return str(error)
    return None


@functools.cache
def makefile() -> str:
    return (ROOT / "Makefile").read_text()


@functools.cache
def rules() -> frozenset[str]:
    """Return the targets of the Makefile; some have a %."""
    return frozenset(name for names in RULE.findall(makefile()) for name in names.split())


def find_refusals(printed: Iterable[Printed]) -> Iterator[str]:
    """Yield a sentence for each command that does not run as it is printed; the same command is checked once."""
    for one in {one[1:]: one for one in printed if not ADDED.search(one.text)}.values():
        if refusal := find_refusal(one):
            yield f"{one.place}: `{one.text}`: {refusal}"
