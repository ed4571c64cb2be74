"""The call sites behind changed figures of live heap, of a comparison's sites runs; made once for each pair of runs."""

from collections.abc import Sequence

from tlsmem.compare.comparison import Comparison, Row
from tlsmem.compare.places import PEAK, Place, recorded
from tlsmem.compare.run_matching import Match
from tlsmem.compare.site_changes import SiteChange, Sites
from tlsmem.profile.unreadable import Unreadable
from tlsmem.schema.records import Record

ROLES = ("client", "server")
NO_RUN = "no sites run of {}"
OTHER_PEAK = "the peak is in another phase: {} in OLD, {} in NEW"
OF_BOTH = "call sites are known by role"


class Explained:
    """Asked by row; remembers what it read."""

    def __init__(self, comparison: Comparison) -> None:
        self.comparison = comparison
        self.at: dict[tuple[int, Place], Row] = {(id(row.match), row.place): row for row in comparison.rows}
        self.known: dict[int, Sites] = {}

    def beside(self, row: Row, meter: str) -> Row | None:
        """The same place by another meter."""
        return self.at.get((id(row.match), row.place._replace(meter=meter)))

    def sites(self, row: Row) -> list[SiteChange]:
        """Of a row of live heap, adding up to its difference. ValueError with half a sentence when it is not known."""
        place = row.place
        if place.role not in ROLES:
            raise ValueError(OF_BOTH)
        if place.phase == PEAK and row.old.at != row.new.at:
            raise ValueError(OTHER_PEAK.format(row.old.at, row.new.at))
        phase = row.new.at if place.phase == PEAK else recorded(place.phase)
        more = row.change.amount, self.beside(row, "blocks").change.amount
        return self.runs(row.match).changes(place.role, phase, *more)

    def runs(self, match: Match) -> Sites:
        if id(match) not in self.known:
            old, new = (largest(side, name) for side, name in ((match.old, "OLD"), (match.new, "NEW")))
            try:
                self.known[id(match)] = Sites(old, new)
            except Unreadable as error:
                raise ValueError(str(error)) from None
        return self.known[id(match)]


def largest(runs: Sequence[Record], side: str) -> Record:
    found = [run for run in runs if run.meter == "sites" and run.status == "measured"]
    if not found:
        raise ValueError(NO_RUN.format(side))
    return max(found, key=lambda run: run.sessions)
