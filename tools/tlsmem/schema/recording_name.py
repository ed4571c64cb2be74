"""Where the runs of this machine go unless the user names a directory. Standard library only."""

import platform
import re
from datetime import date
from pathlib import Path

from tlsmem.base.paths import ROOT
from tlsmem.base.repository import LOCAL


def recording_name(day: date, cpu: str) -> str:
    """Return `<date>-<cpu>`, for instance 2026-11-21-amd-epyc."""
    slug = re.sub(r"[^a-z0-9]+", "-", re.sub(r"\((r|tm)\)", "", cpu.lower())).strip("-")
    return f"{day.isoformat()}-{slug}"


def default_recording() -> Path:
    """Return the directory for this machine's runs of today, unless the user names another one."""
    return ROOT / LOCAL / recording_name(date.today(), cpu_model())


def cpu_model() -> str:
    """Return the CPU's model as the kernel names it, or the architecture where /proc/cpuinfo has no model."""
    found = re.search(r"^model name\s*:\s*(.+)$", Path("/proc/cpuinfo").read_text(), re.MULTILINE)
    return found[1].strip() if found else platform.machine()
