"""Transparent huge pages: `always` for a while, or as they are; one runner at a time changes the host's setting.

It is put back however the while ends. The lock is a flock of the setting's own file: no file is left behind."""

import asyncio
import fcntl
import os
import subprocess
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

from tlsmem.base.errors import UserError
from tlsmem.schema.machine import THP, parse_selected

# Deaf to signals, it waits for the end of its stdin, which comes with the end of the runner, killed or not. Of a runner
# that was killed it is the last to hold the lock: who waits for it finds the old setting.
KEEPER = 'trap "" HUP INT TERM; echo ready; cat; echo "$1" > "$0"'
POLL_S = 0.2


class NotRestored(UserError):
    """A sentence with the command that does it."""


def unavailable_reason(setting: Path = THP) -> str | None:
    """Why they cannot be set; None when they can."""
    if not setting.exists():
        return "this kernel has no transparent huge pages"
    if os.geteuid():
        return "only root can set transparent huge pages to always"
    return None if writable(setting) else f"{setting} cannot be written here"


def writable(setting: Path) -> bool:
    """In a container it may not be, whatever its mode says: a file that is opened for writing is not yet written."""
    try:
        os.close(os.open(setting, os.O_WRONLY))
    except OSError:
        return False
    return True


def current(setting: Path) -> str:
    return parse_selected(setting.read_text())


@asynccontextmanager
async def locked(kind: int, setting: Path) -> AsyncIterator[int | None]:
    """The descriptor that holds the lock; None where there is no such file. Can be cancelled while it waits."""
    try:
        lock = os.open(setting, os.O_RDONLY | os.O_CLOEXEC)
    except OSError:
        yield None
        return
    try:
        waits = False
        while not try_lock(lock, kind):
            if not waits:
                print("memtest: waits for another runner, which needs the host's huge pages its way", file=sys.stderr)
            waits = True
            await asyncio.sleep(POLL_S)
        yield lock
    finally:
        os.close(lock)  # of a keeper that still runs the lock stays


def try_lock(lock: int, kind: int) -> bool:
    try:
        fcntl.flock(lock, kind | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


@asynccontextmanager
async def hold_unchanged(setting: Path = THP) -> AsyncIterator[None]:
    """Nobody has changed the host's own setting, nor does while this lasts."""
    async with locked(fcntl.LOCK_SH, setting):
        yield


@asynccontextmanager
async def enable_always(setting: Path = THP) -> AsyncIterator[None]:
    """Nothing is changed where it is unavailable. Raises NotRestored when the host is left with it."""
    if unavailable_reason(setting):
        yield
        return
    async with locked(fcntl.LOCK_EX, setting) as lock:
        old = current(setting)
        keeper = subprocess.Popen(
            ["sh", "-c", KEEPER, str(setting), old],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            start_new_session=True,  # what a terminal sends to the runner is not for it
            pass_fds=() if lock is None else (lock,),
        )
        assert keeper.stdout  # a pipe
        try:
            keeper.stdout.readline()  # it is there, and deaf
            setting.write_text("always")
            yield
        finally:
            keeper.communicate()
            put_back(setting, old)


def put_back(setting: Path, old: str) -> None:
    """The keeper has done so, unless it was killed."""
    try:
        if current(setting) != old:
            setting.write_text(old)
    except OSError as error:
        command = f"echo {old} > {setting}"
        raise NotRestored(f"huge pages are left as always ({error.strerror}); put them back: {command}") from None
