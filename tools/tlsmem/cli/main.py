"""The one way out: errors of a command are printed here, and the process exits here."""

import os
import sys
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import NoReturn

from tlsmem.base.errors import UserError, raise_user_errors
from tlsmem.base.paths import IS_WHEEL, ROOT
from tlsmem.base.termination import Terminated

USAGE = 2  # exit status
EXTRAS = {"duckdb": "data", "matplotlib": "plots", "scipy": "plots", "hdrh": "plots"}  # of the wheel, by module
OURS = ("", "tlsmem")
LONGEST = 4000  # characters
NO_MEMORY = "there is not enough memory; raise the limit, if there is one (`ulimit -v`, memory.max of a control group)"


def main(*before: str) -> NoReturn:
    """Run the command that the words of the command line name, after the words `before`.

    Importing the commands may raise a UserError too, for instance under an old Python."""
    run(lambda: run_words([*before, *sys.argv[1:]]))


def run_words(words: list[str]) -> int:
    """Run the command that the words name and return its exit status. Raises UserError on another system than Linux."""
    if sys.platform != "linux":
        raise UserError(
            f"this runs on Linux only, and here is {sys.platform}: use a Linux machine or a container", USAGE
        )
    status: int = import_module("tlsmem.cli.dispatch").run_words(words)
    return status


def run_installed() -> NoReturn:
    """Run the command of a wheel, or that of a clone; this is the `tls-memtest` that pip installs."""
    if IS_WHEEL:
        main()
    run(start_command_of_clone)


def start_command_of_clone() -> NoReturn:
    """Replace this process by the command of the clone that the package was installed from with `-e`, else by that of
    the clone around the current directory. Raises UserError where there is none."""
    with raise_user_errors("the current directory"):
        here = Path.cwd()
        places = (place / "tools/tls-memtest" for place in (ROOT, here, *here.parents))
        program = next((str(place) for place in places if place.is_file()), None)
    if not program:
        raise UserError(
            "there is no clone of tls-memtest here, which has the harnesses and the recordings: change into one, or "
            "install the command from it by `pip install --no-deps -e CLONE`",
            USAGE,
        )
    os.execv(sys.executable, [sys.executable, program, *sys.argv[1:]])


def shorten(sentence: str) -> str:
    """Return a sentence whose quote of a very long word has no middle: its end is the way out."""
    return sentence if len(sentence) <= LONGEST else f"{sentence[: LONGEST // 4]} ... {sentence[-LONGEST // 2 :]}"


def open_standard_files() -> None:
    """Have the descriptors 0 to 2 open. Where the shell has closed one, a file that is opened later would get its
    number, and a program that is started then would write into it."""
    for number in range(3):
        try:
            os.fstat(number)
        except OSError:
            os.open(os.devnull, os.O_RDWR)  # gets the lowest number that is free


def run(command: Callable[[], int | None]) -> NoReturn:
    """Call a command and exit with the status that it returns; None is 0.

    A UserError's sentence is printed on stderr, or one about a package that is not installed, or about memory. Ctrl-C
    ends the process by its signal, without a traceback."""
    open_standard_files()
    try:
        status = command()
    except ModuleNotFoundError as error:
        package = (error.name or "").partition(".")[0]
        extra = EXTRAS.get(package)
        if package in OURS or (IS_WHEEL and not extra):
            raise
        way = (
            f"pip install 'tls-memtest[{extra}]'"
            if IS_WHEEL
            else "run `make setup`, also after each update of the clone"
        )
        print(f"memtest: this needs the Python package {package}: {way}", file=sys.stderr)
        status = USAGE
    except UserError as error:
        if sentence := str(error):
            print(f"memtest: {shorten(sentence) if error.status == USAGE else sentence}", file=sys.stderr)
        status = error.status
    except MemoryError:
        print(f"memtest: {NO_MEMORY}", file=sys.stderr)
        status = 1
    except Terminated as ended:
        status = ended.status
    sys.exit(status)
