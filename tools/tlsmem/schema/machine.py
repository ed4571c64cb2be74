"""The machine that measures, as a record says it, and the name of a recording made on it."""

import os
import platform
import re
from pathlib import Path

from tlsmem.schema import machine_path
from tlsmem.schema.machine_context import read_context
from tlsmem.schema.recording_name import cpu_model
from tlsmem.schema.run_origins import Machine, MachinePath

GOVERNOR = Path("/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor")
THP = Path("/sys/kernel/mm/transparent_hugepage/enabled")


def read_machine() -> Machine:
    """Return this machine as records describe it. Raises ValueError when /proc/meminfo has no MemTotal."""
    return Machine(
        cpu=cpu_model(),
        cpus=os.cpu_count() or 1,
        memory_bytes=meminfo_bytes("MemTotal"),
        kernel=platform.release(),
        os=platform.freedesktop_os_release().get("PRETTY_NAME", platform.system()),
        libc=" ".join(platform.libc_ver()),
        governor=GOVERNOR.read_text().strip() if GOVERNOR.exists() else None,
        thp_host=parse_selected(THP.read_text()) if THP.exists() else "none",
        path=MachinePath.model_validate(machine_path.read_path()),
        context=read_context(),
    )


def parse_selected(options: str) -> str:
    """Return the option that the kernel marks as the current one, `madvise` of `always [madvise] never`."""
    found = re.search(r"\[(\w+)\]", options)
    return found[1] if found else options.strip()


def meminfo_bytes(name: str) -> int:
    """Return a line of /proc/meminfo, such as MemTotal, in bytes. Raises ValueError when there is none."""
    found = re.search(rf"^{name}:\s+(\d+) kB$", Path("/proc/meminfo").read_text(), re.MULTILINE)
    if not found:
        raise ValueError(f"/proc/meminfo has no {name}")
    return int(found[1]) * 1024


def allowed_cpus() -> list[int]:
    """Return the numbers of the CPUs that this process may run on, in increasing order."""
    return sorted(os.sched_getaffinity(0))
