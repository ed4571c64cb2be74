"""How much memory a process may still take: the machine's, or less where its control group (cgroup v2) has a limit."""

import re
from pathlib import Path

from tlsmem.schema.machine import meminfo_bytes

MOUNT = Path("/sys/fs/cgroup")


def available_bytes() -> int:
    return min([meminfo_bytes("MemAvailable"), *limits(MOUNT, Path("/proc/self/cgroup").read_text())])


def limits(mount: Path, membership: str) -> list[int]:
    """What each limited group still has, from this process's own (`0::/a/b`) up; a limit holds for all below."""
    found = re.search(r"^0::/(.*)$", membership, re.MULTILINE)
    own = mount / found[1] if found else mount
    groups = [group for group in (own, *own.parents) if group.is_relative_to(mount)]
    return [left for group in groups if (left := left_bytes(group)) is not None]


def left_bytes(group: Path) -> int | None:
    """None without a limit. Files that the kernel has cached give way, as they do in MemAvailable."""
    try:
        limit = (group / "memory.max").read_text().strip()
        used = int((group / "memory.current").read_text())
        cached = re.search(r"^inactive_file (\d+)$", (group / "memory.stat").read_text(), re.MULTILINE)
    except (OSError, ValueError):
        return None
    return None if limit == "max" else max(0, int(limit) - used + (int(cached[1]) if cached else 0))
