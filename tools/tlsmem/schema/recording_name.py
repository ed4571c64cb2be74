"""Where the runs of this machine go unless the user names a directory. Standard library only."""

import os
import platform
import re
from datetime import date
from pathlib import Path

from tlsmem.base.paths import ROOT
from tlsmem.base.repository import LOCAL
from tlsmem.schema import machine_path

SUFFIX_DIGITS = 4


def recording_name(day: date, cpu: str, path: str) -> str:
    """Return `<date>-<cpu>-p<path>`, for instance 2026-11-21-amd-epyc-p3f2a: machines of one CPU name may differ in
    their path, whose name `path` is."""
    slug = re.sub(r"[^a-z0-9]+", "-", re.sub(r"\((r|tm)\)", "", cpu.lower())).strip("-")
    return f"{day.isoformat()}-{slug}-p{path[:SUFFIX_DIGITS]}"


def default_recording() -> Path:
    """Return the directory for this machine's runs of today, unless the user names another one."""
    return ROOT / LOCAL / recording_name(date.today(), cpu_model(), this_path())


def this_path() -> str:
    """Return the name of this machine's path, as its runs in the lab have it."""
    return machine_path.path_digest(machine_path.read_path(), os.cpu_count() or 1)


def cpu_model() -> str:
    """Return the CPU's model as the kernel names it, or the architecture where /proc/cpuinfo has no model."""
    return machine_path.read_cpuinfo().get("model name") or platform.machine()
