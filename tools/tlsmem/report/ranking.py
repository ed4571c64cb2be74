"""The order of releases, whatever the library."""

from collections.abc import Iterable

from tlsmem.config import releases


def final(stack: str) -> tuple:
    """What was released comes after what was released to be tried."""
    version = releases.version(stack)
    return "-" not in version, releases.version_key(version)


def sort_newest_first(stacks: Iterable[str]) -> list[str]:
    """By release, whatever the library; of one release those of fewer variants first."""
    return sorted(sorted(dict.fromkeys(stacks), key=lambda stack: stack.count("+")), key=final, reverse=True)
