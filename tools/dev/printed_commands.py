"""Commands as pages print them: where each stands, and whether tls-memtest, a script or make would take it.

A command is started as it is printed, and stopped where it would import packages, start a process or write a page: by
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

from tlsmem.base import markdown_embedding, repository, venv
from tlsmem.base.errors import UserError
from tlsmem.base.paths import ROOT
from tlsmem.cli import dispatch, output
from tlsmem.cli.command import NONE, PROGRAM, Command, CommandParser
from tlsmem.cli.kinds import TREE_STACK_NAME
from tlsmem.cli.registry import GROUPS, all_commands, describe_old_script
from tlsmem.config import releases, stack_names, toml_tables
from tlsmem.config.suite_variants import split_variant

BEFORE = r"(?:[A-Z_]+=\S+ |\$ |- run: |sudo |time |git bisect run |\.venv/bin/python )*"
COMMAND = re.compile(BEFORE + r"(?P<words>(?:(?:tools/)?tls-memtest|tools/(?:dev/)?\w+\.py|make)(?: .*)?)")
ELSEWHERE = re.compile(r"[~$\w./-]+/(?=tools/(?:tls-memtest|\w+\.py)$)")  # where the reader has the clone
INLINE = re.compile(r"(?<!`)`([^`]+)`(?!`)")
MARKER = re.compile(r"<!-- begin: (.*?) -->")
SEPARATOR = re.compile(r"[();<>|&]+")
RULE = re.compile(r"^([\w./%$()-]+(?: [\w./%$()-]+)*):(?!=)", re.MULTILINE)
LIST = re.compile(r"^[A-Z_]+ := ([a-z][\w -]+)$", re.MULTILINE)  # variables of the Makefile that have targets
COMMITTED = re.compile(r"data/20|docs/.*\.(?:md|toml)$")  # files and recordings that commands read
MENTION = re.compile(
    r"\b(?:is missing:|are required:|expected one argument|needs a value|give (?:a PROFILE|-- and a COMMAND))"
)  # what prose leaves out
# What stands for something of the reader's, and something that is here.
EXAMPLES = {
    r"\$?\bPID\b|\bcore\.1234\b": "1",  # a core file is asked for as a process is
    r"\bHOST\b": "10.0.0.1",
    r"(?<=--cluster )ADDRESS\b": "tcp://127.0.0.1:8786",
    r"(?<=tls-memtest measure )CAMPAIGN\b": "mem",
    r"(?<=tls-memtest )VERB\b": "cost",
    r"(?<=tls-memtest build )NAME\b|(?<=--stacks )NAME\b|\bNAME@VERSION\b|(?<![\w-])STACK\b(?!=)": "openssl@3.5.5",
    r"~/src/rustls|(?<![\w.])\.\./(?:openssl|rustls)\b|/opt/openssl\b": str(ROOT),
    r"/etc/nginx/nginx\.conf": str(ROOT / "Makefile"),
}
# Commands of recipes about a stack, a campaign, an option, a command, a table or a picture that the reader adds.
ADDED = re.compile(r"\bchacha20\b|\bBUILT=|--built\b|tls-memtest (?:show NAME|data list)\b|--(?:table|picture) NAME\b")


COMMANDS = {command.target: command for command in all_commands() if command.target}  # of make


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
    for line in re.sub(r" *\\\n *", " ", text).splitlines():
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
                words.append(ELSEWHERE.sub("", word))
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
    if words[0] == PROGRAM:  # on PATH
        words[0] = f"tools/{PROGRAM}"
    refusal = check_make(words[1:]) if words[0] == "make" else check_script(words)
    return None if refusal and printed.in_prose and MENTION.search(refusal) else refusal


def check_script(words: Sequence[str]) -> str | None:
    """Return why the command or script does not take these arguments."""
    script = ROOT / words[0]
    if not script.is_file():
        return f"there is no {words[0]}"
    if script.is_symlink():
        return describe_old_script(script.stem)
    if len(words) == 1 or (script.name == PROGRAM and len(words) == 2 and words[1] in GROUPS):
        return None  # one that is named
    gone = next((word for word in words if COMMITTED.match(word) and not any(ROOT.glob(word))), None)
    return f"there is no {gone}" if gone else check_arguments(words)


def check_arguments(words: Sequence[str]) -> str | None:
    """Return why the script does not take these arguments, or which name among them is not one.

    Some commands look up names only in a recording; so they are looked up here too."""
    found: list[argparse.Namespace] = []
    with contextlib.ExitStack() as around:
        for patch in stops(words[0], found):
            around.enter_context(patch)
        refusal, _ = run_script(words)
    return refusal or next(unknown_names(found[0]) if found else iter(()), None)


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
    nothing but a parser; a command of the standard library alone runs, up to what it would start or write."""
    parse, run = argparse.ArgumentParser.parse_args, dispatch.answer

    def parse_args(*words: Any, **named: Any) -> argparse.Namespace:
        parsed.append(parse(*words, **named))
        return stop() if script.startswith("tools/dev/") else parsed[-1]

    def answer(command: Command, given: argparse.Namespace, parser: CommandParser) -> int | None:
        if command.packages == NONE:
            return run(command, given, parser)
        if command.is_answer:
            output.text_file(given, command.draws)
        return stop()

    yield mock.patch.object(argparse.ArgumentParser, "parse_args", parse_args)
    yield mock.patch.object(dispatch, "answer", answer)
    yield mock.patch.object(venv, "activate")
    yield mock.patch.object(repository, "check_recording")  # another tree may record there
    yield mock.patch.object(subprocess.Popen, "__init__", stop)
    yield mock.patch.object(markdown_embedding, "replace_block", stop)


def stop(*_: object, **__: object) -> NoReturn:
    raise Stopped


def unknown_names(given: argparse.Namespace) -> Iterator[str]:
    """Yield a sentence for each suite, stack, library or campaign among the arguments that there is not."""
    for option, is_known in KNOWN.items():
        for value in flatten(getattr(given, option, None) or ()):
            for name in toml_tables.split_names(str(value)):
                if not is_known(name):
                    yield f"there is no {option.removesuffix('s')} {name}"


def flatten(value: object) -> Iterator[object]:
    """Yield the value, or those of a list: of an option that may be repeated, each may be a list."""
    if isinstance(value, list | tuple):
        for one in value:
            yield from flatten(one)
    else:
        yield value


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
    """Return why make does not take these targets and options; checked as `build --check` does."""
    words = [word for at, word in enumerate(words) if not word.startswith("-") and words[at - 1 : at] != ["-C"]]
    options = dict(word.split("=", 1) for word in words if "=" in word)
    options = {name: value for name, value in options.items() if value and name != "MEMTEST_CACHE"}
    for target in (word for word in words if "=" not in word):
        if not any(re.fullmatch(rule.replace("%", ".+"), target) for rule in rules()):
            return f"the Makefile has no target {target}"
        try:
            if target in COMMANDS:
                check_options(COMMANDS[target], [f"{name}={value}" for name, value in options.items()])
            elif unknown := [name for name in options if f"quote,{name})" not in makefile()]:
                return f"`make {target}` does not take {unknown[0]}"
        except UserError as error:
            return str(error)
    return None


def check_options(command: Command, words: Sequence[str]) -> None:
    """Raise UserError where a target of make does not take these options."""
    parser = command.parser()
    given = command.parse(words, parser)
    if command.check:
        with mock.patch.object(repository, "check_recording"):
            command.check(given, parser)


@functools.cache
def makefile() -> str:
    return (ROOT / "Makefile").read_text()


@functools.cache
def rules() -> frozenset[str]:
    """Return the targets of the Makefile; some have a %."""
    names = [*RULE.findall(makefile()), *LIST.findall(makefile())]
    return frozenset(name for some in names for name in some.split() if "$" not in name)


def find_refusals(printed: Iterable[Printed]) -> Iterator[str]:
    """Yield a sentence for each command that does not run as it is printed; the same command is checked once."""
    for one in {one[1:]: one for one in printed if not ADDED.search(one.text)}.values():
        if refusal := find_refusal(one):
            yield f"{one.place}: `{one.text}`: {refusal}"
