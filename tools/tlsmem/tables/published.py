"""Our peak RSS beside what was published, of the same stacks, suites and numbers of sessions."""

import csv
from functools import cache

from tlsmem.base.paths import ROOT
from tlsmem.stats.selection import Selection
from tlsmem.stats.session_cost import KIB
from tlsmem.tables.peaks_and_model import is_one_process, peak_cell
from tlsmem.tables.settings import describe_common_settings, setting_cells, setting_columns
from tlsmem.tables.table import Cell, Column, Table, text_cell

FILE = ROOT / "data/published/memory.csv"
SUITES = {  # by protocol and cipher as published
    ("TLSv1.2", "TLS_ECDHE_RSA_WITH_AES_256_GCM_SHA384"): "tls12-rsa-aes256",
    ("TLSv1.3", "TLS_AES_256_GCM_SHA384"): "tls13-rsa-aes256",
}
PublishedPeaks = dict[tuple[str, str, int], tuple[int, str]]  # stack, suite and sessions to KiB and the date


def stack_of(row: dict[str, str]) -> str:
    """As stacks.toml names it: rustls had jemalloc as Rust's global allocator."""
    variants = [row["provider"]] * bool(row["provider"])
    variants += ["jemalloc-rust"] * (row["allocator"] == "jemalloc")
    return f"{'+'.join([row['library'], *variants])}@{row['version']}"


@cache
def load_published_peaks() -> PublishedPeaks:
    with FILE.open(newline="") as file:
        rows = list(csv.DictReader(file))
    found = {}
    for row in rows:
        if suite := SUITES.get((row["protocol"], row["cipher_suite"])):
            found[stack_of(row), suite, int(row["sessions"])] = int(row["peak_rss_kib"]), row["date"]
    return found


def published_peak_table(selection: Selection) -> Table:
    """A row for each stack and N that was published and measured."""
    selection = selection.where(lambda setting: is_one_process(setting) and setting.env == "lab")
    columns = [*setting_columns(selection), Column("stack", "stack", left=True), Column("sessions", "N")]
    columns += [Column("date", "published", left=True), Column("published_kib", "published, KiB")]
    columns += [Column("ours_kib", "ours, KiB"), Column("difference_kib", "ours less published, KiB")]
    columns += [Column("difference_bytes_per_session", "bytes per session")]
    caption = (
        "Peak RSS of a process with N/2 clients and N/2 servers; medians of repeats. "
        f"{describe_common_settings(selection)}."
    )
    made = Table("published", "Beside the published figures", caption, columns)
    for setting in selection.settings:
        for (stack, suite, count), (size, date) in load_published_peaks().items():
            if suite == setting.suite and stack in selection.stacks:
                ours = peak_cell(selection.series(stack, setting), count)
                head = [
                    *setting_cells(selection, setting),
                    text_cell(stack),
                    Cell(f"{count:,}", count),
                    text_cell(date),
                ]
                made.rows.append([*head, Cell(f"{size:,}", size), ours, *difference_cell(ours, size, count)])
    return made


def difference_cell(ours: Cell, size: int, count: int) -> list[Cell]:
    if ours.value is None:
        return [ours, ours]
    off = ours.value - size
    each = off * KIB / count
    return [Cell(f"{off:+,.0f}", round(off, 3)), Cell(f"{each:+,.0f}", round(each, 1))]
