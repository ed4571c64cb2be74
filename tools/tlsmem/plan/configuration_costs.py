"""What the configuration of a server adds to its process: certificates, reloads, workers, servers behind it, from
records of `measure configuration` with the server built on the stack of the plan.

The records have a master and one worker. Pages that they share, as a worker does with what it was forked of, are one
memory, so they count once; with several workers, each has in addition what the recorded worker does not share. A
certificate is the slope over certificates once clients have asked for each name. A reload is what the same
configuration holds more after it, between the recorded numbers of certificates along the line from one to the next,
since malloc keeps other shares of few and of many. A worker is what it does not share without connection table and
certificates."""

import argparse
from bisect import bisect
from collections.abc import Iterator, Sequence
from functools import cache
from pathlib import Path
from typing import NamedTuple

from tlsmem.base.errors import Usage
from tlsmem.config.servers import find_server
from tlsmem.schema.configuration_records import FOLDER, ConfigurationPhase, load_configuration_file
from tlsmem.schema.recording_files import PLAIN, locate
from tlsmem.stats.configuration_costs import ASKED, MASTER, STARTED, SettingSeries, group_settings
from tlsmem.stats.live_costs import short_version
from tlsmem.stats.missing import Missing, keep_present
from tlsmem.stats.session_cost import Line
from tlsmem.store import recordings

OPTIONS = ("certificates", "reloads", "workers")
WITH_WORKERS = ("nginx",)  # whose worker processes the records tell from the master
CERTIFICATES, CONNECTIONS, BACKENDS = "certificates", "worker-connections", "backends"  # settings of the records
KINDS = {"rsa": "rsa-2048", "ecdsa": "ecdsa-p256"}  # of keys
SYSTEM = "@system"  # how the stacks end on which packaged servers run
BACKEND_LINES = {"nginx": "location with proxy_pass https://", "haproxy": "server line with ssl"}
RELOADS = 2  # that the records have


class SettingCost(NamedTuple):
    """`number` of them, and bytes of each; with what stands beside it."""

    what: str
    number: int
    each: int
    remark: str = ""


class ConfigurationCosts(NamedTuple):
    """What was asked for and is recorded; sentences about what is not, and where the figures are from."""

    found: tuple[SettingCost, ...] = ()
    missing: tuple[str, ...] = ()
    source: str | None = None


def requested_costs(given: argparse.Namespace, stack: str | None, suite: str) -> ConfigurationCosts:
    """Return the cost of what --certificates, --reloads and --workers ask for. Raises Usage where the server has no
    such thing.

    `stack`: of the plan; None, as the server is packaged."""
    asked = {name: vars(given).get(name) for name in OPTIONS}
    if all(one is None for one in asked.values()):
        return ConfigurationCosts()
    name = given.server
    if not name:
        raise Usage(f"--{next(one for one in OPTIONS if asked[one] is not None)} also needs --as nginx or --as haproxy")
    if asked["workers"] is not None and name not in WITH_WORKERS:
        raise Usage(f"--workers: worker processes were measured of {', '.join(WITH_WORKERS)} alone; leave it out")
    among = recordings.find_configurations(vars(given).get("live", ()))
    kind = KINDS["ecdsa" if "ecdsa" in suite else "rsa"]
    certificates = find_series(name, stack, CERTIFICATES, kind, among)
    tables = find_series(name, stack, CONNECTIONS, None, among)
    priced = [*price_settings(asked, certificates, tables, kind)]
    missing = tuple(describe_missing(one.reason, name, stack) for one in priced if isinstance(one, Missing))
    known = filter(None, (certificates, tables))
    sources = dict.fromkeys(f"{describe(one)}, {recordings.display_name(path)}" for path, one in known)
    source = f"Its configuration: RSS of {' and '.join(sources)}; pages that processes share count once."
    return ConfigurationCosts(tuple(keep_present(priced)), missing, source if sources else None)


def price_settings(
    asked: dict[str, int | None],
    certificates: tuple[Path, SettingSeries] | None,
    tables: tuple[Path, SettingSeries] | None,
    kind: str,
) -> Iterator[SettingCost | Missing]:
    """Yield the cost of each option; Missing with its name where it is not recorded."""
    count, workers, reloads = (asked[one] for one in ("certificates", "workers", "reloads"))
    if count is not None:
        used = lines_at(certificates, ASKED) or lines_at(certificates, STARTED)
        if used:
            each = used.master.slope + used.own.slope * (workers or 1)
            yield SettingCost("certificates", count, round(each), kind)
        else:
            yield Missing("certificates")
    if workers is not None:
        idle = lines_at(tables, STARTED)
        yield SettingCost("more workers", workers - 1, round(idle.own.intercept)) if idle else Missing("workers")
    if reloads:
        left = read_left(certificates, f"reload {min(reloads, RELOADS)}", workers or 1)
        if len(left) > 1:
            yield SettingCost("reloads", 1, max(0, round(interpolate(left, count or 1))), describe_reloads(reloads))
        else:
            yield Missing("reloads")


def measure_backend(name: str, stack: str, among: Sequence[Path]) -> tuple[int, str] | None:
    """Return the RSS that one more server behind a proxy takes in this server on this stack, in bytes, and what was
    measured; None where it is not recorded. The recorded servers do not verify theirs, so no CA is in it."""
    found = find_series(name, stack, BACKENDS, None, among)
    lines = lines_at(found, STARTED)
    if not found or not lines:
        return None
    path, series = found
    place = recordings.display_name(path)
    source = f"{BACKEND_LINES[name]} in {describe(series)}, without a CA file of its own, {place}"
    return round(lines.master.slope + lines.own.slope), source


def read_left(found: tuple[Path, SettingSeries] | None, phase: str, workers: int) -> dict[int, int]:
    """Return what a reload left, in bytes, by the number of certificates; of so many workers."""
    if not found:
        return {}
    series = found[1]
    before, after = (
        [series.readings("rss", one, reading) for reading in (read_master, read_own)] for one in (STARTED, phase)
    )
    sizes = sorted(set.intersection(*map(set, (*before, *after))))
    return {size: after[0][size] - before[0][size] + workers * (after[1][size] - before[1][size]) for size in sizes}


def interpolate(points: dict[int, int], at: int) -> float:
    """Return the value along the line between the two nearest places, beyond the ends along the last line.
    `points`: values by place, at least two, in order."""
    places = list(points)
    right = min(max(1, bisect(places, at)), len(places) - 1)
    low, high = places[right - 1], places[right]
    return points[low] + (points[high] - points[low]) * (at - low) / (high - low)


def describe_reloads(reloads: int) -> str:
    beyond = f" (measured: {RELOADS})" if reloads > RELOADS else ""
    return f"after {reloads:,}{beyond}"


class ProcessLines(NamedTuple):
    """Anonymous memory over sizes: RSS of the master, and what the worker has beside the pages that it shares."""

    master: Line
    own: Line


def lines_at(found: tuple[Path, SettingSeries] | None, phase: str) -> ProcessLines | None:
    """Return the lines at the end of a phase; None where it is not recorded."""
    if not found:
        return None
    master, own = (found[1].line(phase, reading) for reading in (read_master, read_own))
    return None if isinstance(master, Missing) or isinstance(own, Missing) else ProcessLines(master, own)


def read_master(phase: ConfigurationPhase) -> int:
    return sum(one.rss_anon_bytes for one in phase.processes if one.process == MASTER)


def read_own(phase: ConfigurationPhase) -> int:
    """Return the memory of all processes, pages that they share counted once, without the master's RSS."""
    return sum(one.pss_anon_bytes for one in phase.processes) - read_master(phase)


def find_series(
    name: str, stack: str | None, setting: str, kind: str | None, among: Sequence[Path]
) -> tuple[Path, SettingSeries] | None:
    """Return the series of a server on this stack; None, or the stack of the system: as it is packaged. A recording
    that was named comes first, then the one with the largest size, then the newest."""
    build = None if stack and stack.endswith(SYSTEM) else stack
    committed = set(recordings.find_configurations())
    found = [
        (path, one)
        for path in among
        for one in load_series(path, name)
        if (one.stack, one.setting, one.kind) == (build, setting, kind)
    ]
    return max(
        found,
        key=lambda one: (one[0] not in committed, max(run.size for run in one[1].runs), one[0].name),
        default=None,
    )


@cache
def load_series(recording: Path, name: str) -> tuple[SettingSeries, ...]:
    """Return the series of a server's settings in a recording."""
    file = locate(recording / FOLDER / f"{name}{PLAIN}")
    return tuple(group_settings(load_configuration_file(file))) if file.exists() else ()


def describe(series: SettingSeries) -> str:
    """Return what was measured: `nginx/1.26.3 on OpenSSL 3.5.5`."""
    library = " ".join(series.tls_library.split()[:2]) if series.tls_library else ""
    return short_version(series.reported) + (f" on {library}" if library else "")


def describe_missing(option: str, name: str, stack: str | None) -> str:
    """Say that it is not recorded and not included, and how it is recorded."""
    built = f" --stack {stack}" if stack else ""
    return (
        f"--{option}: not recorded of {find_server(name).what} and not included; "
        f"tools/tls-memtest measure configuration --server {name}{built}"
    )
