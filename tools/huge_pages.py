"""Transparent huge pages `always` for a while: the host's setting is put back however the while ends."""

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from machine import THP, chosen

# Deaf to signals, it waits for the end of its stdin, which comes with the end of the runner, killed or not.
KEEPER = 'trap "" HUP INT TERM; echo ready; cat; echo "$1" > "$0"'


def unavailable(setting: Path = THP) -> str | None:
    """Why they cannot be set; None when they can."""
    if not setting.exists():
        return "this kernel has no transparent huge pages"
    if os.geteuid():
        return "only root can set transparent huge pages to always"
    return None if writable(setting) else f"{setting} cannot be written here"


def writable(setting: Path) -> bool:
    """In a container it may not be, whatever its mode says: a write of what it is already changes nothing."""
    try:
        setting.write_text(current(setting))
    except OSError:
        return False
    return True


def current(setting: Path) -> str:
    return chosen(setting.read_text())


@contextmanager
def always(setting: Path = THP) -> Iterator[None]:
    """Nothing is changed where it is unavailable."""
    if unavailable(setting):
        yield
        return
    keeper = subprocess.Popen(
        ["sh", "-c", KEEPER, str(setting), current(setting)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        start_new_session=True,  # what a terminal sends to the runner is not for it
    )
    try:
        keeper.stdout.readline()  # it is there, and deaf
        setting.write_text("always")
        yield
    finally:
        keeper.communicate()
        if keeper.returncode:
            print(f"memtest: {setting}: the old setting could not be put back", file=sys.stderr)
