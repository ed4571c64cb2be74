"""Mixed pairs: what a role of a stack costs with another stack at the other end, beside itself there.

A column is one entry of COLUMNS: what it takes of an end, and how that is written."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property

from tlsmem.schema.roles import Role
from tlsmem.stats import repeats, session_cost
from tlsmem.stats.live_heap import HeapFigure, why_no_heap_cost
from tlsmem.stats.missing import Missing, map_present
from tlsmem.stats.repeats import SINGLE_RUN_NOTE, WITHIN_SPREAD_NOTE, RepeatChange
from tlsmem.stats.selection import Selection
from tlsmem.stats.series import Series, Setting, limit_to_common_sessions
from tlsmem.tables.heap import heap_cell
from tlsmem.tables.settings import describe_common_settings, setting_columns
from tlsmem.tables.table import Cell, Column, Table

NO_COMMON_SESSIONS = Missing("no two N in common with pairs of the same stack")


@dataclass(frozen=True)
class PairEnd:
    """One stack's end of mixed pairs, beside the same end of pairs with itself. Figures are per session of the role."""

    stack: str
    role: Role
    peer: str
    mixed: Series
    alone: Series

    @property
    def setting(self) -> Setting:
        """The setting of the mixed pairs."""
        return self.mixed.setting

    def live(self, phase: str | None) -> HeapFigure | Missing:
        """Return the live heap at the end of the phase, or at its peak (None)."""
        pair = self.mixed.heap_pair()
        if not pair:
            return Missing(why_no_heap_cost(self.mixed))
        cost = session_cost.live_cost(*pair, self.role, phase) if phase else session_cost.peak_cost(*pair, self.role)
        return HeapFigure(cost.bytes, cost.blocks)

    def live_change(self, phase: str | None) -> RepeatChange | Missing:
        """Return by how many bytes that differs from the same end of pairs with itself; exactly."""
        if not self.mixed.heap_pair():
            return Missing(why_no_heap_cost(self.mixed))
        alone, mixed = (repeats.live_slopes(one, self.role, phase) for one in (self.alone, self.mixed))
        return self.compare(alone, mixed, exact=True)

    @cached_property
    def rss(self) -> float | Missing:
        """The slope of the peak RSS of the run, in bytes."""
        line = session_cost.fit_line(session_cost.medians(self.mixed.full("rss"), session_cost.peak_rss))
        return 2 * line.slope if line else Missing(self.mixed.reason("rss"))

    @property
    def rss_change(self) -> RepeatChange | Missing:
        """By how many bytes that slope differs, of lines through the same N."""

        def compare(_: float) -> RepeatChange | Missing:
            alone, mixed = map(peak_slopes, limit_to_common_sessions((self.alone, self.mixed)))
            if peak_slopes(self.alone) and not alone:
                return NO_COMMON_SESSIONS
            return self.compare(alone, mixed, exact=False)

        return map_present(compare, self.rss)

    def compare(self, alone: list[float], mixed: list[float], exact: bool) -> RepeatChange | Missing:
        """Return the change from pairs with itself to mixed pairs; Missing where one of the two has no value."""
        if not alone or not mixed:
            return Missing(f"no split runs of {self.stack} with itself as peer among these")
        return RepeatChange(tuple(alone), tuple(mixed), exact)


def peak_slopes(series: Series) -> list[float]:
    """Return the slope of peak RSS of each repeat, in bytes per session of the role."""
    return repeats.slopes(series, session_cost.peak_rss)


def find_pair_ends(selection: Selection, server: str, setting: Setting) -> Iterator[PairEnd]:
    """Yield the server's end, then the client's, of the mixed pairs of a setting with a peer."""
    assert setting.peer
    ends: tuple[tuple[Role, str, str], ...] = (("server", server, setting.peer), ("client", setting.peer, server))
    same_stack = replace(setting, peer=None)
    for role, stack, peer in ends:
        mixed = selection.series(server, setting, role)
        yield PairEnd(stack, role, peer, mixed, selection.series(stack, same_stack, role))


def change_cell(change: RepeatChange) -> Cell:
    """Bytes and percent, or none."""
    data = {"bytes": round(change.amount, 3), "percent": round(100 * change.share, 4)}
    note = (
        SINGLE_RUN_NOTE if change.once else WITHIN_SPREAD_NOTE if change.amount and not change.beyond_spread else None
    )
    return Cell(f"{change.amount:+,.0f} ({100 * change.share:+.2f} %)" if change.beyond_spread else "none", data, note)


def slope_cell(slope: float) -> Cell:
    """Whole bytes, to a tenth for programs."""
    return Cell(f"{slope:,.0f}", round(slope, 1))


COLUMNS = (
    Column("stack", "stack", left=True, value=lambda end: end.stack),
    Column("process", "role", left=True, value=lambda end: end.role),
    Column("peer", "peer", left=True, value=lambda end: end.peer),
    Column("live_established", "live heap, established", value=lambda end: end.live("established"), form=heap_cell),
    Column("live_established_change", "differs by", value=lambda end: end.live_change("established"), form=change_cell),
    Column("live_peak", "live heap, peak", value=lambda end: end.live(None), form=heap_cell),
    Column("live_peak_change", "differs by", value=lambda end: end.live_change(None), form=change_cell),
    Column("rss_bytes_per_session", "peak RSS", value=lambda end: end.rss, form=slope_cell),
    Column("rss_change", "differs by", value=lambda end: end.rss_change, form=change_cell),
)


def mixed_pair_table(selection: Selection) -> Table:
    """The table `interop`: a row for each end of every mixed pair."""
    mixed = selection.where(lambda setting: setting.peer is not None)
    caption = (
        "Per session of the role, with a process for each role: live heap in bytes (blocks), and peak RSS of the run "
        "in bytes. Peaks are what one more of many adds. Beside each figure: the difference from the same stack with "
        "itself as peer. "
        f"{describe_common_settings(mixed)}."
    )
    table = Table("interop", "Mixed pairs", caption, [*setting_columns(mixed), *COLUMNS])
    table.add_rows(rows(selection, mixed))
    return table


def rows(selection: Selection, mixed: Selection) -> Iterator[PairEnd]:
    """The server and the client of every mixed pair. `selection` also has the pairs of one stack."""
    for setting in mixed.settings:
        for server in mixed.stacks:
            if mixed.series(server, setting, "server").records:
                yield from find_pair_ends(selection, server, setting)
