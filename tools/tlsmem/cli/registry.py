"""All commands of tls-memtest, and which is meant. Standard library only."""

from collections.abc import Sequence
from importlib import import_module
from typing import NoReturn

from tlsmem.base.errors import UserError
from tlsmem.base.nearest import suggest_nearest
from tlsmem.cli.command import PROGRAM, Command

FEW = 2  # commands that a sentence names
GROUPS = {  # by the first word: the module that has its commands, and what they do
    "cost": "what one TLS session costs in memory",
    "why": "why one stack holds more than another, in words",
    "plan": "how much memory many connections need, and how many fit",
    "show": "recordings as tables, pictures, a report",
    "diff": "what changed between recordings, builds, releases",
    "gate": "check costs against limits, for CI",
    "heap": "the heap of any program: run, attach, read, record",
    "measure": "run campaigns and record every run",
    "stacks": "which stacks there are",
    "build": "build harnesses from pinned sources",
    "data": "check, seal and query recordings",
    "help": "help, options, completion in a shell",
}
OF_A_CLONE = ("build", "measure", "gate", "diff builds", "diff releases", "heap record")  # what a wheel has not
SHOW_RECORDED = ("measure live", "measure configuration")  # but with a RECORDING
OLD_SCRIPTS = {  # what they are now
    "build": "build",
    "c1m": "measure c1m",
    "compare": "diff recordings",
    "compare_builds": "diff builds",
    "compare_versions": "diff releases",
    "cost": "cost",
    "explain_buckets": "why",
    "gate": "gate",
    "heap": f"heap run -- COMMAND`, or `tools/{PROGRAM} heap attach PID",
    "inspect_heaptrack": "heap read",
    "kernel_bytes": "measure kernel",
    "list_stacks": "stacks",
    "live": "measure live",
    "measure": "measure",
    "names": "build --check",
    "packages": "build --packages",
    "plan": "plan",
    "plot_buckets": "show parts",
    "plot_mem": "show mem",
    "plot_releases": "show releases",
    "plot_slides": "show slides",
    "plot_stacks": "show stacks",
    "plot_timing": "show timing",
    "plot_versions": "show versions",
    "profile_heap": "heap record",
    "query": "data sql",
    "records": "data seal`, `verify` or `schema",
    "report": "show report",
    "scheduler": "measure scheduler",
    "tabulate": "show tables",
    "worker": "measure worker",
}


def group_commands(group: str) -> tuple[Command, ...]:
    """Return the commands that begin with this word."""
    found: tuple[Command, ...] = import_module(f"tlsmem.cli.{group}").COMMANDS
    return found


def all_commands() -> list[Command]:
    """Return every command, and what targets of make take that have none."""
    return [command for group in (*GROUPS, "developers") for command in group_commands(group)]


def find_command(words: Sequence[str]) -> tuple[Command, Sequence[str]]:
    """Return the command that these words begin with, and the words after it. Raises UserError with a sentence."""
    first = words[0] if words else ""
    if first not in GROUPS:
        refuse_word(first)
    commands = sorted(group_commands(first), key=lambda one: -len(one.words))
    for command in commands:
        own = command.words.split()
        if list(words[: len(own)]) == own:
            return command, words[len(own) :]
    raise UserError(describe_group(first, words[1:2]), 2)


def refuse_word(word: str) -> NoReturn:
    """Raise UserError with the nearest command, or with what an old script's name is now."""
    name = word.rpartition("/")[2].removesuffix(".py")
    if name in OLD_SCRIPTS:
        raise UserError(describe_old_script(name), 2)
    if word.startswith("-"):
        raise UserError(f"{word} comes after a command; there are: {', '.join(GROUPS)}", 2)
    everywhere = {command.words.split()[-1]: command.words for command in all_commands() if command.words}
    everywhere = {last: words for last, words in everywhere.items() if not last.startswith("-")}
    if name in everywhere:
        raise UserError(f"there is no command {word}; did you mean {everywhere[name]}?", 2)
    near = suggest_nearest(word, [*GROUPS, *everywhere]) or f"; there are: {', '.join(GROUPS)}"
    raise UserError(f"there is no command {word.strip() or '(empty)'}{near}", 2)


def describe_old_script(name: str) -> str:
    """Return a sentence that says what a script of tools/ is now."""
    return f"tools/{name}.py is now `tools/{PROGRAM} {OLD_SCRIPTS[name]}`"


def describe_group(group: str, second: Sequence[str]) -> str:
    """Return a sentence that names the commands of a group, for a second word that is none of them."""
    there = [command.words.removeprefix(f"{group} ") for command in group_commands(group)]
    if not second or second[0].startswith("-"):
        return f"{group}: name what: {', '.join(there)}; `{PROGRAM} {group} --help` says more"
    near = suggest_nearest(second[0], there) or f"; there are: {', '.join(there)}"
    return f"there is no command {group} {second[0] or '(empty)'}{near}"


def describe_owners(flag: str) -> str:
    """Return the end of a sentence: which commands have an option that this one has not."""
    owners = [one.words for one in all_commands() if one.words and any(flag in option.flags for option in one.options)]
    return f"; it is an option of {' and '.join(owners[:FEW])}" if owners else ""
