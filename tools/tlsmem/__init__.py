"""tls-memtest's tools: what a TLS session costs in memory, measured, tabulated, drawn and compared.

For notebooks and programs (docs/how-to/library.md):

    tlsmem.costs("openssl")                   what one session costs, as `tls-memtest cost` answers
    tlsmem.read("2026-11-22-amd-epyc")        the tables of a recording, for queries
    tlsmem.read_profile("massif.out.1234")    a heap profile of massif, pprof or another tool
"""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path

    from tlsmem.cost.session_costs import SessionCost
    from tlsmem.profile.heap_profile import Profile
    from tlsmem.schema.roles import Role
    from tlsmem.store.views import Recordings

__version__ = "0.1.0"


def costs(
    *stacks: str, suite: "str | None" = None, role: "Role | None" = None, recordings: "tuple[Path | str, ...]" = ()
) -> "list[SessionCost]":
    """Return what one session costs in memory: a named tuple for each stack, role and configuration, in bytes.

    A stack is a library ("openssl": its newest release) or a release ("openssl@3.5.5"); without any, the newest release
    of every library is returned. Without `suite` it is TLS 1.3 with AES-256-GCM, X25519 and an RSA-2048 certificate,
    or, for a stack that is not recorded in it, the one that it is recorded in: each row names its suite. The newest
    recording that has the figures is used, of the repository's or of those in `recordings`.

    Raises UserError with a sentence where nothing is known of a stack, a suite or a recording."""
    from pathlib import Path

    from tlsmem.cost import session_costs

    return session_costs.find_session_costs(stacks, suite, role, [Path(one) for one in recordings])


def read(*recordings: "Path | str") -> "Recordings":
    """Return the tables of recordings as DuckDB relations: `.runs`, `.phases`, `.blocks`, `.stacks`, `.live`,
    `.live_samples`, and `.sql("select ...")`. A recording is a directory, one of its files, or a name below data/;
    without any, those of the repository are read.

    Raises UserError with a sentence where there is no such recording, a line of one is no record, or DuckDB is not
    installed."""
    try:
        from tlsmem.store import views
    except ModuleNotFoundError as error:
        from tlsmem.base.errors import UserError

        raise UserError(
            f"tlsmem.read needs {error.name}: pip install {error.name}, or `make setup` in a clone"
        ) from None

    return views.read(*recordings)


def read_profile(file: "Path | str", suite: "str | None" = None, stack: "str | None" = None) -> "Profile":
    """Return a heap profile: what was live at each of its `moments`, in bytes. `call_sites("peak")` has the call sites
    that hold most, the largest first; `live("peak")` has the same by call stack.

    The file is one of heaptrack, massif, DHAT, pprof, gperftools, tcmalloc, jemalloc or memray, of any program; or a
    recording with sites runs, of which `suite` and `stack` choose one. It is a path, or a name below data/.

    Raises UserError with a sentence where the file is none of these or is damaged, or is of another suite or stack."""
    from tlsmem.base.errors import raise_user_errors
    from tlsmem.explore import profile_input
    from tlsmem.profile import open_profile

    with raise_user_errors(file):
        path = profile_input.find_profile(str(file), stack)
        profile = open_profile.open_profile(path, suite=suite, stack=stack)
        profile_input.insist(profile, suite, stack)
        return profile
