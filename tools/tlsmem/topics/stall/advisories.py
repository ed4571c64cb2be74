"""The register of advisories in figures: what each release holds for a peer that sends what the advisory is of."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from fractions import Fraction

from tlsmem.config.advisories import Advisory, Place
from tlsmem.stats.missing import Missing
from tlsmem.store.record import Record
from tlsmem.topics.stall.stalls import Stall, find_stalls


@dataclass(frozen=True)
class Finding:
    """One stack of an advisory, as it was recorded. `state`: before or after the correction, or beside it."""

    identifier: str
    advisory: Advisory
    state: str
    stall: Stall
    ordinary: Stall | None

    @property
    def ordinary_peak_bytes(self) -> Fraction | Missing:
        """The peak inside a call for a peer of the same kind that sends nothing unusual."""
        if self.advisory.ordinary is None:
            return Missing("such a peer sends nothing")
        return self.ordinary.call_peak_bytes if self.ordinary else Missing("an ordinary peer was not recorded")


def find_findings(advisories: Mapping[str, Advisory], records: Iterable[Record]) -> list[Finding]:
    """Return what was recorded of the register, in its order: advisories, then releases."""
    known = {(one.stack, one.suite, one.point): one for one in find_stalls(records)}

    def find(stack: str, place: Place | None) -> Stall | None:
        return known.get((stack, place.suite, place.point)) if place else None

    return [
        Finding(identifier, advisory, state, stall, find(stack, advisory.ordinary))
        for identifier, advisory in advisories.items()
        for state, stack in advisory.stacks()
        if (stall := find(stack, advisory.place))
    ]
