"""The machine that measures, as a record says it: its path, and its context, of which none makes another machine."""

import os
import platform
import re
import resource
from pathlib import Path

from tlsmem.schema import machine_path
from tlsmem.schema.recording_name import cpu_model
from tlsmem.schema.run_origins import Machine, MachineContext, MachinePath

CACHES = Path("/sys/devices/system/cpu/cpu0/cache")
HUGE_PAGES = Path("/sys/kernel/mm/transparent_hugepage")
VM = Path("/proc/sys/vm")
CGROUPS = Path("/sys/fs/cgroup")
UNLIMITED = 1 << 60  # bytes: a limit of at least these is none
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


def read_context() -> MachineContext:
    """Return this machine's context; None is what this machine does not say, or has no limit of."""
    about = machine_path.read_cpuinfo()
    soft, hard = (None if one == resource.RLIM_INFINITY else one for one in resource.getrlimit(resource.RLIMIT_NOFILE))
    return MachineContext(
        stepping=about.get("stepping", about.get("CPU revision")),
        microcode=about.get("microcode"),
        caches=", ".join(map(describe_cache, sorted(CACHES.glob("index*")))),
        kernel_build=platform.version(),
        overcommit_memory=read_number(VM / "overcommit_memory"),
        cgroup_memory_bytes=read_memory_limit(),
        open_files_soft=soft,
        open_files_hard=hard,
        max_map_count=read_number(VM / "max_map_count"),
        mthp=", ".join(map(describe_size, sorted(HUGE_PAGES.glob("hugepages-*/enabled"), key=size_of))),
    )


def describe_cache(cache: Path) -> str:
    """Return a cache of the first CPU as `L1 Data 32K`."""
    level, kind, size = (read_text(cache / name) or "?" for name in ("level", "type", "size"))
    return f"L{level} {kind} {size}"


def size_of(setting: Path) -> int:
    """Return the size in the path of a file such as hugepages-64kB/enabled."""
    return int(re.sub(r"\D", "", setting.parent.name))


def describe_size(setting: Path) -> str:
    """Return what the kernel does with huge pages of one size, as `64kB never`."""
    chosen = re.search(r"\[(\w+)\]", read_text(setting) or "")
    return f"{setting.parent.name.partition('-')[2]} {chosen[1] if chosen else '?'}"


def read_text(file: Path) -> str | None:
    """Return the text of a file of the kernel without white space around it; None where it cannot be read."""
    try:
        return file.read_text().strip()
    except OSError:
        return None


def read_number(file: Path) -> int | None:
    """Return the number in a file of the kernel; None where there is none."""
    text = read_text(file) or ""
    return int(text) if text.isdecimal() else None


def read_memory_limit() -> int | None:
    """Return the least memory limit of this process's control group and of those above it; None without a limit."""
    found = []
    for line in (read_text(Path("/proc/self/cgroup")) or "").splitlines():
        _, controllers, group = line.split(":", 2)
        if controllers not in ("", "memory"):
            continue
        root, name = (CGROUPS / "memory", "memory.limit_in_bytes") if controllers else (CGROUPS, "memory.max")
        place = root / group.strip("/")
        found += [read_number(one / name) for one in (place, *place.parents) if one.is_relative_to(root)]
    return min((limit for limit in found if limit is not None and limit < UNLIMITED), default=None)
