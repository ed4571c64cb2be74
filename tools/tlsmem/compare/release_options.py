"""What a walk along a library's releases is told: stages, suites, tables, and its stacks. Standard library only."""

from collections.abc import Iterable, Sequence

from tlsmem.config import releases
from tlsmem.config.option_check import suggest_nearest
from tlsmem.schema.roles import Role

STAGES = {"created": "created", "peak": "at the peak", "established": "established", "idle": "idle"}
PHASES = {"created": "sessions", "established": "established", "idle": "idle"}  # at whose end a stage is, but the peak
SUITES = ("tls13-rsa-aes256", "tls12-rsa-aes256")  # unless others are asked for
ROLES: tuple[Role, ...] = ("client", "server")
TABLES = ("versions", "buckets", "changes")


def stacks_of(library: str, known: Sequence[str], versions: Sequence[str] | None = None) -> list[str]:
    """In order of release. ValueError with a sentence where there are none, or fewer than two."""
    there = releases.group_by_library(known)
    if library not in there:
        raise ValueError(f"no releases of {library}{suggest_nearest(library, there) or one_of(there)}")
    named = {releases.version(stack): stack for stack in there[library]}
    for version in versions or ():
        if version not in named:
            raise ValueError(f"no release {version} of {library}; there are: {', '.join(named)}")
    kept = [stack for version, stack in named.items() if not versions or version in versions]
    if len(kept) < 2:
        raise ValueError(f"{kept[0]} is the only release of {library}: a walk needs two")
    return kept


def one_of(there: Iterable[str]) -> str:
    return f"; there are: {', '.join(there) or 'none'}"
