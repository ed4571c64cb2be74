#!/usr/bin/env python3
"""Run the notebooks in docs/notebooks: does every cell run, and is every text output the committed one?

  build/notebook-venv/bin/python tools/dev/check_notebook.py            compare
  build/notebook-venv/bin/python tools/dev/check_notebook.py --write    write the outputs into the notebooks

Exit status 1: a cell fails, or an output differs. The bytes of a picture differ between machines: it is compared only
that there is one."""

import argparse
import difflib
import os
import re
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:  # of build/notebook-venv: --help needs no package
    from nbformat import NotebookNode

ROOT = Path(__file__).resolve().parents[2]
NOTEBOOKS = ROOT / "docs/notebooks"
LIMIT_S = 600  # of a cell: the first one derives tables from recordings
COLOURS = re.compile(r"\x1b\[[0-9;]*m")


def run_notebook(notebook: "NotebookNode") -> "NotebookNode":
    """Return a copy of a notebook with the outputs of a run.

    Raises CellControlSignal where a cell raises or takes too long, DeadKernelError where it ends the kernel."""
    import nbformat
    from nbclient import NotebookClient
    from traitlets.config import Config

    found = nbformat.from_dict(notebook)
    for cell in found.cells:
        if cell.cell_type == "code":
            cell.outputs, cell.execution_count = [], None
    config = Config(KernelManager={"transport": "ipc"})  # the kernel warns of TCP
    place = {"metadata": {"path": str(ROOT)}}
    NotebookClient(found, timeout=LIMIT_S, record_timing=False, resources=place, config=config).execute()
    found.metadata = {
        "kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"},
        "language_info": {"name": "python"},
    }
    return found


def output_lines(cell: "NotebookNode") -> list[str]:
    """Return the text outputs of a cell by line, each after its type; of other outputs the type alone."""
    lines = []
    for output in cell.get("outputs", ()):
        parts = {output.name: output.text} if output.output_type == "stream" else output.get("data", {})
        for kind, content in sorted(parts.items()):
            is_text = kind in ("stdout", "stderr") or kind.startswith("text/")
            lines += [f"{kind}: {line}" for line in content.splitlines()] if is_text else [kind]
    return lines


def find_differences(committed: "NotebookNode", run: "NotebookNode") -> Iterator[str]:
    """Yield the lines of text outputs that are committed (-) and no longer printed, or printed (+) and not committed,
    each below the number of its cell from 1."""
    for number, (old, new) in enumerate(zip(committed.cells, run.cells, strict=True), 1):
        lines = difflib.unified_diff(output_lines(old), output_lines(new), lineterm="", n=0)
        changed = [line for line in lines if not line.startswith(("---", "+++", "@@"))]
        if changed:
            yield f"cell {number}:"
            yield from changed


def find_faults(file: Path, write: bool) -> Iterator[str]:
    """Yield a sentence for a cell that fails, outputs that differ, or a path of this machine in the outputs; with
    `write` write the outputs, where no cell fails."""
    import nbformat
    from nbclient.exceptions import CellControlSignal, DeadKernelError

    name = file.relative_to(ROOT) if file.is_relative_to(ROOT) else file
    try:
        committed = nbformat.read(file, as_version=4)
    except (OSError, ValueError) as error:
        yield f"{name}: not a notebook that can be read: {str(error).splitlines()[0]}"
        return
    try:
        run = run_notebook(committed)
    except (CellControlSignal, DeadKernelError) as error:
        yield f"{name}: a cell fails: {COLOURS.sub('', str(error)).strip()}"
        return
    if paths := {place for place in (str(ROOT), str(Path.home())) if place in nbformat.writes(run)} - {"/"}:
        yield f"{name}: an output names {', '.join(sorted(paths))}, which other machines have not; print less of it"
    elif write:
        nbformat.write(run, file)
    elif differences := list(find_differences(committed, run)):
        yield "\n".join(
            [
                f"{name}: outputs differ from the committed ones (-); if the new ones (+) are right: "
                "build/notebook-venv/bin/python tools/dev/check_notebook.py --write",
                *differences,
            ]
        )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--write", action="store_true", help="write the outputs into the notebooks")
    parser.add_argument("notebooks", nargs="*", type=Path, help="instead of those in docs/notebooks")
    given = parser.parse_args()
    os.environ.pop("MPLBACKEND", None)  # of a shell: pictures would not be outputs
    files = given.notebooks or sorted(NOTEBOOKS.glob("*.ipynb"))
    with tempfile.TemporaryDirectory() as folder:  # sockets need a short path, and no settings of the user count
        os.environ |= {"IPYTHONDIR": folder, "JUPYTER_RUNTIME_DIR": folder, "JUPYTER_CONFIG_DIR": folder}
        faults = [fault for file in files for fault in find_faults(file, given.write)]
    for fault in faults or [f"check-notebook: passed: {len(files)} notebook{'' if len(files) == 1 else 's'}"]:
        print(fault, file=sys.stderr if faults else sys.stdout)
    sys.exit(bool(faults))


if __name__ == "__main__":
    main()
