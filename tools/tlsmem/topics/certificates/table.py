"""The tables `certificates` and `certificate-sites`: what a parsed certificate costs that is kept, by kind and by call
site.

A row is a stack and a place: a client's chain at its server, a root in a store, a name of a server. Its total is the
heap meter's; kinds are of call stacks, and what these do not tell of the total is `other`."""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cache, partial

from tlsmem.base import memo
from tlsmem.base.cache_file import digest_code
from tlsmem.config.certificates import certificate_sizes, chain_sizes
from tlsmem.config.definitions import suites
from tlsmem.config.toml_tables import DEFINITIONS
from tlsmem.profile import sites_reader
from tlsmem.profile.buckets.rules import family_of
from tlsmem.profile.frames import Frame, is_allocator_frame, skip_containers
from tlsmem.schema.roles import Owner
from tlsmem.stats.chains import ALONE, ESTABLISHED, MAIN_KEY, MUTUAL, ChainRow, Suite, describe_refusals, find_chains
from tlsmem.stats.contexts import ROOTS, Case, Contexts, find_contexts
from tlsmem.stats.missing import Missing, keep_present, map_present, replace_missing, without_suite
from tlsmem.stats.selection import Selection
from tlsmem.store.record import Record
from tlsmem.tables.runtime import RUNTIME_NOTE, size_cell, size_if_known
from tlsmem.tables.table import Column, Table, fraction_cell, optional
from tlsmem.topics.certificates.kinds import KINDS, OTHER, KindRule, kind_of_path, rules_of_family

LEAF, BOTH = "leaf alone", "leaf, intermediate"
CLIENT_CHAIN, TRUST_STORE, NAME = PLACES = ("client chain", "trust store", "server name")
WHOLE = {TRUST_STORE: "root", NAME: "leaf, intermediate, private key"}
CAPTION = (
    "Bytes of live heap for one certificate that a library has parsed and keeps, RSA-2048 but for roots of a public "
    "bundle. Client chain: half of what a client's certificate and its intermediate add to an established server "
    "session, or all of it where the server keeps the client's own certificate alone. Trust store: one more root in a "
    "client context. Server name: one more name of a server, which is a certificate, its intermediate and its private "
    "key. DER: the length of what is encoded. By kind (docs/explanation/certificates.md): the kinds add up to the "
    "bytes; other is what no rule of memtest/certificates.toml takes, and a name's share of tables that grow with all "
    "names."
)
SITES_CAPTION = (
    "Bytes of live heap for one certificate by kind and by the function that allocates them, outside allocators and "
    "containers: those of 2 % of the certificate or more."
)
NO_CALL_STACKS = "no call stacks: the heap meter does not see its runtime"
NO_NAMES = "its library's file has no names of functions"
UNNAMED, MOST_UNNAMED = "?", Fraction(1, 10)  # of the bytes, whose function may have no name
LEAST = Fraction(2, 100)  # of a certificate: a call site with a row
Bytes = Fraction | Missing
Sites = dict[tuple[str, str], Fraction]  # kind and function to bytes


@dataclass(frozen=True)
class CertificateCost:
    """What a certificate costs a stack in a place, in bytes."""

    stack: str
    place: str
    suite: str
    kept: str  # what of it the library keeps
    bytes: Fraction
    der_bytes: Fraction
    sites: Sites | Missing
    by_runtime: bool = False
    runs: tuple[Record, ...] = ()

    @property
    def kinds(self) -> Mapping[str, Fraction] | Missing:
        """Return the bytes of each kind, which add up to `bytes`."""

        def add_kinds(sites: Sites) -> Mapping[str, Fraction]:
            found = dict.fromkeys(KINDS, Fraction(0))
            for (kind, _), size in sites.items():
                found[kind] += size
            found[OTHER] = self.bytes - sum(size for kind, size in found.items() if kind != OTHER)
            return found

        return map_present(add_kinds, self.sites)

    def kind(self, name: str) -> Bytes:
        """Return the bytes of a kind."""
        return map_present(lambda kinds: kinds[name], self.kinds)


def sum_by_site(run: Record, owner: Owner, phase: str) -> Counter[tuple[str, str]]:
    """Return what is live of an owner at the end of a phase, by kind and function."""
    profile, rules = sites_reader.profile_from_record(run), rules_of_family(family_of(run.stack))
    found: Counter[tuple[str, str]] = Counter()
    for stack, held in profile.live(phase, owner).items():
        frames = profile.stacks.frames(stack)
        found[find_kind(rules, frames), skip_containers(frames)[0].function or UNNAMED] += held.bytes
    return found


def recall_sites(run: Record, owner: Owner, phase: str) -> Counter[tuple[str, str]]:
    """As sum_by_site, which is asked once for a record."""

    def compute() -> list[tuple[str, str, int]]:
        return [(*site, size) for site, size in sum_by_site(run, owner, phase).items()]

    code = digest_code(("topics/certificates/table.py",))
    sums = memo.recall("certificates by call site", [run.digest, owner, phase], code, compute)
    return Counter({(kind, function): size for kind, function, size in sums})


def find_kind(rules: Sequence[KindRule], frames: Sequence[Frame]) -> str:
    """Return the kind of what a call stack allocates, innermost frame first."""
    own = [frame for frame in frames if not is_allocator_frame(frame)]
    path = " < ".join(frame.function or UNNAMED for frame in own)
    return kind_of_path(rules, path, [f"{(one.file or '').rpartition('/')[2]}:{one.line}" for one in own])


def sites_between(more: Record, less: Record | None, owner: Owner, phase: str, certificates: int) -> Sites | Missing:
    """Return what one of so many certificates adds by kind and function, from the run `less` to the run `more`; of
    `more` alone without the other. Missing where functions have no names."""
    found = recall_sites(more, owner, phase)
    if less:
        found.subtract(recall_sites(less, owner, phase))
    unnamed = sum(abs(size) for (_, function), size in found.items() if function == UNNAMED)
    if unnamed > MOST_UNNAMED * sum(map(abs, found.values())):
        return Missing(NO_NAMES)
    return {site: Fraction(size, certificates) for site, size in found.items() if size}


def find_client_chains(selection: Selection) -> Iterator[CertificateCost]:
    """Yield what a client's chain costs each stack, in the newest protocol of which it was recorded."""
    found: dict[str, CertificateCost] = {}
    for row in find_chains(selection, MUTUAL):
        added = row.added()
        if row.configuration.key != MAIN_KEY or row.configuration.options != "default" or isinstance(added, Missing):
            continue
        if row.stack not in found or row.configuration.protocol > suites()[found[row.stack].suite].protocol:
            found[row.stack] = client_chain(row, added)
    yield from found.values()


def client_chain(row: ChainRow, added: Fraction) -> CertificateCost:
    """Return what one certificate of the chain adds: half of the two, or all of it where the server keeps the client's
    own alone."""
    sizes = chain_sizes(row.certs(MUTUAL), "client")
    alone = keeps_leaf_alone(row, added, sizes[1])
    kept, count, der = (LEAF, 1, sizes[0]) if alone else (BOTH, len(sizes), sum(sizes))
    series = keep_present(row.series("server", suite) for suite in (MUTUAL, ALONE))
    runs = tuple(run for one in series for run in one.records)
    if runtime := all(run.meter == "rss" for run in runs):
        sites: Sites | Missing = Missing(NO_CALL_STACKS)
    else:
        divide = partial(sites_between, owner="server", phase=ESTABLISHED, certificates=count)
        sites = map_present(divide, row.run("sites", MUTUAL), row.run("sites", ALONE))
    suite = row.suites[row.configuration][MUTUAL].suite
    return CertificateCost(
        row.stack, CLIENT_CHAIN, suite, kept, added / count, Fraction(der, count), sites, runtime, runs
    )


def keeps_leaf_alone(row: ChainRow, added: Fraction, intermediate: int) -> bool:
    """Return whether the intermediate adds less than half of its encoding, where chains without one were recorded."""
    leaf = row.live("server", Suite("mutual", 0)) - row.live("server", Suite("server", 0))
    return isinstance(leaf, Fraction) and added - leaf < Fraction(intermediate, 2)


@cache
def bundle_sizes(certs: str) -> tuple[int, ...]:
    """Return the lengths of the roots beside a suite's own, in their order."""
    return certificate_sizes(DEFINITIONS / "certs" / certs / "other-roots.pem")


def find_context_certificates(contexts: Contexts) -> list[CertificateCost]:
    """Return what a root and a name cost a stack, those that were recorded; nothing of a suite that is no more."""
    if contexts.suite not in suites():
        return []
    root = map_present(partial(root_cost, contexts), contexts.root().opened)
    return keep_present((root, map_present(partial(name_cost, contexts), contexts.name().opened)))


def root_cost(contexts: Contexts, opened: Fraction) -> CertificateCost:
    """Return the cost of one more root in a client's store."""
    few, many = ROOTS
    most, least = (contexts.sites_run(Case(roots=roots, sharing="each-client")) for roots in (many, few))
    divide = partial(sites_between, owner="client context", phase="opened", certificates=many - few)
    der = Fraction(sum(bundle_sizes(suites()[contexts.suite].certs)[few - 1 : many - 1]), many - few)
    return make_cost(contexts, TRUST_STORE, opened, der, map_present(divide, most, least))


def name_cost(contexts: Contexts, opened: Fraction) -> CertificateCost:
    """Return the cost of one more certificate by name in a server."""
    divide = partial(sites_between, less=None, owner="server context", phase="opened", certificates=1)
    folder = DEFINITIONS / "certs" / suites()[contexts.suite].certs
    der = Fraction(sum(sum(certificate_sizes(folder / file)) for file in ("name.pem", "intermediate.pem")))
    return make_cost(contexts, NAME, opened, der, map_present(divide, contexts.sites_run(Case(names=100))))


def make_cost(contexts: Contexts, place: str, size: Fraction, der: Fraction, sites: Sites | Missing) -> CertificateCost:
    """Return the cost, with why it is not divided where a runtime tells it."""
    divided = Missing(NO_CALL_STACKS) if contexts.by_runtime else sites
    runs = tuple(contexts.every_run)
    return CertificateCost(
        contexts.stack, place, contexts.suite, WHOLE[place], size, der, divided, contexts.by_runtime, runs
    )


def find_certificates(memory: Selection | None, others: Sequence[Record]) -> list[CertificateCost]:
    """Return what was recorded, place by place, the fewest bytes first."""
    found = list(find_client_chains(memory)) if memory else []
    for contexts in find_contexts(others):
        found += find_context_certificates(contexts)
    return sort_costs(found)


def sort_costs(costs: Iterable[CertificateCost]) -> list[CertificateCost]:
    """Return them place by place, the fewest bytes first."""
    return sorted(costs, key=lambda one: (PLACES.index(one.place), one.bytes))


def kind_column(name: str) -> Column:
    """Return the column of a kind."""
    key = f"{name.replace(' ', '_')}_bytes"
    return Column(key, name, value=lambda row: without_suite(row.kind(name)), form=fraction_cell)


COLUMNS = (
    Column("place", "where", left=True, value=lambda row: row.place),
    Column("stack", "stack", left=True, value=lambda row: row.stack),
    optional(Column("suite", "suite", left=True, value=lambda row: row.suite)),
    optional(Column("kept", "kept", left=True, value=lambda row: row.kept)),
    Column("der_bytes", "DER", value=lambda row: row.der_bytes, form=fraction_cell),
    Column(
        "live_bytes",
        "bytes",
        value=lambda row: size_if_known(row.bytes, RUNTIME_NOTE if row.by_runtime else None),
        form=size_cell,
    ),
    Column("per_der_byte", "× DER", value=lambda row: row.bytes / row.der_bytes, form=fraction_cell),
    *map(kind_column, KINDS),
)


def certificate_table(memory: Selection | None, others: Sequence[Record]) -> Table:
    """A row a place and stack, the fewest bytes first in each."""
    table = Table("certificates", "What a certificate costs", CAPTION, list(COLUMNS))
    table.add_rows(find_certificates(memory, others))
    if memory:
        rows = [row for row in find_chains(memory, MUTUAL) if row.configuration.key == MAIN_KEY]
        told = {row[1].text for row in table.rows}
        table.without = describe_refusals((row for row in rows if row.stack not in told), lambda row: row.added())
    return table


@dataclass(frozen=True)
class Site:
    """A call site of a cost."""

    cost: CertificateCost
    kind: str
    function: str
    bytes: Fraction


SITES_COLUMNS = (
    Column("place", "where", left=True, value=lambda row: row.cost.place),
    Column("stack", "stack", left=True, value=lambda row: row.cost.stack),
    Column("kind", "kind", left=True, value=lambda row: row.kind),
    Column("function", "allocated by", left=True, value=lambda row: row.function),
    Column("live_bytes", "bytes", value=lambda row: row.bytes, form=fraction_cell),
)


def list_sites(cost: CertificateCost) -> Iterator[Site]:
    """Yield the call sites with a row, the largest first."""
    for (kind, function), size in sorted(replace_missing(cost.sites, {}).items(), key=lambda one: -one[1]):
        if size >= LEAST * cost.bytes:
            yield Site(cost, kind, function, size)


def site_table(memory: Selection | None, others: Sequence[Record]) -> Table:
    """A row a place, stack and call site."""
    table = Table("certificate-sites", "What a certificate costs, by call site", SITES_CAPTION, list(SITES_COLUMNS))
    for cost in find_certificates(memory, others):
        table.add_rows(list_sites(cost))
    return table
