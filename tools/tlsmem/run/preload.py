"""The library that a run has before the system's malloc: an allocator, or the heap meter; never both in a campaign."""

import os
import re
import subprocess
import sysconfig
from pathlib import Path

from tlsmem.base.errors import UserError
from tlsmem.base.paths import HEAP_METER, ROOT
from tlsmem.config.definitions import Allocator
from tlsmem.schema.harness_output import Meter
from tlsmem.schema.run_origins import AllocatorRecord

HEAP_METERS = ("heap", "sites")


def allocator_record(name: str, allocator: Allocator) -> AllocatorRecord:
    """The allocator with the version that is installed and the settings in force.

    Raises UserError when its library is not there."""
    if not allocator.library:
        return AllocatorRecord(name=name, version=None, settings=allocator.environment, library=None)
    library = find_library(allocator.library)
    if not library:
        raise UserError(f"allocator {name}: no {allocator.library} on this system: apt install {allocator.package}")
    settings = os.environ.get(allocator.settings) if allocator.settings else allocator.environment
    return AllocatorRecord(name=name, version=version(allocator.package), settings=settings, library=str(library))


def find_library(library: str) -> Path | None:
    """As the dynamic linker would; else in Debian's own place, which its cache may not know yet."""
    cache = subprocess.run(["/sbin/ldconfig", "-p"], capture_output=True, text=True, check=False).stdout
    found = re.search(rf"^\s*{re.escape(library)} .*=> (\S+)$", cache, re.MULTILINE)
    place = Path("/usr/lib", sysconfig.get_config_var("MULTIARCH") or "", library)
    return Path(found[1]) if found else place if place.exists() else None


def version(package: str | None) -> str | None:
    """The Debian package's; None when the system does not know."""
    query = ["dpkg-query", "--show", "--showformat=${Version}", package or ""]
    try:
        done = subprocess.run(query, capture_output=True, text=True, check=False)
    except FileNotFoundError:
        return None
    return done.stdout.strip() or None


def run_variables(meter: Meter, used: AllocatorRecord, allocator: Allocator) -> dict[str, str]:
    """The environment of a run."""
    if meter in HEAP_METERS:
        return {"LD_PRELOAD": str(ROOT / HEAP_METER)} | ({"HEAPMETER_SITES": "1"} if meter == "sites" else {})
    preload = {"LD_PRELOAD": used.library} if used.library else {}
    fixed = dict([allocator.environment.split("=", 1)]) if allocator.environment else {}
    return fixed | preload | ({allocator.settings: used.settings} if allocator.settings and used.settings else {})
