"""The project's Python environment, for the command as it stands in a clone: `tools/tls-memtest cost`, from anywhere.

A command parses its arguments with the standard library, and imports what must be installed after that:

    given = parser().parse_args()
    venv.activate()
    from tlsmem.tables import tabulate

A command that needs only the packages of requirements-core.txt says activate(core=True). One that needs those of
requirements-cluster.txt too says activate(cluster=True): they are in build/cluster-venv, which sees those of .venv.

Inside .venv this does nothing, nor in a wheel, whose packages pip installed. Outside, the command starts again with
.venv/bin/python, same arguments, same directory; without a .venv it says how to make one and exits with 2.
"""

import os
import shlex
import sys
from pathlib import Path
from types import TracebackType
from typing import NoReturn

from tlsmem.base.errors import UserError
from tlsmem.base.paths import IS_WHEEL, ROOT

CLUSTER = "build/cluster-venv"
OWN_CLONE = "have its owner allow it, or run `make setup` in a clone of your own"


def activate(root: Path = ROOT, core: bool = False, cluster: bool = False) -> None:
    """Start the command again with the Python of `root`/.venv, unless it runs there already.

    `core`: the packages of requirements-core.txt are enough. `cluster`: those of requirements-cluster.txt are needed.

    Raises UserError with exit status 2 when the environment is not there or not complete."""
    sys.excepthook = handle_uncaught
    forget_zero_columns()
    if IS_WHEEL:
        return
    environment = root / (CLUSTER if cluster else ".venv")
    python = environment / "bin/python"
    # The file is written last: an environment that is half made is none.
    try:
        is_installed = (environment / ("core" if core else "ready")).exists()
        is_gone = is_installed and not python.exists()
    except PermissionError:
        refuse(f"{environment}: you may not read the Python packages there: {OWN_CLONE}")
    target = "setup-core" if core else "setup-cluster" if cluster else "setup"
    if not is_installed:
        refuse(f"the Python packages are not installed: run `make {target}` in the repository")
    if is_gone:
        again = f"rm -r {shlex.quote(str(environment))}; make {target}"
        refuse(f"{python} leads to a Python that is not there any more: run `{again}`")
    if not os.access(python, os.X_OK):
        refuse(f"{python.resolve()}: you may not run this Python, which {environment} is made with: {OWN_CLONE}")
    if not is_active(environment):
        if sys.flags.no_site:  # the environment's Python would not know itself either, and start again forever
            refuse("python -S finds no package; leave -S out")
        os.execv(python, [str(python), *sys.orig_argv[1:]])


def is_active(environment: Path = ROOT / ".venv") -> bool:
    """Return whether this is the environment's Python. A command of another one starts again: it says nothing yet."""
    return Path(sys.prefix).resolve() == environment.resolve()


def refuse(why: str) -> NoReturn:
    """Raise UserError with exit status 2."""
    raise UserError(why, status=2)


def forget_zero_columns() -> None:
    """Take COLUMNS=0 for unset, as terminals without a known width have it: rich would print nothing."""
    if not os.environ.get("COLUMNS", "").strip("0"):
        os.environ.pop("COLUMNS", None)


def handle_uncaught(kind: type[BaseException], error: BaseException, trace: TracebackType | None) -> None:
    """Print no traceback on Ctrl-C, at whatever moment it comes; the process still ends by that signal."""
    if kind is not KeyboardInterrupt:
        sys.__excepthook__(kind, error, trace)
