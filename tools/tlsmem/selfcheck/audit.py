"""What is wrong with a recording: sentences, each beginning with a name. None when all is as it must be.

leak: memory that is live when all is freed. state: that a context keeps when its sessions are freed. uneven: sessions
that are not alike. null: the null stack, whose answers are known. `books`: allocator statistics that do not see all.
rss: counters that a walk of the pages belies. sites: call stacks that do not explain the heap. split: roles apart that
do not add up to both together."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple

from tlsmem.config.run import SYSTEM
from tlsmem.schema.harness_output import Process
from tlsmem.schema.recorded_arguments import harness_arguments
from tlsmem.stats import allocator_statistics, session_cost
from tlsmem.stats.bends import PAGE
from tlsmem.stats.missing import Missing
from tlsmem.stats.process_tables import find_tables, remove_tables
from tlsmem.stats.reconciliation import Reconciliation, are_process_wide_tables, reconcile
from tlsmem.stats.remainders import BLINDING_BYTES, find_cause, keeps_state, repeats_exactly
from tlsmem.stats.role_sums import SplitDifference, check_split_sums
from tlsmem.stats.rss_breakdown import requested_per_pair
from tlsmem.stats.rss_line import why_no_line
from tlsmem.stats.selection import Selection, select
from tlsmem.stats.series import Series, Setting
from tlsmem.stats.session_cost import ESTABLISHED, MIB, Quotient, quantity_at_end, slope_per_pair
from tlsmem.store.record import Phase, Record
from tlsmem.tables.table import format_bytes_in_blocks

SHARE = 0.01  # of live heap; a larger rest is an error, and in a suite that repeats exactly any but a library's tables


def account_findings(run: Record, heap: tuple[Record, Record] | None = None, where: str | None = None) -> Iterator[str]:
    """What does not hold of a sites run, each said of the first phase where it does not."""
    exact = repeats_exactly(harness_arguments(run))
    accounts = reconcile(run, heap)
    for judge in (unlike, unexplained_rest, off_slope):
        found = ((one, judge(one, accounts, exact)) for one in accounts)
        if first := next(((one, said) for one, said in found if said), None):
            yield f"sites: {where or f'{run.stack}, {run.suite}'}: `{first[0].phase}`: {first[1]}"


def unlike(one: Reconciliation, accounts: Sequence[Reconciliation], exact: bool) -> str | None:
    """The pair stands for all others: they have as many blocks from the same places, and about as many bytes. But a
    pair may have enlarged a table, which counts for it."""
    off = one.pairs - one.alike
    if off <= one.rest_blocks and are_process_wide_tables(accounts, exact):
        return None
    return f"{off:,} of {one.pairs:,} pairs are not like the chosen one" if off else None


def unexplained_rest(one: Reconciliation, accounts: Sequence[Reconciliation], exact: bool) -> str | None:
    """A rest: any where runs repeat exactly, else above a share of what is live."""
    most = share(accounts, one, "bytes"), share(accounts, one, "blocks")
    allowed = (0, 0) if exact else most
    if exact and are_process_wide_tables(accounts, exact):
        return None
    if abs(one.rest_bytes) <= allowed[0] and abs(one.rest_blocks) <= allowed[1]:
        return None
    pair, rest = (
        format_bytes_in_blocks(one.pair_bytes, one.pair_blocks),
        format_bytes_in_blocks(one.rest_bytes, one.rest_blocks),
    )
    return f"{one.pairs:,} pairs of {pair} leave a rest of {rest}"


def off_slope(one: Reconciliation, accounts: Sequence[Reconciliation], exact: bool) -> str | None:
    if one.off_slope is None or abs(one.off_slope) * one.pairs <= share(accounts, one, "bytes"):
        return None
    return f"the pair holds {one.pair_bytes:,} B, one more pair costs {one.slope} B in heap runs"


def share(accounts: Sequence[Reconciliation], one: Reconciliation, unit: Literal["bytes", "blocks"]) -> float:
    """What may be left over. Where a pair has nothing, nothing is a share of it, and the fullest phase counts."""
    whole = [one] if one.pair_bytes else accounts
    return SHARE * max(account.live_bytes if unit == "bytes" else account.live_blocks for account in whole)


@dataclass(frozen=True)
class RunGroup:
    """The runs of one process of one stack in one setting."""

    selection: Selection
    stack: str
    setting: Setting
    process: Process

    @property
    def series(self) -> Series:
        return self.selection.series(self.stack, self.setting, self.process)

    @property
    def roles(self) -> list[str]:
        return [role for role, process in self.setting.processes.items() if process == self.process]

    def __str__(self) -> str:
        kind = [] if self.setting.roles == "together" else [self.setting.roles]
        others = [self.setting.allocator] * (self.setting.allocator != SYSTEM)
        windowed = [f"window {self.setting.window}"] * (self.setting.window != "all")
        return ", ".join([self.stack, self.setting.suite, *others, *windowed, *kind])


def group_runs(selection: Selection) -> Iterator[RunGroup]:
    for setting in selection.settings:
        for stack in selection.stacks:
            for process in dict.fromkeys(setting.processes.values()):
                yield RunGroup(selection, stack, setting, process)


NULL_BYTES, NULL_BLOCKS, NULL_RESIDENT = 4072, 3, 4096  # a session of the null stack: harness-c/drivers/null.c
COUNTED_BYTES, COUNTED_SHARE = (
    MIB,
    0.01,
)  # both: counters lag by some pages a CPU (docs/explanation/meters/rss.md), however many run
BOOKS_SHARE = 0.99  # of requested: glibc counts what a thread's cache holds free as live, which may shrink a little
OWNERS = {  # of live heap, by the role of the meter
    "client": "per client session",
    "server": "per server session",
    "client_context": "per session of the client's context",
    "server_context": "per session of the server's context",
    "harness": "per pair of the process's own",
}
SIDES = {"client": ("client", "client_context"), "server": ("server", "server_context")}


def findings(records: Iterable[Record]) -> list[str]:
    """Of the newest comparable runs. What records cannot tell (schema 1 has no phase `freed`) is not judged."""
    records = list(records)
    found = [sentence for one in group_runs(select(records)) for judge in JUDGES for sentence in judge(one)]
    return list(dict.fromkeys([*found, *map(describe_split_difference, check_split_sums(records))]))


def describe_split_difference(found: SplitDifference) -> str:
    """Each role that differs as `server 52,000 B in 150 blocks, not 51,936 B in 149`."""
    roles = []
    for role, (size, blocks), (reference, reference_blocks) in found.roles:
        roles.append(f"{role} {size} B in {blocks} blocks, not {reference} B in {reference_blocks}")
    where = f"{found.stack}, {found.setting.suite}, {found.setting.roles}, at the end of `{found.phase}`"
    return f"split: {where}: live per session of the {'; of the '.join(roles)}"


def amount(of_bytes: Quotient, of_blocks: Quotient) -> str:
    return f"{of_bytes} B in {of_blocks} block{'' if str(of_blocks) == '1' else 's'}"


def has(pair: tuple[Record, Record], name: str) -> bool:
    return all(name in run.phase_names for run in pair)


def leaks(judged: RunGroup) -> Iterator[str]:
    """What grows with the sessions and is live when all is freed."""
    pair = judged.series.heap_pair()
    if not pair or not has(pair, "freed"):
        return
    grown = {role: session_cost.live_cost(*pair, role, "freed") for role in OWNERS}
    lost = {role: amount(cost.bytes, cost.blocks) for role, cost in grown.items() if cost.bytes.amount > 0}
    if lost:
        yield f"leak: {judged}: {by_owner(lost)} are live after everything is freed"


def by_owner(amounts: dict[str, str]) -> str:
    """Each with whose it is; once where both roles have the same."""
    if set(amounts) == {"client", "server"} and len(set(amounts.values())) == 1:
        return f"{amounts['client']} per session of either role"
    return " and ".join(f"{what} {OWNERS[role]}" for role, what in amounts.items())


def states(judged: RunGroup) -> Iterator[str]:
    """What grows with the sessions, outlives them, and goes with the contexts; resumption suites ask for it."""
    pair = judged.series.heap_pair()
    if not pair or not has(pair, "freed") or keeps_state(pair[0]):
        return
    kept: dict[str, str] = {}
    for side, roles in SIDES.items():
        if side in find_tables(pair):  # the table heap has them
            continue
        if has_own_contexts(pair, side):
            continue
        closed, freed = (added_per_session(pair, roles, phase) for phase in ("closed", "freed"))
        left = [Quotient(one.amount - other.amount, one.sessions) for one, other in zip(closed, freed, strict=True)]
        is_blinding = left[0].amount <= BLINDING_BYTES and not left[1].amount  # of an RSA key, once a process
        kept |= {side: amount(*left)} if left[0].amount > 0 and not is_blinding else {}
    if kept:
        yield (
            f"state: {judged}: {by_owner(kept)} are kept after it is closed, until the context is freed: resumption "
            "state that the suite does not ask for"
        )


def has_own_contexts(pair: tuple[Record, Record], role: str) -> bool:
    """Return whether each session of the role has a context of its own, which keeps what its first session made."""
    return role == "client" and harness_arguments(pair[0]).get("client_certs") == "each"


def added_per_session(pair: tuple[Record, Record], roles: tuple[str, ...], phase: str) -> tuple[Quotient, Quotient]:
    """Bytes and blocks that are live of these roles together."""
    found = [session_cost.live_cost(*pair, role, phase) for role in roles]
    sessions = found[0].bytes.sessions
    return (
        Quotient(sum(cost.bytes.amount for cost in found), sessions),
        Quotient(sum(cost.blocks.amount for cost in found), sessions),
    )


def unevens(judged: RunGroup) -> Iterator[str]:
    """Sessions that are not alike, for no reason that is known; of each role the first phase."""
    pair = judged.series.heap_pair()
    if not pair:
        return
    pair = remove_tables(pair)
    names = pair[0].phase_names
    begin, end = "sessions" if judged.setting.window == "all" else ESTABLISHED, "closed"
    for role in judged.roles:
        if has_own_contexts(pair, role):
            continue
        for name in names[names.index(begin) : names.index(end)]:
            cost = session_cost.live_cost(*pair, role, name)
            if find_cause(pair, role, cost) == "unknown":
                yield f"uneven: {judged}: {amount(cost.bytes, cost.blocks)} per {role} session are live in `{name}`"
                break


def nulls(judged: RunGroup) -> Iterator[str]:
    """The null stack's heap, to the byte."""
    pair = judged.series.heap_pair()
    if judged.setting.suite != "none" or not pair:
        return
    for role in judged.roles:
        cost = session_cost.live_cost(*pair, role, ESTABLISHED)
        if (str(cost.bytes), str(cost.blocks)) != (f"{NULL_BYTES:,}", str(NULL_BLOCKS)):
            yield (
                f"null: {judged}: a {role} session has {amount(cost.bytes, cost.blocks)} live, where {NULL_BYTES:,} B "
                f"in {NULL_BLOCKS} are right"
            )


def null_pages(judged: RunGroup) -> Iterator[str]:
    """The null stack's pages, within one over all sessions added; known of glibc in the controlled environment only."""
    setting, runs = judged.setting, judged.series.full("rss")
    lab = (setting.suite, setting.allocator, setting.env) == ("none", SYSTEM, "lab")
    if not lab or setting.roles not in ("together", "split") or why_no_line(judged.series) is not None:
        return
    if allocator_statistics.has_runtime(runs):  # whose sessions have a goroutine each
        return
    few, many = runs[0], runs[-1]
    sessions = (many.sessions - few.sessions) // 2 * len(judged.roles)
    touched = (
        session_cost.phase_of(many, ESTABLISHED).rss_anon_bytes - session_cost.phase_of(few, ESTABLISHED).rss_anon_bytes
    )
    if abs(touched - NULL_RESIDENT * sessions) > PAGE:
        yield (
            f"null: {judged}: each session touches {touched / sessions:,.1f} B of memory, where {NULL_RESIDENT:,} are "
            f"right, within a page over {sessions:,} sessions"
        )


def blind_books(judged: RunGroup) -> Iterator[str]:
    """An allocator that tells of less than was requested of it."""
    runs = judged.series.full("rss")
    asked = requested_per_pair(judged.selection, judged.series)
    if isinstance(asked, Missing) or why_no_line(judged.series) is not None:
        return
    if any(
        allocator_statistics.unknown_reason(allocator_statistics.LIVE_FIELDS, session_cost.phase_of(run, ESTABLISHED))
        for run in runs
    ):
        return
    told = slope_per_pair(runs, quantity_at_end(allocator_statistics.live_bytes))
    if told is not None and told < BOOKS_SHARE * asked:
        name = " + ".join(session_cost.phase_of(runs[0], ESTABLISHED).allocator or ())
        yield (
            f"books: {judged}: the statistics of {name} rise by {round(told):,} B per pair, less than the "
            f"{round(asked):,} that are requested"
        )


def uncounted(judged: RunGroup) -> Iterator[str]:
    """Where a walk of the page tables and the kernel's counters tell of other pages; of all runs the worst phase."""
    walks = [
        PageWalk(phase, phase.rollup_rss_bytes)
        for run in judged.series.runs("rss")
        for phase in run.phases
        if phase.rollup_rss_bytes is not None
    ]
    worst = max(walks, key=lambda one: one.off, default=None)
    if worst and worst.off > max(COUNTED_BYTES, COUNTED_SHARE * worst.found_bytes):
        yield (
            f"rss: {judged}: `{worst.phase.phase}`: a walk of the page tables finds {worst.found_bytes:,} B, the "
            f"kernel's counters tell {worst.phase.rss_bytes:,}"
        )


class PageWalk(NamedTuple):
    """What a walk of the page tables found at the end of a phase."""

    phase: Phase
    found_bytes: int

    @property
    def off(self) -> int:
        """Bytes that it tells more or less than the kernel's counters."""
        return abs(self.found_bytes - self.phase.rss_bytes)


def unexplained(judged: RunGroup) -> Iterator[str]:
    """Call stacks of one pair that are not those of all."""
    series, process = judged.series, judged.process
    where = str(judged) if process == "both" else f"{judged}, the {process}'s process"
    for run in series.runs("sites"):
        yield from account_findings(run, series.heap_pair(), where)


JUDGES = (leaks, states, unevens, nulls, null_pages, blind_books, uncounted, unexplained)
