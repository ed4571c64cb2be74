"""Only cli/main.py ends a process: whatever else raised SystemExit could not be called from a notebook."""

import ast
from collections.abc import Iterator

import pytest

from tlsmem.base.paths import ROOT

PACKAGE = ROOT / "tools/tlsmem"
WAY_OUT = "cli/main.py"
EXITS = {"sys.exit", "os._exit", "exit", "quit", "SystemExit"}
LAST_WORDS = {name.rpartition(".")[2] for name in EXITS}
ALLOWED = {  # children that must not run what their parent does when it ends
    "build/process_group.py": "the leader of a build, a process of its own",
    "run/process.py": "between fork and exec",
}
SCRIPT = "profile/memray_records.py"  # run by its path as a process of its own, with memray's package alone


def find_exits(source: str) -> Iterator[str]:
    """Yield each use of a name that ends a process."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.ImportFrom) and node.module in ("sys", "os"):
            yield from (f"{node.module}.{one.name}" for one in node.names if f"{node.module}.{one.name}" in EXITS)
        elif getattr(node, "attr", getattr(node, "id", "")) in LAST_WORDS and ast.unparse(node) in EXITS:
            yield ast.unparse(node)


@pytest.mark.thorough
def test_no_module_ends_the_process_by_itself():
    sources = {str(file.relative_to(PACKAGE)): file.read_text() for file in PACKAGE.rglob("*.py")}
    found = {name: sorted(set(exits)) for name, source in sources.items() if (exits := list(find_exits(source)))}
    assert found.pop(WAY_OUT) == ["sys.exit"]
    assert found.pop(SCRIPT) == ["sys.exit"]
    assert found == {name: ["os._exit"] for name in ALLOWED}


@pytest.mark.parametrize(
    "source",
    [
        "import sys\nsys.exit(2)",
        "from sys import exit as leave",
        "raise SystemExit",
        "class Refused(SystemExit): ...",
        "import os\nos._exit(1)",
        "quit()",
    ],
)
def test_every_way_to_end_a_process_is_seen(source):
    assert list(find_exits(source))
