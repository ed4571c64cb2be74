"""Certificates: what one costs that a library has parsed and keeps, by kind and by call site."""

from collections.abc import Iterator, Sequence
from functools import partial

from markupsafe import Markup

from tlsmem.config.libraries import stack_title
from tlsmem.report.recordings import Recording, picture_command, recording_arguments
from tlsmem.report.sections import Picture, Section, ShownTable
from tlsmem.stats.missing import Missing
from tlsmem.topics.certificates import picture
from tlsmem.topics.certificates.kinds import KINDS
from tlsmem.topics.certificates.table import (
    CLIENT_CHAIN,
    CertificateCost,
    certificate_table,
    find_certificates,
    site_table,
    sort_costs,
)

TITLE = "What a certificate costs"


def section(recordings: Sequence[Recording]) -> Section | None:
    """Of each place and stack the first recording that has it: the newest. Live heap is the same on every machine."""
    found: dict[tuple[str, str], CertificateCost] = {}
    there: list[Recording] = []
    for one in recordings:
        costs = find_certificates(one.contents.memory, one.contents.others)
        new = {key: cost for cost in costs if (key := (cost.place, cost.stack)) not in found}
        found |= new
        there += [one] if new else []
    costs = sort_costs(found.values())
    if not picture.select_costs(costs):
        return None
    html = Markup("").join(Markup("<p>{}</p>\n").format(sentence) for sentence in sentences(costs))
    says = "Live heap of one certificate in each place that keeps one, by what the bytes are. The tables have all."
    command = picture_command("certificates", *there)
    shown = Picture("certificates", TITLE, says, command, partial(picture.figure, costs))
    return Section("certificates", TITLE, html, pictures=[shown], tables=tuple(tables(there)))


def tables(recordings: Sequence[Recording]) -> Iterator[ShownTable]:
    """Yield those of each recording, with the commands that make them again."""
    for make in (certificate_table, site_table):
        for one in recordings:
            table = make(one.contents.memory, one.contents.others)
            command = f"tools/tls-memtest show tables {recording_arguments(one)} --table {table.name}"
            shown = ShownTable(table, command)
            if table.rows:  # of Go there are totals, and no call sites
                yield shown.name_recording(one.name) if len(recordings) > 1 else shown


def sentences(costs: Sequence[CertificateCost]) -> Iterator[str]:
    """Yield what the library keeps whose chains cost most of those with kinds, by kind."""
    chains = [one for one in picture.select_costs(costs) if one.place == CLIENT_CHAIN]
    divided = [(one, kinds) for one in chains if not isinstance(kinds := one.kinds, Missing)]
    for one, kinds in divided[-1:]:
        largest = sorted(KINDS, key=lambda kind: -kinds[kind])[:3]
        parts = ", ".join(f"{kind} {float(kinds[kind]):,.0f} B" for kind in largest)
        times = float(one.bytes / one.der_bytes)
        yield (
            f"A certificate of a client's chain costs a server of {stack_title(one.stack)} {float(one.bytes):,.0f} B, "
            f"{times:.1f} times its encoding; most of it: {parts}."
        )
