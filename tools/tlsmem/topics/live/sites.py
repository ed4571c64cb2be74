"""Which call sites hold the bytes of a connection to a real server, and how much of it is TLS."""

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from tlsmem.config.choices import PACKAGED
from tlsmem.schema.live_records import USUAL, LiveRecord, LiveSite
from tlsmem.stats.live_costs import short_version
from tlsmem.tables.table import Cell, Column, Table, percent
from tlsmem.topics.live.table import bytes_cell, name_build

CAPTION = (
    "Live heap that one idle TLS connection adds to a server, by the call site that requested it, from a run of few "
    "connections under valgrind's massif. TLS: the call stack enters a TLS library. Call sites with less than "
    "{least} % of a holder's bytes are one row. By: callers of the allocator, innermost first; a "
    "program without names has places instead, and unnamed functions of libraries are left out. {servers}."
)
LEAST, LEAST_OF_ALL = 0.05, 0.002  # of a holder's bytes, and of all: a row of its own
SHOWN = 4  # callers
UNNAMED = re.compile(r".*\.so(\.\d+)*(\+0x[0-9a-f]+)?$")  # functions of libraries without names
OUTERMOST = {"(below main)", "main", "start_thread", "clone"}  # of which nothing is to be learnt
WORDS = {"TLS": "TLS", "cryptography": "cryptography", "server": "server's own", "unknown": "unknown"}


class SiteRow(NamedTuple):
    """What connections of a run have added at some call sites."""

    run: LiveRecord
    kind: str
    bytes: int
    by: str

    @property
    def each(self) -> float:
        return self.bytes / self.run.connections

    @property
    def share(self) -> float:
        return self.bytes / sum(one.bytes for one in self.run.sites or ())


def find_runs(records: Sequence[LiveRecord]) -> list[LiveRecord]:
    """Return the newest run that names call sites, of each server, build and kind of connections."""
    found = {}
    for one in sorted(records, key=lambda one: one.started_at):
        if one.sites and one.status == "measured":
            found[one.server, one.reported, one.stack, one.variant, one.ktls, one.hollow] = one
    return sorted(
        found.values(), key=lambda one: (one.server, one.stack or PACKAGED, one.variant, one.ktls, one.hollow)
    )


def name_run(run: LiveRecord) -> str:
    """Return the server and its build, with the kind of connections where that is another than the usual one."""
    kinds = [run.variant.describe()] * (run.variant != USUAL) + ["kTLS"] * run.ktls + ["hollow clients"] * run.hollow
    return ", ".join([name_build(run), *kinds])


def list_rows(run: LiveRecord) -> Iterator[SiteRow]:
    """Yield the sum, then for each holder its sum, its largest call sites, and its others together."""
    sites = run.sites or []
    every = sum(one.bytes for one in sites)
    yield SiteRow(run, "all", every, "all of it")
    by_name = Counter[tuple[str, str]]()
    for one in sites:
        by_name[WORDS[one.held_by], name_callers(one)] += one.bytes
    by_kind, small = Counter[str](), Counter[str]()
    for (kind, _), size in by_name.items():
        by_kind[kind] += size
    for kind, whole in by_kind.most_common():
        if len(by_kind) > 1:
            yield SiteRow(run, kind, whole, "all of it")
        sizes = [(by, size) for (other, by), size in by_name.items() if other == kind]
        for by, size in sorted(sizes, key=lambda one: (-one[1], one[0])):
            if by and size >= max(LEAST * whole, LEAST_OF_ALL * every):
                yield SiteRow(run, kind, size, by)
            else:
                small[kind] += size
        if small[kind] and small[kind] != whole:
            yield SiteRow(run, kind, small[kind], "smaller call sites")


def name_callers(site: LiveSite) -> str:
    """Return `CRYPTO_zalloc < SSL_new < be_tls_open_server`; of a program without names the places in it."""
    named = [one for one in site.callers if not UNNAMED.match(one) and one not in OUTERMOST]
    return " < ".join((named or site.callers)[:SHOWN])


COLUMNS = (
    Column("server", "server", left=True, value=lambda row: name_run(row.run)),
    Column("bytes", "bytes", value=lambda row: row.each, form=bytes_cell),
    Column("share", "share", value=lambda row: row.share, form=lambda share: Cell(percent(share), share)),
    Column("kind", "held by", left=True, value=lambda row: row.kind),
    Column("by", "by", left=True, value=lambda row: row.by),
)


def sites_table(records: Sequence[LiveRecord]) -> Table:
    """Rows for each server whose call sites were named."""
    runs = find_runs(records)
    servers = "; ".join(dict.fromkeys(short_version(one.reported) for one in runs))
    caption = CAPTION.format(least=round(100 * LEAST), servers=servers)
    table = Table("live-sites", "Which call sites hold a connection's bytes", caption, list(COLUMNS))
    for run in runs:
        table.add_rows(list_rows(run))
    return table
