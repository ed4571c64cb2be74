"""A picture of servers that keep their sessions: live heap of each library's own store, with client certificates and
without."""

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import NamedTuple

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from tlsmem.config.libraries import libraries, stack_title
from tlsmem.config.releases import newest_of_each_build
from tlsmem.plots.frame import add_frame, describe_records, draw_added, list_added, list_rows, write_beside
from tlsmem.plots.stack_colours import library_colour
from tlsmem.slides.slide import create_slide, describe_absent
from tlsmem.stats.missing import map_present, replace_missing
from tlsmem.stats.session_cost import MIB
from tlsmem.store import recordings
from tlsmem.topics.resumption.stores import CHURN, SessionStore, find_stores, rank_stores
from tlsmem.topics.resumption.table import APPLICATION_STORES, STATIC_STORES, library

ROOM = 1.85  # of the longest bar, with the text beside it


class StoreRow(NamedTuple):
    """A stack's store in one version of TLS, after the last session, without client certificates and with them."""

    alone: SessionStore
    mutual: SessionStore | None

    @property
    def most_bytes(self) -> int:
        """Live heap of the larger one."""
        return max(store.live_bytes[-1] for store in (self.alone, self.mutual) if store)

    @property
    def title(self) -> str:
        """The stack, and the version of TLS where that is not 1.3."""
        protocol = self.alone.protocol.replace("TLSv", "TLS ")
        return stack_title(self.alone.stack) + ("" if protocol == "TLS 1.3" else f", {protocol}")


def find_rows(stores: Sequence[SessionStore]) -> list[StoreRow]:
    """Return a row for the newest release of each build of a library in each version of TLS, the most live heap
    first."""
    ranked = rank_stores(stores)
    newest = newest_of_each_build(one.stack for one in ranked)
    mutual = {(one.stack, one.protocol): one for one in ranked if one.auth == "mutual"}
    alone = [one for one in ranked if one.auth == "server" and one.stack in newest]
    rows = [StoreRow(one, mutual.get((one.stack, one.protocol))) for one in alone]
    return sorted(rows, key=lambda row: -row.most_bytes)


def find_reasons(stores: Iterable[SessionStore]) -> dict[str, str]:
    """Return why libraries have no row, by their keys: their entries are elsewhere."""
    return {key: STATIC_STORES[key] for one in stores if (key := library(one)) in STATIC_STORES}


def describe_finding(rows: Sequence[StoreRow]) -> str:
    """Return the title: the largest store, without client certificates and with them."""
    largest = max(rows, key=lambda row: row.alone.live_bytes[-1])
    worst = max((row for row in rows if row.mutual), key=lambda row: row.most_bytes, default=largest)
    said = f"A server's default session store: up to {describe_store(largest.alone)}"
    said += f" ({largest.title})" if worst is not largest or not worst.mutual else ""
    return f"{said}, with client certificates {describe_store(worst.mutual)} ({worst.title})" if worst.mutual else said


def describe_store(store: SessionStore) -> str:
    """Return `18.9 MiB`, or bytes below 1 MiB."""
    size = store.live_bytes[-1]
    return f"{size / MIB:,.1f}\N{NO-BREAK SPACE}MiB" if size >= MIB else f"{size:,}\N{NO-BREAK SPACE}B"


def describe_entries(store: SessionStore) -> str:
    """Return how many entries a store has at most, and whose it is where that is not the library's."""
    most = store.most_entries
    if library(store) in APPLICATION_STORES:
        return "the application's, no limit"
    return replace_missing(map_present(lambda most: f"{most:,} entries", most), "no limit seen")


def describe_row(row: StoreRow) -> str:
    """Return what stands beside a bar."""
    sizes = [describe_store(store) for store in (row.alone, row.mutual) if store]
    return f"{' → '.join(sizes)}, {describe_entries(row.alone)}"


def draw(made: Figure, axes: Axes, stores: Sequence[SessionStore], left_out: str = "") -> None:
    """Draw the picture into a figure with one panel; `left_out` begins its caption. Raises ValueError where no server
    keeps sessions."""
    rows = find_rows(stores)
    if not rows:
        raise ValueError("no server kept its sessions over waves (tools/tls-memtest measure resumption-stores)")
    for at, row in enumerate(rows):
        base = row.alone.live_bytes[-1] / MIB
        draw_added(axes, at, base, row.most_bytes / MIB - base, library_colour(row.alone.stack))
        write_beside(axes, row.most_bytes / MIB, at, describe_row(row))
    list_rows(axes, [row.title for row in rows])
    axes.set_xlim(0, ROOM * max(row.most_bytes for row in rows) / MIB)
    served = max(row.alone.sessions[-1] for row in rows)
    subtitle = f"Live heap of what a server keeps of {served:,} closed sessions, so that they can be resumed."
    both = dict.fromkeys(libraries()[library(row.alone)].name for row in rows if row.mutual)
    mutual = f"Client certificates: P-256 with one intermediate; recorded of {', '.join(both)}. " if both else ""
    own = "Each library's own store, of its own size. "
    runs = [store.run for row in rows for store in row if store]
    legend = list_added("without client certificates", "more with client certificates")
    add_frame(made, describe_finding(rows), subtitle, f"{left_out}{own}{mutual}{describe_records(runs)}", legend)


def find_newest(among: Sequence[Path]) -> list[SessionStore]:
    """Return the stores of the newest recording with any."""
    for recording in among:
        runs = recordings.load_runs(recording)
        stores = find_stores(run for run in runs if run.scenario == CHURN)
        if find_rows(stores):
            return stores
    raise ValueError("no recording has servers that keep their sessions (tools/tls-memtest measure resumption-stores)")


def draw_slide(among: Sequence[Path]) -> Figure:
    """Draw the newest release of each build of a library in that recording."""
    stores = find_newest(among)
    drawn = (row.alone.stack for row in find_rows(stores))
    absent = describe_absent(among, drawn, find_reasons(stores))
    made, (axes,) = create_slide()
    draw(made, axes, stores, absent)
    return made
