"""Which changes count for an exit status: all of them, or those of a size, a direction or a call site."""

import contextlib
from dataclasses import dataclass
from fractions import Fraction

from tlsmem.base.nearest import suggest_nearest
from tlsmem.compare.comparison import ComparedFigure, Comparison
from tlsmem.compare.site_changes import CallSiteExplainer
from tlsmem.schema.roles import ROLES

BYTES = "B"


@dataclass(frozen=True)
class CountedChanges:
    """`at_least`: bytes of a session, so that no other figure counts. `site`: a function in the call stack of what
    changed, so that live heap alone counts, also where the totals are the same. `worse_only`: more, or slower."""

    at_least: int | None = None
    site: str | None = None
    worse_only: bool = False

    @property
    def narrows(self) -> bool:
        return self != CountedChanges()

    def describe(self) -> str:
        """`at least 100 B, in ssl_cert_dup, worse only`."""
        size = f"at least {self.at_least:,} B" if self.at_least is not None else ""
        site = f"in {self.site}" if self.site else ""
        return ", ".join(filter(None, (size, site, "worse only" * self.worse_only)))

    def select(self, comparison: Comparison, explained: CallSiteExplainer) -> list[ComparedFigure]:
        """Return the figures whose changes count."""
        if self.site:
            return [row for row in comparison.rows if self.counts_amount(self.amount_at_site(row, explained))]
        return [row for row in comparison.changed if self.counts(row)]

    def counts(self, row: ComparedFigure) -> bool:
        if self.worse_only and row.change.better is not False:
            return False
        amount = row.change.amount
        return self.at_least is None or (row.old.unit == BYTES and max(amount, -amount) >= self.at_least)

    def counts_amount(self, amount: Fraction) -> bool:
        size = amount if self.worse_only else abs(amount)
        return size > 0 and size >= (self.at_least or 0)

    def amount_at_site(self, row: ComparedFigure, explained: CallSiteExplainer) -> Fraction:
        """Return the bytes that the site's call stacks hold more, of live heap of a role; of all else none."""
        if row.place.meter != "heap" or row.place.role not in ROLES:
            return Fraction(0)
        try:
            return explained.more_below(row, self.site or "")
        except ValueError:  # no call sites are known
            return Fraction(0)

    def describe_unknown_site(self, comparison: Comparison, explained: CallSiteExplainer) -> str | None:
        """Return a sentence where no call stack of either side has the function; None where one has."""
        if not self.site:
            return None
        known = functions_of(comparison, explained)
        if self.site in known:
            return None
        sides = " or ".join(comparison.sides)
        return f"no call stack of {sides} has a function {self.site}{suggest_nearest(self.site, sorted(known))}"


def functions_of(comparison: Comparison, explained: CallSiteExplainer) -> set[str]:
    """Return all functions of both sides, as their sites runs name them."""
    found: set[str] = set()
    for match in {id(row.match): row.match for row in comparison.rows}.values():
        with contextlib.suppress(ValueError):  # no call sites are known
            found |= explained.runs(match).functions()
    return found
