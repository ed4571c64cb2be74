"""Client certificates: what one costs a server for each connection, and a sentence on those that cost most."""

from collections.abc import Iterator, Sequence
from functools import partial

from markupsafe import Markup
from matplotlib.figure import Figure

from tlsmem.config.libraries import stack_title
from tlsmem.config.suite_variants import DROP_PEER_CHAIN
from tlsmem.plots.frame import create_rows
from tlsmem.report.recordings import Recording, picture_command, recording_arguments
from tlsmem.report.sections import Picture, Section, ShownTable
from tlsmem.stats.chains import ChainRow
from tlsmem.stats.selection import Selection, select
from tlsmem.topics.chains import picture as client_certificates
from tlsmem.topics.chains.picture import Cost
from tlsmem.topics.chains.table import chain_table, client_table, key_table, rank_chains

TITLE = "What a client certificate costs a server"


def section(recordings: Sequence[Recording]) -> Section | None:
    """Of each stack the first recording that has servers with client certificates and without: the newest."""
    rows: list[ChainRow] = []
    there: list[tuple[Recording, Selection]] = []
    for one in recordings:
        if any(run.scenario == "memory" for run in one.records):
            selection = select(one.records)
            if new := [row for row in rank_chains(selection) if row not in rows]:
                rows += new
                there.append((one, selection))
    costs = client_certificates.find_costs(rows)
    if not costs:
        return None
    html = Markup("").join(Markup("<p>{}</p>\n").format(sentence) for sentence in sentences(costs))
    shown = picture([one for one, _ in there], rows)
    return Section("chains", TITLE, html, pictures=[shown], tables=tuple(tables(there)))


def tables(recordings: Sequence[tuple[Recording, Selection]]) -> Iterator[ShownTable]:
    """Yield those that have rows, with the commands that make them again."""
    for maker in (chain_table, key_table, client_table):
        made = [(one, table) for one, selection in recordings if (table := maker(selection)).rows]
        for one, table in made:
            shown = ShownTable(table, f"tools/tls-memtest show tables {recording_arguments(one)} --table {table.name}")
            yield shown.name_recording(one.name) if len(made) > 1 else shown


def picture(recordings: Sequence[Recording], rows: Sequence[ChainRow]) -> Picture:
    """The newest release of each library."""
    says = "Live heap of a server session, and what its client's chain adds. The tables have all releases."
    command = picture_command("client-certificates", *recordings)
    return Picture("client-certificates", TITLE, says, command, partial(draw, rows))


def draw(rows: Sequence[ChainRow]) -> Figure:
    """Draw the picture."""
    made, (axes,) = create_rows(len(client_certificates.find_costs(rows)))
    client_certificates.draw(made, axes, rows)
    return made


def sentences(costs: Sequence[Cost]) -> Iterator[str]:
    """Yield what most servers pay, and what the option saves that drops chains."""
    most = max(costs, key=lambda cost: cost.added)
    least = min((cost for cost in costs if not cost.drops), key=lambda cost: cost.added)
    yield (
        f"For each connection, a client's certificate and intermediate cost a server between {least.added:,.0f} B "
        f"({stack_title(least.row.stack)}) and {most.added:,.0f} B ({stack_title(most.row.stack)}) of live heap."
    )
    for cost in costs:
        kept = next((one for one in costs if one.row.stack == cost.row.stack and not one.drops), None)
        if cost.row.configuration.options == DROP_PEER_CHAIN and kept:
            yield (
                f"{stack_title(cost.row.stack)} holds {kept.added - cost.added:,.0f} B less where its option "
                "drop-peer-chain is set: docs/reference/stacks.md has the call."
            )
