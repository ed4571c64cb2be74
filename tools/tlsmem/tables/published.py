"""Our peak RSS beside what was published, of the same stacks, suites and numbers of sessions.

A column is one entry of COLUMNS: what it takes of a row, and how that is written."""

import csv
from collections.abc import Callable, Iterator
from functools import cache
from typing import NamedTuple

from tlsmem.base.paths import ROOT
from tlsmem.stats.missing import Missing, map_present
from tlsmem.stats.peak_figure import PeakFigure, find_peak
from tlsmem.stats.selection import Selection
from tlsmem.stats.series import Setting, is_one_process
from tlsmem.stats.session_cost import KIB
from tlsmem.tables.peaks import SESSIONS, peak_cell
from tlsmem.tables.settings import describe_common_settings, setting_columns
from tlsmem.tables.table import Cell, Column, Table, integer_cell, optional

FILE = ROOT / "data/published/memory.csv"
SUITES = {  # by protocol and cipher as published
    ("TLSv1.2", "TLS_ECDHE_RSA_WITH_AES_256_GCM_SHA384"): "tls12-rsa-aes256",
    ("TLSv1.3", "TLS_AES_256_GCM_SHA384"): "tls13-rsa-aes256",
}
PublishedPeaks = dict[tuple[str, str, int], tuple[int, str]]  # stack, suite and sessions to KiB and the date


class PublishedRow(NamedTuple):
    """A stack at an N that was published, beside our figure."""

    setting: Setting
    stack: str
    sessions: int
    kib: int
    date: str
    ours: PeakFigure | Missing

    @property
    def difference_kib(self) -> float | Missing:
        """Ours less the published figure."""
        return map_present(lambda ours: ours.bytes / KIB - self.kib, self.ours)

    @property
    def difference_per_session(self) -> float | Missing:
        """The same in bytes, over all sessions."""
        return self.difference_kib * KIB / self.sessions


def stack_name(row: dict[str, str]) -> str:
    """As stacks.toml names it: rustls had jemalloc as Rust's global allocator."""
    variants = [row["provider"]] * bool(row["provider"])
    variants += ["jemalloc-rust"] * (row["allocator"] == "jemalloc")
    return f"{'+'.join([row['library'], *variants])}@{row['version']}"


@cache
def load_published_peaks() -> PublishedPeaks:
    """Return the published peaks of our suites, from FILE."""
    with FILE.open(newline="") as file:
        rows = list(csv.DictReader(file))
    found = {}
    for row in rows:
        if suite := SUITES.get((row["protocol"], row["cipher_suite"])):
            found[stack_name(row), suite, int(row["sessions"])] = int(row["peak_rss_kib"]), row["date"]
    return found


def signed(digits: int) -> Callable[[float], Cell]:
    """Whole for people, with so many digits for programs."""
    return lambda value: Cell(f"{value:+,.0f}", round(value, digits))


COLUMNS = (
    Column("stack", "stack", left=True, value=lambda row: row.stack),
    SESSIONS,
    optional(Column("date", "published", left=True, value=lambda row: row.date)),
    Column("published_kib", "published, KiB", value=lambda row: row.kib, form=integer_cell),
    Column("ours_kib", "ours, KiB", value=lambda row: row.ours, form=peak_cell),
    Column("difference_kib", "ours less published, KiB", value=lambda row: row.difference_kib, form=signed(3)),
    Column(
        "difference_bytes_per_session",
        "bytes per session",
        value=lambda row: row.difference_per_session,
        form=signed(1),
    ),
)


def published_peak_table(selection: Selection) -> Table:
    """The table `published`, of processes that hold both ends."""
    selection = selection.where(lambda setting: is_one_process(setting) and setting.env == "lab")
    caption = (
        "Peak RSS of a process with N/2 clients and N/2 servers; medians of repeats. "
        f"{describe_common_settings(selection)}."
    )
    made = Table("published", "Beside the published figures", caption, [*setting_columns(selection), *COLUMNS])
    made.add_rows(rows(selection))
    return made


def rows(selection: Selection) -> Iterator[PublishedRow]:
    """Each stack and N that was published and measured."""
    for setting in selection.settings:
        for (stack, suite, count), (kib, date) in load_published_peaks().items():
            if suite == setting.suite and stack in selection.stacks:
                ours = find_peak(selection.series(stack, setting), count)
                yield PublishedRow(setting, stack, count, kib, date, ours)
