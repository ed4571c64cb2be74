"""Client certificates: what one costs a server for each connection, and a sentence on those that cost most."""

from collections.abc import Iterator, Sequence
from functools import partial

from markupsafe import Markup
from matplotlib import pyplot
from matplotlib.figure import Figure

from tlsmem.config.libraries import stack_title
from tlsmem.config.suite_variants import DROP_PEER_CHAIN
from tlsmem.plots import client_certificates
from tlsmem.plots.client_certificates import Cost
from tlsmem.plots.picture import PAGE_INCHES
from tlsmem.plots.rows import ROW_INCHES
from tlsmem.report.recordings import Recording, picture_command, recording_arguments
from tlsmem.report.sections import Picture, Section, ShownTable
from tlsmem.stats.chains import ChainRow, rank_chains
from tlsmem.stats.selection import Selection, select
from tlsmem.tables.chains import chain_table, client_table, key_table

TITLE = "What a client certificate costs a server"


def section(recordings: Sequence[Recording]) -> Section | None:
    """Of the first recording that has servers with client certificates and without: the newest."""
    for one in recordings:
        if not any(run.scenario == "memory" for run in one.records):
            continue
        selection = select(one.records)
        rows = list(rank_chains(selection))
        if costs := client_certificates.find_costs(rows):
            html = Markup("").join(Markup("<p>{}</p>\n").format(sentence) for sentence in sentences(costs))
            return Section("chains", TITLE, html, pictures=[picture(one, rows)], tables=tables(one, selection))
    return None


def tables(recording: Recording, selection: Selection) -> tuple[ShownTable, ...]:
    """Those that have rows, with the commands that make them again."""
    made = (maker(selection) for maker in (chain_table, key_table, client_table))
    command = f"tools/tabulate.py {recording_arguments(recording)} --table"
    return tuple(ShownTable(table, f"{command} {table.name}") for table in made if table.rows)


def picture(recording: Recording, rows: Sequence[ChainRow]) -> Picture:
    """The newest release of each library."""
    says = "Live heap of a server session, and what its client's chain adds. The tables have all releases."
    command = picture_command("client-certificates", recording)
    return Picture("client-certificates", TITLE, says, command, partial(draw, rows))


def draw(rows: Sequence[ChainRow]) -> Figure:
    """Draw the picture."""
    high = 1.9 + ROW_INCHES * len(client_certificates.find_costs(rows))
    made, axes = pyplot.subplots(figsize=(PAGE_INCHES, high), layout="constrained")
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
