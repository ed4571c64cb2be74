"""The register of advisories in figures: what each release holds for a peer that sends what the advisory is of."""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction

from tlsmem.base.printable import strip_suite
from tlsmem.config.advisories import Advisory, Place, advisories, campaign_of
from tlsmem.config.releases import library_with_variant, version
from tlsmem.stats.missing import Missing, map_present
from tlsmem.store.record import Record
from tlsmem.tables.table import Cell, Column, Table, fraction_cell, integer_cell, optional, text_cell
from tlsmem.topics.stall.stalls import Stall, find_stalls
from tlsmem.topics.stall.table import REFUSED


@dataclass(frozen=True)
class Finding:
    """One stack of an advisory, as it was recorded. `state`: before or after the correction, beside it, or unknown."""

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
        for state, stack in (*advisory.stacks(), *find_unlisted(advisory, known))
        if (stall := find(stack, advisory.place))
    ]


def find_unlisted(advisory: Advisory, known: Iterable[tuple[str, str, str]]) -> list[tuple[str, str]]:
    """Return the builds of the advisory's library that no release names, such as openssl@system, each as unknown."""
    listed = {stack for _, stack in advisory.stacks()}
    libraries = {library_with_variant(stack) for stack in (*advisory.before, *advisory.after)}
    builds = dict.fromkeys(stack for stack, _, _ in known if not version(stack)[:1].isdigit())
    return [(UNKNOWN, stack) for stack in builds if library_with_variant(stack) in libraries and stack not in listed]


UNKNOWN = "unknown"  # the state of a build whose release the register cannot name
CAPTION = (
    "What a peer that is not authenticated can make a session hold, in bytes of live heap beyond a peer that is "
    "connected and silent. Peak: the most inside one call of the library. Held: between calls. Ordinary peak: the "
    "peak for a peer that does the same with nothing unusual in it. Until: when what is held is free again. RSS: the "
    "same of the process, real peers included. Refused: the library ends the handshake; its words are in the note. "
    "Release: before the correction, after it, or beside it: of another library or build. Unknown: a build of your "
    "own or of a distribution, which the register does not list: it is affected if it holds what the rows before the "
    "correction hold."
)


CERTIFICATES_REFUSED = re.compile(r"^.*?: does not take the suite's certificates: ")  # before the library's own words


def refusal_note(stall: Stall) -> str:
    """Return the library's own words."""
    return CERTIFICATES_REFUSED.sub("", REFUSED.sub("", strip_suite(stall.refusal or "")))


def take(name: str) -> Callable[[Finding], Fraction | Missing]:
    """Return what takes a figure of the stall; the library's words where it refuses what the peer sends."""
    return lambda row: Missing(refusal_note(row.stall)) if row.stall.refusal else getattr(row.stall, name)


def take_peak(row: Finding) -> Fraction | Stall | Missing:
    """Return the peak inside a call; the stall itself where the library refuses what the peer sends."""
    return row.stall if row.stall.refusal else row.stall.call_peak_bytes


def peak_cell(value: Fraction | Stall) -> Cell:
    """`153,356`, or `refused` with the library's words."""
    return Cell("refused", "refused", refusal_note(value)) if isinstance(value, Stall) else fraction_cell(value)


def rss_cell(value: Fraction) -> Cell:
    """Whole bytes: pages divided by sessions are no exact figure."""
    return integer_cell(round(value))


def until(row: Finding) -> str | Missing:
    """Return when what is held is free again."""

    def describe(kept: Fraction, pinned: Fraction) -> str:
        if kept > 0:
            return f"the process ends: {fraction_cell(kept).text} B stay"
        return "the session is closed" if pinned > 0 else "the call returns"

    return map_present(describe, take("kept_bytes")(row), take("pinned_bytes")(row))


COLUMNS = (
    Column("advisory", "advisory", left=True, value=lambda row: row.identifier),
    Column("stack", "stack", left=True, value=lambda row: row.stall.stack),
    Column("state", "release", left=True, value=lambda row: row.state),
    Column("role", "held at", left=True, value=lambda row: row.stall.role, optional=True),
    Column("received_bytes", "sent to it", value=take("received_bytes"), form=fraction_cell),
    Column("call_peak_bytes", "peak", value=take_peak, form=peak_cell),
    Column("held_bytes", "held", value=take("pinned_bytes"), form=fraction_cell),
    Column("until", "until", left=True, value=until, form=text_cell),
    Column("ordinary_peak_bytes", "ordinary peak", value=lambda row: row.ordinary_peak_bytes, form=fraction_cell),
    optional(Column("call_peak_rss_bytes", "RSS peak", value=take("call_peak_rss_bytes"), form=rss_cell)),
    optional(Column("held_rss_bytes", "RSS held", value=take("pinned_rss_bytes"), form=rss_cell)),
)


def advisory_table(records: Sequence[Record], register: Mapping[str, Advisory] | None = None) -> Table:
    """A row a release that was recorded; below them the others, each with why."""
    known = advisories() if register is None else register
    found = find_findings(known, records)
    table = Table("advisories", "What peers can make a library hold", CAPTION, list(COLUMNS))
    table.add_rows(found)
    if found:
        table.without = list(describe_absent(known, found))
    return table


def describe_absent(known: Mapping[str, Advisory], found: Sequence[Finding]) -> Iterator[str]:
    """Yield a sentence for the releases that were not recorded, and for those that cannot be had."""
    recorded = {(one.identifier, one.stall.stack) for one in found}
    for name, advisory in known.items():
        absent = [stack for _, stack in advisory.stacks() if (name, stack) not in recorded]
        if absent:
            yield f"{name}: not among these runs: {', '.join(absent)}"
        yield from (f"{name}: not measured of {release}: {why}" for release, why in advisory.lacking.items())


def measured_at(row: tuple[str, Advisory]) -> str | Missing:
    """Return where an advisory is measured, or why it is not."""
    advisory = row[1]
    if advisory.place is None:
        return Missing(f"not measured: {advisory.reason}")
    command = f", `tools/tls-memtest measure {campaign}`" if (campaign := campaign_of(advisory)) else ""
    return f"{advisory.point}, {advisory.suite}{command}"


LIST_COLUMNS = (
    Column("advisory", "advisory", left=True, value=lambda row: row[0]),
    Column("library", "library", left=True, value=lambda row: row[1].library),
    Column("sends", "what the peer sends", left=True, value=lambda row: row[1].sends),
    Column("affects", "affected releases", left=True, value=lambda row: row[1].affects),
    Column("before", "measured before", left=True, value=lambda row: ", ".join(row[1].before)),
    Column("after", "measured after", left=True, value=lambda row: ", ".join(row[1].after)),
    Column("measured_at", "measured at", left=True, value=measured_at),
    Column("says", "source", left=True, value=lambda row: row[1].says),
)
LIST_CAPTION = (
    "Advisories about memory that a peer can make a TLS library hold before it is authenticated. Affected releases: as "
    "upstream gives them; a distribution may have corrected its own, so measure it. Measured before, after: the "
    "releases of the table above, before and after the correction. Measured at: the point where the peer stops, the "
    "suite, and the command."
)


def advisory_list(records: Sequence[Record], register: Mapping[str, Advisory] | None = None) -> Table:
    """A row an advisory, measured or not; none where the recording has no run of any."""
    known = advisories() if register is None else register
    table = Table("advisory-list", "The register of advisories", LIST_CAPTION, list(LIST_COLUMNS))
    if find_findings(known, records):
        table.add_rows(known.items())
    return table
