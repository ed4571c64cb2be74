"""What a role of a stack costs with another stack at the other end, beside itself there."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property

from tlsmem.schema.roles import Role
from tlsmem.stats import repeats, session_cost
from tlsmem.stats.live_heap import HeapFigure, why_no_heap_cost
from tlsmem.stats.missing import Missing, map_present
from tlsmem.stats.repeats import RepeatChange
from tlsmem.stats.selection import Selection
from tlsmem.stats.series import Series, Setting, limit_to_common_sessions

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
