"""Old and new names of commands: `tools/cost.py` is `tools/tls-memtest cost`.

The oracle names its outputs by the new words, and writes these into what the old scripts print: a dump of a tree that
has scripts can be compared with a dump of a tree that has the command."""

import re
from pathlib import Path

COMMAND = "tools/tls-memtest"
NEW_WORDS = {  # of a script and its first arguments; the longest match counts
    "build": "build",
    "c1m": "measure c1m",
    "compare": "diff recordings",
    "compare_builds": "diff builds",
    "compare_versions": "diff releases",
    "cost": "cost",
    "explain_buckets": "why",
    "gate": "gate",
    "heap": "heap attach",  # with -- among its arguments: heap run
    "inspect_heaptrack": "heap read",
    "kernel_bytes": "measure kernel",
    "list_stacks": "stacks",
    "live": "measure live",
    "measure": "measure",
    "names": "build --check",
    "names --reference": "help --reference",
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
    "query": "data sql --into",
    "records": "data",
    "records --schema": "data schema",
    "report": "show report",
    "scheduler": "measure scheduler",
    "tabulate": "show tables",
    "worker": "measure worker",
}
PAIRS = [(old.split(), new.split()) for old, new in NEW_WORDS.items()]
SCRIPTS = {old[0] for old, _ in PAIRS}
OLD_MENTION = re.compile(rf"(?<![\w/.-])(?:tools/)?({'|'.join(sorted(SCRIPTS))})\.py\b( --schema| --reference)?")
NEW_MENTION = re.compile(r"(?<![\w/.-])(?:tools/)?tls-\s*memtest\b")
RUNS = re.compile(r"[^\n`;]* -- ")  # what follows heap.py when it starts a command
BLANK = re.compile(r"(\n[ \t]*\n)")
BROKEN = re.compile(r"(?<=\w-) (?=\w)")  # a line may end at a hyphen


def translate_to_new(argv: list[str]) -> list[str]:
    """Return the arguments as the one command takes them; those of developers' scripts as they are."""
    if argv[0] in (COMMAND, COMMAND.removeprefix("tools/")):
        return [COMMAND, *argv[1:]]
    script, rest = argv[0].removeprefix("tools/").removesuffix(".py"), argv[1:]
    if script not in SCRIPTS:
        return argv
    if script == "heap" and "--" in rest:
        return [COMMAND, "heap", "run", *rest]
    if script == "plot_timing":
        rest = ["-o" if word == "--out" else word for word in rest]
    words = [script, *rest]
    old, new = max((pair for pair in PAIRS if words[: len(pair[0])] == pair[0]), key=lambda pair: len(pair[0]))
    return [COMMAND, *new, *words[len(old) :]]


def translate_to_old(argv: list[str]) -> list[str]:
    """Return the arguments of the one command as its script took them; those of developers' scripts as they are.

    Raises ValueError with a sentence where no script did this."""
    if argv[0] != COMMAND:
        return argv
    words = argv[1:]
    if words[:2] == ["heap", "run"]:
        return ["tools/heap.py", *words[2:]]
    found = [pair for pair in PAIRS if words[: len(pair[1])] == pair[1]]
    if not found:
        raise ValueError(f"no script did what `{' '.join(argv)}` does: there is no such entry in oracle_names.py")
    old, new = max(found, key=lambda pair: len(pair[1]))
    rest = words[len(new) :]
    if old == ["plot_timing"]:
        rest = ["--out" if word == "-o" else word for word in rest]
    return [f"tools/{old[0]}.py", *old[1:], *rest]


def choose_words(argv: list[str], root: Path) -> list[str]:
    """Return what runs in a tree: the one command where it is there, else the script."""
    return argv if (root / COMMAND).exists() else translate_to_old(argv)


def rename_mentions(text: str) -> str:
    """Return the text with the new name of each script that it mentions, with or without tools/."""

    def new_name(mention: re.Match[str]) -> str:
        script, option = mention[1], mention[2] or ""
        if script == "heap" and RUNS.match(text, mention.end()):
            return "tls-memtest heap run"
        return f"tls-memtest {NEW_WORDS.get(script + option, NEW_WORDS[script] + option)}"

    return OLD_MENTION.sub(new_name, NEW_MENTION.sub("tls-memtest", text))


def rename_prose(text: str) -> str:
    """Return printed text with new names, and without what their length decides: where lines break, and how wide the
    columns of a table are. Paragraphs that mention no command stay as they are."""
    return "".join(map(reflow, BLANK.split(text)))


def reflow(block: str) -> str:
    """Return a paragraph with a sentence a line, then the rows of its table without what fills columns."""
    if not (OLD_MENTION.search(block) or NEW_MENTION.search(block)):
        return block
    lines = rename_mentions(block).splitlines()
    rows = [re.sub(r"-{3,}", "---", re.sub(r" {2,}", " ", line)) for line in lines if line.startswith("|")]
    words = BROKEN.sub("", " ".join(" ".join(line for line in lines if not line.startswith("|")).split()))
    return "\n".join([*(re.split(r"(?<=[.:;]) ", words) if words else ()), *rows])
