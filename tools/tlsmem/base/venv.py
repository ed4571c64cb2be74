"""The project's Python environment, for scripts that are run as they stand: `tools/plot_mem.py ...`, from anywhere.

A command parses its arguments with the standard library, and imports what must be installed after that:

    given = parser().parse_args()
    venv.activate()
    from tlsmem.tables import tabulate

Inside .venv this does nothing. Outside, the script starts again with .venv/bin/python, same arguments, same directory;
without a .venv it says how to make one and exits with 2.
"""

import os
import sys
from pathlib import Path
from types import TracebackType

from tlsmem.base.paths import ROOT


def activate(root: Path = ROOT) -> None:
    """Start the script again with the Python of `root`/.venv, unless it runs there already.

    Exits with 2 and a sentence when the environment is not there or not complete."""
    sys.excepthook = handle_uncaught
    environment = root / ".venv"
    if Path(sys.prefix).resolve() == environment.resolve():
        return
    python = environment / "bin/python"
    # `ready` is written last: an environment that is half made is none.
    if not (environment / "ready").exists() or not os.access(python, os.X_OK):
        print("memtest: the Python packages are not installed: run `make setup` in the repository", file=sys.stderr)
        sys.exit(2)
    os.execv(python, [str(python), *sys.orig_argv[1:]])


def handle_uncaught(kind: type[BaseException], error: BaseException, trace: TracebackType | None) -> None:
    """Print no traceback on Ctrl-C, at whatever moment it comes; the process still ends by that signal."""
    if kind is not KeyboardInterrupt:
        sys.__excepthook__(kind, error, trace)
