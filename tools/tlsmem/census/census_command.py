"""The command `heap census`: a look at processes or cores, its tables, and sentences on what was not counted."""

import os
import sys
from collections.abc import Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from tlsmem.base.errors import Usage
from tlsmem.base.printable import printable_text
from tlsmem.census.census import take_census
from tlsmem.census.report import make_tables, summarise
from tlsmem.tables import render

if TYPE_CHECKING:
    from tlsmem.census.watch import WatchOptions

SERVICES = Path("/sys/fs/cgroup")
PROCESSES = "cgroup.procs"


def run(places: Sequence[int | Path], service: str | None, form: str | None, system: str = "") -> int:
    """Print the census of processes, by number or core, once. `system`: as take_census() takes it.

    Returns the exit status: 1 where a process could not be counted. Raises UserError."""
    asked = list_service(service) if service else list(dict.fromkeys(places))
    found, remarks = take_census(asked, system)
    render.print_all(make_tables(found), form, summarise(found))
    for remark in remarks:
        print(f"memtest: {printable_text(remark)}", file=sys.stderr)
    return 1 if len(found) < len(asked) else 0


def follow(places: Sequence[int | Path], service: str | None, options: "WatchOptions") -> int:
    """Look at processes again and again. Returns 0. Raises UserError."""
    from tlsmem.census import watch  # with a server for HTTP, which one look does without

    once = list(dict.fromkeys(places))
    return watch.follow(lambda: list_service(service) if service else once, options)


def list_service(name: str) -> list[int]:
    """Return the processes of a systemd service, or all that run a program of this name. Raises Usage for none."""
    found = sorted(set(list_unit(name)) or set(list_named(name)))
    if not found:
        raise Usage(f"--service {name}: no service and no process has this name; `systemctl list-units` lists services")
    return found


def list_unit(name: str) -> Iterator[int]:
    """Yield the processes in the control groups of a unit, those below it too."""
    unit = name if "." in name else f"{name}.service"
    if "/" in unit:
        return
    for folder in SERVICES.glob(f"**/{unit}"):
        for file in folder.rglob(PROCESSES):
            with suppress(OSError):
                yield from map(int, file.read_text().split())


def list_named(name: str) -> Iterator[int]:
    for entry in os.scandir("/proc"):
        if entry.name.isdigit():
            with suppress(OSError):
                if Path(entry.path, "comm").read_text().rstrip("\n") == name:
                    yield int(entry.name)
