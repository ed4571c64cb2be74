"""The tables of configurations: what grows with each setting, and what reloads leave."""

from collections.abc import Iterable, Sequence
from fractions import Fraction
from typing import NamedTuple

from tlsmem.config.libraries import stack_title
from tlsmem.schema.configuration_records import ConfigurationPhase, ConfigurationRecord
from tlsmem.stats import configuration_costs as costs
from tlsmem.stats.configuration_costs import MASTER, WORKER, PhaseReading, SettingSeries, SiteCost, group_settings
from tlsmem.stats.live_costs import short_version
from tlsmem.stats.missing import Missing, replace_missing
from tlsmem.stats.session_cost import Line
from tlsmem.tables.table import Cell, Column, Table, fraction_cell, integer_cell, optional, percent

CAPTION = (
    "Bytes that one more of a setting adds to a server without connections. Live heap: requested and not freed, by the "
    "heap meter, in the master and in a worker, which has what it inherited from the master too. Asked for: the "
    "worker's, once a client has asked for each name. RSS: anonymous memory of all processes, added up, the slope over "
    "sizes; shared once: pages that master and worker share are counted once. Reloaded: the slope of RSS after two "
    "reloads. Mapped: shared memory that the server reserves, resident once it is used. Call site: what grows most in "
    "a profile of one process, with its bytes. {servers}."
)
RELOAD_CAPTION = (
    "Anonymous memory before and after reloads, in MiB, with the largest number of each setting, without connections. "
    "Live heap: of the process by the heap meter, after the last reload. Free: freed, kept by malloc, and resident."
)
SITE_CAPTION = (
    "Where one more of a setting is allocated: the call sites that grow most between the smallest and the largest "
    "profile by heaptrack, of one process when it holds most. Share: of all that grows. Callers: innermost first."
)
MIB = 2**20
MOST_SITES = 5  # of a setting
UNEVEN = "differs by more than 1 % from one size to the next"


class SettingRow(NamedTuple):
    """A server on a library, and a setting of it."""

    series: SettingSeries

    def live(self, process: str, phase: str = costs.STARTED) -> Fraction | Missing:
        return self.series.added(phase, costs.live_of(process))

    def slope(self, reading: PhaseReading, phase: str = costs.STARTED) -> Line | Missing:
        return self.series.line(phase, reading)

    @property
    def site(self) -> SiteCost | Missing:
        found = self.series.sites()
        if isinstance(found, Missing):
            return found
        return found[0] if found else Missing("no call site grows")

    @property
    def last_reload(self) -> str:
        return next((run.phases[-1].phase for run in self.series.measured("rss")), costs.STARTED)


def name_library(series: SettingSeries) -> str:
    """Return the library that the server was built on, or that its package brings."""
    version = " ".join((series.tls_library or "its own").split()[:2])  # without the date that OpenSSL names
    return stack_title(series.stack) if series.stack else version


def live_column(key: str, heading: str, process: str, phase: str = costs.STARTED) -> Column:
    def value(row: SettingRow) -> tuple[SettingRow, Fraction] | Missing:
        if not any(at.phase == phase for run in row.series.measured("heap") for at in run.phases):
            return Missing("clients ask by name for certificates only")
        found = row.live(process, phase)
        return found if isinstance(found, Missing) else (row, found)

    def form(found: tuple[SettingRow, Fraction]) -> Cell:
        row, added = found
        even = row.series.is_even(phase, costs.live_of(process))
        return Cell(f"{round(added):,}".replace("-", "−"), float(added), None if even else UNEVEN)

    return Column(key, heading, value=value, form=form)


def slope_cell(line: Line) -> Cell:
    """Whole bytes, with the largest residual where that is more than 1 % of the value."""
    share = abs(line.residual_share)
    note = f"largest residual {share:.1%}".replace("%", " %") if share > 0.01 else None
    return Cell(f"{round(line.slope):,}".replace("-", "−"), line.slope, note)


def slope_column(key: str, heading: str, reading: PhaseReading, reloaded: bool = False) -> Column:
    def value(row: SettingRow) -> Line | Missing:
        return row.slope(reading, row.last_reload if reloaded else costs.STARTED)

    return Column(key, heading, value=value, form=slope_cell)


def site_cell(site: SiteCost) -> Cell:
    """Bytes, and the callers of the allocator, innermost first."""
    callers = name_callers(site)
    return Cell(f"{float(site.bytes):,.0f} {callers}", {"bytes": float(site.bytes), "callers": callers})


def name_callers(site: SiteCost) -> str:
    return " ← ".join(site.callers) or "no call stack"


COLUMNS = (
    Column("server", "server", left=True, value=lambda row: row.series.server),
    Column("library", "library", left=True, value=lambda row: name_library(row.series)),
    Column("setting", "one more of", left=True, value=lambda row: row.series.setting),
    Column("kind", "keys", left=True, value=lambda row: row.series.kind or ""),
    live_column("master_live_bytes", "live heap, master", MASTER),
    live_column("worker_live_bytes", "worker", WORKER),
    optional(live_column("asked_live_bytes", "asked for", WORKER, costs.ASKED)),
    slope_column("rss_anon_bytes", "RSS", costs.rss_anon),
    optional(slope_column("pss_anon_bytes", "shared once", costs.pss_anon)),
    slope_column("reloaded_rss_anon_bytes", "reloaded", costs.rss_anon, reloaded=True),
    optional(
        Column(
            "mapped_shared_bytes",
            "mapped",
            value=lambda row: row.series.added(costs.STARTED, costs.shared_mapped),
            form=fraction_cell,
        )
    ),
    Column("site", "call site", left=True, value=lambda row: row.site, form=site_cell),
)


def configuration_table(records: Sequence[ConfigurationRecord]) -> Table:
    """A row for each server, library and setting."""
    versions = "; ".join(dict.fromkeys(short_version(one.reported) for one in records))
    table = Table("configuration", "What grows with configuration", CAPTION.format(servers=versions), list(COLUMNS))
    table.add_rows(SettingRow(series) for series in group_settings(records) if series.measured("rss"))
    measured = {one.key for one in records if one.status == "measured"}
    failed = [one for one in records if one.status == "failed" and one.key not in measured]
    table.without = [
        f"{one.server} on {one.stack or 'its package'}, {one.size:,} {one.setting}, {one.meter}: {one.reason}"
        for one in failed
    ]
    return table


class ReloadRow(NamedTuple):
    """A process of the run that has most of a setting."""

    series: SettingSeries
    process: str
    run: ConfigurationRecord
    metered: ConfigurationRecord | None

    @property
    def live(self) -> int | Missing:
        found = costs.live_of(self.process)(self.metered.phases[-1]) if self.metered else None
        return Missing("no run under the heap meter") if found is None else found

    @property
    def free(self) -> int | Missing:
        found = [one.malloc for one in self.run.phases[-1].processes if one.process == self.process]
        known = [one.free_resident_bytes for one in found if one]
        return sum(known) if known else Missing("the heap of this process was not divided")

    def rss(self, name: str) -> int | Missing:
        phases = {phase.phase: phase for phase in self.run.phases}
        found = self.sum_process(phases[name]) if name in phases else None
        return Missing("no such phase") if found is None else found

    def sum_process(self, phase: ConfigurationPhase) -> int | None:
        found = [one.rss_anon_bytes for one in phase.processes if one.process == self.process]
        return sum(found) if found else None


def mib_cell(size: int) -> Cell:
    return Cell(f"{size / MIB:,.1f}", size)


def rss_column(key: str, heading: str, phase: str) -> Column:
    return Column(key, heading, value=lambda row: row.rss(phase), form=mib_cell)


RELOAD_COLUMNS = (
    Column("server", "server", left=True, value=lambda row: row.series.server),
    Column("library", "library", left=True, value=lambda row: name_library(row.series)),
    Column("setting", "setting", left=True, value=lambda row: row.series.setting),
    Column("kind", "keys", left=True, value=lambda row: row.series.kind or ""),
    Column("size", "how many", value=lambda row: row.run.size, form=integer_cell),
    Column("process", "process", left=True, value=lambda row: row.process),
    rss_column("started_bytes", "started", costs.STARTED),
    rss_column("reload_1_bytes", "reload 1", "reload 1"),
    rss_column("reload_2_bytes", "reload 2", "reload 2"),
    Column("live_bytes", "live heap", value=lambda row: row.live, form=mib_cell),
    Column("free_bytes", "free", value=lambda row: row.free, form=mib_cell),
)


def reload_table(records: Sequence[ConfigurationRecord]) -> Table:
    """A row for each process of each server, library and setting."""
    table = Table("reloads", "What a reload leaves", RELOAD_CAPTION, list(RELOAD_COLUMNS))
    for series in group_settings(records):
        for run in series.measured("rss")[-1:]:
            metered = next((one for one in series.measured("heap") if one.size == run.size), None)
            there = dict.fromkeys(one.process for one in run.phases[-1].processes)
            table.add_rows(ReloadRow(series, process, run, metered) for process in there)
    return table


class SiteRow(NamedTuple):
    """A call site of a series, and its bytes as a share of what one more adds in the profile."""

    series: SettingSeries
    site: SiteCost
    share: float


SITE_COLUMNS = (
    Column("server", "server", left=True, value=lambda row: row.series.server),
    Column("library", "library", left=True, value=lambda row: name_library(row.series)),
    Column("setting", "one more of", left=True, value=lambda row: row.series.setting),
    Column("kind", "keys", left=True, value=lambda row: row.series.kind or ""),
    Column(
        "bytes",
        "bytes",
        value=lambda row: row.site.bytes,
        form=lambda size: Cell(f"{float(size):,.0f}", float(size)),
    ),
    Column("share", "share", value=lambda row: row.share, form=lambda share: Cell(percent(share), share)),
    Column("callers", "callers of the allocator", left=True, value=lambda row: name_callers(row.site)),
)


def site_table(records: Sequence[ConfigurationRecord]) -> Table:
    """A row for each of the call sites that grow most."""
    table = Table("configuration-sites", "Where it is allocated", SITE_CAPTION, list(SITE_COLUMNS))
    for series in group_settings(records):
        found = replace_missing(series.sites(), [])
        whole = float(sum(one.bytes for one in found))
        table.add_rows(SiteRow(series, one, float(one.bytes) / whole) for one in found[:MOST_SITES])
    return table


def build(records: Iterable[ConfigurationRecord]) -> list[Table]:
    """All tables."""
    found = list(records)
    return [configuration_table(found), reload_table(found), site_table(found)]
