#!/usr/bin/env python3
"""Count modules, functions, importers and exits of tools/tlsmem: how the house is built, not what it measures.

  tools/dev/house.py                          the numbers of this checkout, as a table
  tools/dev/house.py --against v1.0           beside those of another revision
  tools/dev/house.py --list exits             and the files behind one of them
  tools/dev/house.py --brief                  one line, as `make check` ends with it

No number is a target: they show which way a change goes. --explain says what each row counts."""

import argparse
import ast
import json
import re
import subprocess
import sys
import tarfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from statistics import median
from typing import NamedTuple

ROOT = Path(__file__).resolve().parents[2]
PACKAGE = "tools/tlsmem/"
TESTS = ("tools/tests/", "memtest/tests/")
READ = ("Makefile", "tools", "memtest/tests")  # of a revision; data/ has hundreds of MB
DOOR = "tools/tlsmem/cli/main.py"  # the only module that may exit
SHORT = 60  # lines
COUNTED = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.Import, ast.ImportFrom, ast.Raise, ast.Call)

# Files that declare options, and those that parse, check and document them; the first names are those up to 0.1.
DECLARATIONS = re.compile(
    r"tools/tlsmem/(config/(arguments_of_\w+|option_arguments|option_variables)|cli/(options|commands))\.py"
)
OPTIONS = re.compile(
    r"tools/tlsmem/(config/(option\w*|argument\w*)|cli/(options|commands|command|kinds|checks|registry|help))\.py"
)

# What stands for a topic in a path, between `/`, `_` and `.`: its word, and other words that files have for it today.
TOPICS = {
    "churn": "churn",
    "stall": "stall|stalls|stalled",
    "contexts": "contexts",
    "chains": "chains|chain|client_certificates",
    "resumption": "resumption|session_stores?",
    "hello": "hello|hellos",
    "certificates": "certificates|certificate|mldsa",
    "advisories": "advisories",
    "live": "live(?!_heap)",
    "post_quantum": "post_quantum|pq",
    "timing": "timing|timed",
    "releases": "releases|release|record_layer",
}

# What each row counts; --explain prints it.
ROWS = {
    "modules": "files of tools/tlsmem that end in .py, without __init__",
    "modules_with_init": "with __init__",
    "lines": "lines of all of them",
    "median_module": "lines of a module in the median, without __init__",
    "functions": "def and async def, methods and inner functions too",
    "median_function": "lines of a function in the median, its docstring too, decorators not",
    "short_modules": f"modules with fewer than {SHORT} lines",
    "one_importer": "modules that exactly one other module imports, anywhere in it; tests and scripts do not count",
    "files_that_exit": "modules but cli/main.py that call sys.exit, or make or raise a SystemExit or a subclass",
    "exits": "calls and raises in them",
    "declaration_lines": "lines of the files that declare options: cli/options.py",
    "option_lines": "and of those that parse, check and document them: command, kinds, checks, registry, help",
    "makefile_lines": "lines of the Makefile",
    "scripts": "Python programs in tools/ itself, without links",
    "test_lines": "lines of Python in tools/tests and memtest/tests",
    **{f"topic_{topic}": f"modules with {words} in their path" for topic, words in TOPICS.items()},
}


class NotCounted(Exception):
    """A checkout or a revision that cannot be counted; the message says what to do."""


class Counts(NamedTuple):
    """The numbers by row, and for some rows the files behind them, a line each."""

    numbers: dict[str, float]
    lists: dict[str, list[str]]


def read_folder(root: Path) -> dict[str, str]:
    """Return the text of each file that is counted in a checkout, by its path from the root."""
    if not (root / PACKAGE).is_dir():
        raise NotCounted(f"{root} has no {PACKAGE}: name a checkout of this repository")
    found = [
        root / "Makefile",
        *root.glob("tools/*"),
        *(file for top in (PACKAGE, *TESTS) for file in root.glob(f"{top}**/*.py")),
    ]
    return {
        str(file.relative_to(root)): file.read_text(errors="replace")
        for file in found
        if file.is_file() and not file.is_symlink()
    }


def read_revision(root: Path, revision: str) -> dict[str, str]:
    """Return the same of a git revision, without a checkout of it."""
    commit = run_git(root, "rev-parse", "--verify", "--quiet", "--end-of-options", f"{revision}^{{commit}}")
    if not commit:
        raise NotCounted(f"--against {revision}: git knows no such revision here; `git log --oneline` lists some")
    if not run_git(root, "ls-tree", commit, PACKAGE):
        raise NotCounted(f"--against {revision}: that revision has no {PACKAGE}; name a later one")
    present = run_git(root, "ls-tree", "--name-only", commit, *READ).splitlines()
    command = ["git", "-C", str(root), "archive", commit, *present]
    files = {}
    with (
        subprocess.Popen(command, stdout=subprocess.PIPE) as git,
        tarfile.open(fileobj=git.stdout, mode="r|") as archive,
    ):
        for member in archive:
            if member.isfile() and is_counted(member.name):
                files[member.name] = archive.extractfile(member).read().decode(errors="replace")
    return files


def run_git(root: Path, *words: str) -> str:
    """Return what git prints; nothing where it fails."""
    return subprocess.run(["git", "-C", str(root), *words], capture_output=True, text=True).stdout.strip()


def is_counted(name: str) -> bool:
    """Whether `read_folder` reads a file of this path, too."""
    in_tree = name.startswith((PACKAGE, *TESTS)) and name.endswith(".py")
    return in_tree or name == "Makefile" or (name.startswith("tools/") and name.count("/") == 1)


def count(files: dict[str, str]) -> Counts:
    """Count the files of a checkout, as `read_folder` returns them."""
    trees = {name: parse(name, text) for name, text in files.items() if name.startswith(PACKAGE)}
    lines = {name: text.count("\n") for name, text in files.items()}
    modules = [name for name in trees if not name.endswith("/__init__.py")]
    functions = [
        node.end_lineno - node.lineno + 1
        for nodes in trees.values()
        for node in nodes
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
    ]
    importers = find_importers(trees)
    exits = find_exits(trees)
    topics = {topic: [name for name in modules if in_topic(name, topic)] for topic in TOPICS}
    lists = {
        "short": [f"{name}  {lines[name]} lines" for name in modules if lines[name] < SHORT],
        "one-importer": [f"{name}  imported by {importers[name][0]}" for name in modules if len(importers[name]) == 1],
        "exits": [f"{name}  {times}" for name, times in exits.items()],
        "topics": [f"{name}  {topic}" for topic, names in topics.items() for name in names],
    }
    numbers = {
        "modules": len(modules),
        "modules_with_init": len(trees),
        "lines": sum(lines[name] for name in trees),
        "median_module": median([lines[name] for name in modules] or [0]),
        "functions": len(functions),
        "median_function": median(functions or [0]),
        "short_modules": len(lists["short"]),
        "one_importer": len(lists["one-importer"]),
        "files_that_exit": len(exits),
        "exits": sum(exits.values()),
        "declaration_lines": sum(lines[name] for name in modules if DECLARATIONS.fullmatch(name)),
        "option_lines": sum(lines[name] for name in modules if OPTIONS.fullmatch(name)),
        "makefile_lines": lines.get("Makefile", 0),
        "scripts": sum(is_script(name, text) for name, text in files.items()),
        "test_lines": sum(lines[name] for name in files if name.startswith(TESTS)),
        **{f"topic_{topic}": len(names) for topic, names in topics.items()},
    }
    return Counts(numbers, {what: sorted(found) for what, found in lists.items()})


def parse(name: str, text: str) -> list[ast.AST]:
    """Return what is counted of a module: one walk, because each takes a second for all of them."""
    try:
        return [node for node in ast.walk(ast.parse(text)) if isinstance(node, COUNTED)]
    except (SyntaxError, ValueError) as error:
        raise NotCounted(f"{name}: line {getattr(error, 'lineno', 1)}: {error.args[0]}; mend it first") from None


def find_importers(trees: dict[str, list[ast.AST]]) -> dict[str, list[str]]:
    """Return for each module the other modules that import it."""
    paths = {dotted(name): name for name in trees}
    importers: dict[str, set[str]] = {name: set() for name in trees}
    for name, nodes in trees.items():
        for imported in {one for node in nodes for one in imports(node, name, paths)}:
            if imported != name:
                importers[imported].add(name)
    return {name: sorted(found) for name, found in importers.items()}


def dotted(name: str) -> str:
    """tools/tlsmem/a/b.py as tlsmem.a.b, the name that an import has for it."""
    return name.removeprefix("tools/").removesuffix(".py").removesuffix("/__init__").replace("/", ".")


def imports(node: ast.AST, name: str, paths: dict[str, str]) -> Iterator[str]:
    """Yield the files that a statement of module `name` imports; `from package import module` imports the module."""
    if isinstance(node, ast.Import):
        wanted = [alias.name for alias in node.names]
    elif isinstance(node, ast.ImportFrom):
        parents = dotted(name).split(".") + ([""] if name.endswith("/__init__.py") else [])
        package = ".".join([*(parents[: -node.level] if node.level else []), *([node.module] if node.module else [])])
        inside = [f"{package}.{alias.name}" for alias in node.names]
        wanted = [one if one in paths else package for one in inside]
    else:
        return
    yield from (paths[one] for one in wanted if one in paths)


def find_exits(trees: dict[str, list[ast.AST]]) -> dict[str, int]:
    """Return how often each module but the door exits, where it does."""
    classes = {"SystemExit"}
    defined = [node for nodes in trees.values() for node in nodes if isinstance(node, ast.ClassDef)]
    while new := {one.name for one in defined if classes & {last_name(base) for base in one.bases}} - classes:
        classes |= new
    times = {name: sum(exits(node, classes) for node in nodes) for name, nodes in trees.items() if name != DOOR}
    return {name: number for name, number in times.items() if number}


def exits(node: ast.AST, classes: set[str]) -> bool:
    """Whether it calls sys.exit, makes one of these exceptions, or raises the class itself."""
    if isinstance(node, ast.Raise):
        return isinstance(node.exc, ast.Name | ast.Attribute) and last_name(node.exc) in classes
    if not isinstance(node, ast.Call):
        return False
    return last_name(node.func) in classes or ast.unparse(node.func) in ("sys.exit", "exit")


def last_name(node: ast.AST) -> str:
    """c of a.b.c; nothing of what has no name."""
    return node.attr if isinstance(node, ast.Attribute) else node.id if isinstance(node, ast.Name) else ""


def in_topic(name: str, topic: str) -> bool:
    return bool(re.search(rf"(?<![a-z0-9])({TOPICS[topic]})(?![a-z0-9])", name.removeprefix(PACKAGE)))


def is_script(name: str, text: str) -> bool:
    direct = name.startswith("tools/") and name.count("/") == 1
    return direct and (name.endswith(".py") or re.match(r"#!.*\bpython", text) is not None)


def table(columns: dict[str, dict[str, float]]) -> Iterator[str]:
    """Yield the lines of a table: a row for each number, a column for each tree, the change where there are two."""
    cells = [["", *columns]]
    for row in ROWS:
        values = [one[row] for one in columns.values()]
        changes = [f"{values[1] - values[0]:+,.9g}"] if len(values) == 2 else []
        cells.append([row.replace("_", " "), *(f"{value:,.9g}" for value in values), *changes])
    if len(columns) == 2:
        cells[0].append("change")
    widths = [max(len(line[at]) for line in cells) for at in range(len(cells[0]))]
    for label, *rest in cells:
        numbers = [cell.rjust(width) for cell, width in zip(rest, widths[1:], strict=True)]
        yield "  ".join([label.ljust(widths[0]), *numbers])


def brief(numbers: dict[str, float]) -> str:
    """Return the numbers that say most, in one line."""
    return (
        "house: {modules:,} modules of {median_module:g} lines in the median, {short_modules} below "
        f"{SHORT} lines, {{one_importer}} with one importer; {{files_that_exit}} files that exit; options "
        "{option_lines:,} lines, Makefile {makefile_lines}, {scripts} scripts"
    ).format(**numbers)


def parser() -> argparse.ArgumentParser:
    made = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    made.add_argument("--against", metavar="REVISION", help="a git revision, whose numbers stand beside")
    answer = made.add_mutually_exclusive_group()
    answer.add_argument("--list", choices=("one-importer", "short", "exits", "topics"), help="the files behind a row")
    answer.add_argument("--format", choices=("table", "json"), default="table", help="default: %(default)s")
    answer.add_argument("--brief", action="store_true", help="one line")
    answer.add_argument("--explain", action="store_true", help="what each row counts")
    return made


def main(arguments: Sequence[str] | None = None) -> None:
    given = parser().parse_args(arguments)
    if given.explain:
        print("\n".join(f"{row.replace('_', ' '):20}{text}" for row, text in ROWS.items()))
        return
    if given.against is not None and (given.brief or given.list):
        parser().error("--against: a table or --format json shows two revisions, --brief and --list show one")
    try:
        now = count(read_folder(ROOT))
        columns = {}
        if given.against is not None:
            columns[given.against] = count(read_revision(ROOT, given.against)).numbers
    except NotCounted as error:
        sys.exit(f"house: {error}")
    columns["now"] = now.numbers
    if given.brief:
        print(brief(now.numbers))
    elif given.list:
        print("\n".join(now.lists[given.list]))
    elif given.format == "json":
        print(json.dumps(columns, indent=2))
    else:
        print("\n".join(table(columns)))


if __name__ == "__main__":
    main()
