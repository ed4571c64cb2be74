"""The one way out of a command: its errors are printed here, and the process exits here."""

import sys
from collections.abc import Callable
from importlib import import_module
from typing import NoReturn

from tlsmem.base.errors import UserError
from tlsmem.base.termination import Terminated


def run(main: Callable[[], int | None]) -> NoReturn:
    """Call a command and exit with the status that it returns; None is 0.

    A UserError's sentence is printed on stderr. Ctrl-C ends the process by its signal, without a traceback."""
    try:
        status = main()
    except UserError as error:
        if sentence := str(error):
            print(f"memtest: {sentence}", file=sys.stderr)
        status = error.status
    except Terminated as ended:
        status = ended.status
    sys.exit(status)


def run_module(name: str) -> NoReturn:
    """Run the main() of a module. Importing it may raise a UserError too, for instance under an old Python."""
    run(lambda: import_module(name).main())
