"""Which call sites hold what connections add to a real server: it runs under valgrind's massif, which is asked for the
call stacks of all live blocks before the connections are opened, and while they are idle.

The difference is what they added. Of a process that was forked meanwhile, what it has inherited is taken off: what its
parent had before."""

import contextlib
import os
import shutil
import signal
import time
from collections import Counter
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import NamedTuple

from tlsmem.base.paths import ROOT, shorten
from tlsmem.live.servers import ServerError
from tlsmem.profile import massif_reader, tls_shares
from tlsmem.profile.errors import Unreadable
from tlsmem.profile.frames import Frame
from tlsmem.profile.tls_shares import Held, TlsShares
from tlsmem.schema.live_records import HeldBy, LiveSite

CONNECTIONS, WINDOW = 20, 10  # of a run that names call sites: under valgrind a handshake takes a tenth of a second
DEPTH = 30  # frames of a call stack
CALLERS = 12  # of them that are recorded, innermost first
LIMIT_S, POLL_S = 60.0, 0.05  # for massif to write a snapshot, and between two looks for it
SIGNAL = int(signal.SIGRTMAX) - 5  # which libmarks.so waits for, and no server
MARKS = ROOT / "build/core/libmarks.so"
FOLDER = "massif"  # in a run's folder; all users may write into it, since servers give their rights up
SITES = 200  # that are recorded, the largest; the others are one of each holder


class HeldSite(NamedTuple):
    """Who called the allocator, innermost first, and what the bytes are."""

    callers: tuple[str, ...]
    held_by: HeldBy
    library: str | None


def make_words(folder: Path) -> list[str]:
    """Return the words that start a server under massif. Raises ServerError where there is no valgrind."""
    if not shutil.which("valgrind"):
        raise ServerError("call sites are named by massif, which is not installed: apt install valgrind")
    if not MARKS.exists():
        raise ServerError(f"{shorten(MARKS)} is not there: make {shorten(MARKS)}")
    place = folder / FOLDER
    place.mkdir()
    place.chmod(0o1777)
    words = ["env", f"LD_PRELOAD={MARKS}", f"MARKS_DIRECTORY={place}", f"MARKS_SIGNAL={SIGNAL}", "valgrind"]
    words += ["--tool=massif", "--quiet", "--trace-children=yes", f"--depth={DEPTH}", "--threshold=0"]
    return [*words, "--vgdb=no", "--massif-out-file=/dev/null"]


def take_snapshots(folder: Path, pids: Iterable[int], name: str) -> dict[int, Path]:
    """Return the file of each process, with the call stacks of what is live in it; none of a process that has ended.
    Raises ServerError where massif does not answer."""
    found = {}
    for pid in pids:
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, SIGNAL)
            found[pid] = await_snapshot(folder / FOLDER, pid).rename(folder / f"{name}.{pid}")
    return found


def await_snapshot(place: Path, pid: int) -> Path:
    """Return the file that the process has written. Raises ServerError where it writes none, and ProcessLookupError
    where it ends."""
    until = time.monotonic() + LIMIT_S
    while time.monotonic() < until:
        if written := [one for one in place.glob(f"{pid}.*") if one.suffix != ".partial"]:
            return written[0]
        os.kill(pid, 0)
        time.sleep(POLL_S)
    raise ServerError(f"massif gave no snapshot of process {pid} within {LIMIT_S:.0f} s")


def find_sites(before: Mapping[int, Path], after: Mapping[int, Path], parent: int) -> list[LiveSite]:
    """Return what connections added in all processes, the largest first. `parent`: from which those come that were not
    there before. Raises ServerError where a snapshot cannot be read."""
    added = Counter[HeldSite]()
    inherited = sum_sites(before[parent])
    for pid, file in after.items():
        base = sum_sites(before[pid]) if pid in before else inherited
        now = sum_sites(file)
        for stack in {*now, *base}:
            held = now.get(stack) or base[stack]
            more = (now[stack].bytes if stack in now else 0) - (base[stack].bytes if stack in base else 0)
            if pid in before or more > 0:  # what a child frees of its parent's is still the parent's
                added[held.site] += more
    return list_largest(added)


def list_largest(added: Mapping[HeldSite, int]) -> list[LiveSite]:
    """Return call sites, the largest first; those beyond SITES as one of each kind."""
    order = sorted((one for one in added.items() if one[1]), key=lambda one: (-one[1], one[0].callers))
    rest = Counter[tuple[HeldBy, str | None]]()
    for site, size in order[SITES:]:
        rest[site.held_by, site.library] += size
    found = [
        LiveSite(bytes=size, held_by=site.held_by, library=site.library, callers=list(site.callers))
        for site, size in order[:SITES]
    ]
    return found + [
        LiveSite(bytes=size, held_by=kind, library=library, callers=[])
        for (kind, library), size in rest.items()
        if size
    ]


class StackBytes(NamedTuple):
    """What is live of one call stack."""

    bytes: int
    site: HeldSite


def sum_sites(file: Path) -> dict[tuple[Frame, ...], StackBytes]:
    """Return what a snapshot says, by call stack. Raises ServerError where it cannot be read."""
    try:
        profile = massif_reader.read_profile(file)
    except Unreadable as error:
        raise ServerError(str(error)) from None
    (moment,) = profile.moments.values()
    shares = TlsShares(profile)
    found: dict[tuple[Frame, ...], StackBytes] = {}
    for stack, live in moment.live.items():
        frames = profile.stacks.frames(stack)
        more = found[frames].bytes if frames in found else 0
        callers = profile.stacks.callers(stack, CALLERS)
        found[frames] = StackBytes(more + live.bytes, name_site(callers, shares, shares.share(stack, live)))
    return found


def name_site(callers: Iterable[Frame], shares: TlsShares, held: Held) -> HeldSite:
    """Return a call stack as it is recorded."""
    kinds: dict[str, HeldBy] = {tls_shares.CRYPTO: "cryptography", tls_shares.UNKNOWN: "unknown"}
    own: HeldBy = "server"
    kind = "TLS" if held.share in tls_shares.TLS else kinds.get(held.share, own)
    return HeldSite(tuple(map(name_frame, callers)), kind, shares.describe_library(held.library))


def name_frame(frame: Frame) -> str:
    """Return `function`, or `module+0x12` where it has no name."""
    if frame.function:
        return frame.function
    module = os.path.basename(frame.module or "?")
    return f"{module}+{frame.address:#x}" if frame.address is not None and not frame.is_absolute else module
