"""What the project claims of its own figures: each claim checks the runs of one campaign, and is rows of a table."""

from collections.abc import Iterator

from tlsmem.config import definitions, matrix
from tlsmem.schema.records import Record
from tlsmem.selfcheck.audit import describe_split_difference
from tlsmem.stats import memory_model, role_sums, session_cost
from tlsmem.stats.comparability import select_comparable
from tlsmem.stats.missing import Missing
from tlsmem.stats.selection import Selection, Series, run_from_record, select, select_campaign
from tlsmem.tables.memory_model import error_cell
from tlsmem.tables.table import Cell, Column, Table, missing_cell, text_cell

CAMPAIGNS = ("repeat", "law", "large", "split", "keep")
ROLES_APART = ("repeat", "split", "keep")
ROLES = ("client", "server")
RSS_SPREAD, LAW_HEAP, LAW_RSS, LARGE = 0.002, 0.005, 0.01, 0.01
NARROW = "law of memory below 1 % of the pairs at once, RSS"
AGAIN = (
    "with one handshake at a time the sessions at rest lie otherwise in glibc's heap than with a hundred at a time: "
    "each handshake can take just what the one before gave back. That is inferred; measured is that live heap follows "
    "the law at any W, and RSS from 1 % of the pairs on"
)
# What is known not to hold, and why: shown with its reason in every proof, and no surprise to the exit status.
KNOWN = {
    (NARROW, "openssl@3.5.5", "tls12-rsa-aes256"): AGAIN,
    (NARROW, "openssl@3.5.5", "tls13-rsa-aes256"): AGAIN,
    ("RSS slope repeats", "rustls+aws-lc@0.23.46", "tls12-rsa-aes256"): "aws-lc's RSA signing makes a "
    "number of short-lived blocks that varies (cumulative_blocks of `contexts` and `server 1`), after which glibc "
    "seems to lay the sessions out in another of a few patterns; with ring the same suite repeats within 0.2 %",
    ("peak inside every phase repeats", "rustls+aws-lc@0.23.46", "tls13-rsa-aes256-pq"): "rustls shuffles the "
    "extensions of its hello, so the buffer that it is written into grows in other steps: a constant of one session, "
    "in phase `sessions`; what is live and the peak of the run do not vary",
}

ClaimRow = list[Cell]


def row(claim: str, stack: str, suite: str, measured: str, limit: str, holds: bool) -> ClaimRow:
    known = None if holds else KNOWN.get((claim, stack, suite)) or KNOWN.get((claim.partition(", N")[0], stack, suite))
    verdict = Cell("holds" if holds else "does not hold" if known else "FAILS", holds or known is not None, known)
    return [text_cell(claim), text_cell(stack), text_cell(suite), text_cell(measured), text_cell(limit), verdict]


def lasting(run: Record) -> dict[str, int]:
    """Live heap at every phase's end, and the peak of the run, by name."""
    found = {}
    for role in ROLES:
        heaps = {phase.phase: getattr(phase.heap, role) for phase in run.phases}
        found |= {f"{name}, {role}, live bytes": heap.live_bytes for name, heap in heaps.items()}
        found |= {f"{name}, {role}, live blocks": heap.live_blocks for name, heap in heaps.items()}
        found[f"run, {role}, peak"] = max(heap.peak_bytes for heap in heaps.values())
    return found


def passing(run: Record) -> dict[str, int]:
    """Peaks inside the phases after the warm-up, by name."""
    return {
        f"{phase.phase}, {role}, peak": getattr(phase.heap, role).peak_bytes
        for role in ROLES
        for phase in run.phases[1:]
    }


EXACT = {"live heap and its peak repeat": lasting, "peak inside every phase repeats": passing}


def difference(books: list[dict[str, int]]) -> str | None:
    """The figure that differs most from the first run's; None when all are equal."""
    first = books[0]
    off = {name: book[name] - first[name] for book in books[1:] for name in first if book[name] != first[name]}
    if not off:
        return None
    worst = max(off, key=lambda name: abs(off[name]))
    return f"{worst}: {off[worst]:+,} bytes ({len(off)} of {len(first)} figures)"


def exact(series: Series) -> Iterator[ClaimRow]:
    for claim, books in EXACT.items():
        for sessions in sorted({run.sessions for run in series.runs("heap")}):
            runs = series.runs("heap", sessions)
            if len(runs) >= 3:
                off = difference([books(run) for run in runs])
                names = (f"{claim}, N = {sessions:,}", series.stack, series.setting.suite)
                yield row(*names, off or f"{len(runs)} runs equal", "to the byte", not off)


def repeats(series: Series) -> Iterator[ClaimRow]:
    spread = session_cost.slope_spread(series.full("rss"), session_cost.peak_rss)
    if spread is not None:
        text = f"{100 * spread:.3f} %"
        yield row("RSS slope repeats", series.stack, series.setting.suite, text, "0.2 %", spread <= RSS_SPREAD)


def established(chosen: list[Series]) -> Iterator[ClaimRow]:
    """The same live heap per session whatever the window, and not the same peak."""
    pairs = {series.setting.window: series.heap_pair() for series in chosen if series.heap_pair()}
    if len(pairs) < 2:
        return
    kept = {window: str(session_cost.live_cost(*pair, "total", "established").bytes) for window, pair in pairs.items()}
    peaks = {memory_model.handshake_peak_heap(pair[1], "total") for pair in pairs.values()}
    text = ", ".join(f"{value} at W = {window}" for window, value in kept.items())
    holds = len(set(kept.values())) == 1 and len(peaks) == len(pairs)
    text = f"{next(iter(kept.values()))} a pair at W = {', '.join(map(str, kept))}; peaks differ" if holds else text
    yield row("established heap at any window", chosen[0].stack, chosen[0].setting.suite, text, "equal", holds)


def lawful(chosen: list[Series]) -> Iterator[ClaimRow]:
    runs = [run for series in chosen for run in series.records]
    names = (chosen[0].stack, chosen[0].setting.suite)
    heap, rss = (memory_model.fit_and_check(runs, quantity) for quantity in ("live heap", "RSS"))
    for claim, error, limit in (
        ("law of memory, live heap", heap if isinstance(heap, Missing) else heap.error, LAW_HEAP),
        ("law of memory, RSS", rss if isinstance(rss, Missing) else rss.error, LAW_RSS),
        (NARROW, rss if isinstance(rss, Missing) else rss.narrow_error, LAW_RSS),
    ):
        if not isinstance(error, Missing):
            yield row(claim, *names, error_cell(error).text, f"{100 * limit:g} %", abs(error.rounded_share) <= limit)


def check_separate_roles(selection: Selection) -> Iterator[ClaimRow]:
    """Roles in processes of their own, or without their peers, cost what they cost together."""
    for setting in selection.settings:
        for stack in selection.stacks if setting.roles != "together" else ():
            ends = role_sums.comparable_phases(selection, stack, setting)
            if ends and any(
                role_sums.live_by_role(selection, stack, one, ends[0]) for one in role_sums.reference_settings(setting)
            ):
                off = role_sums.check_setting(selection, stack, setting)
                text = (
                    describe_split_difference(off)
                    if off
                    else f"equal at the end of {len(ends)} phase{'s' * (len(ends) > 1)}"
                )
                claim = f"live heap of roles, {setting.roles}"
                yield row(claim, stack, setting.suite, text, "as together, to the byte", not off)


def large(series: Series) -> Iterator[ClaimRow]:
    """What a session adds beyond N = 10,000 is what it adds up to there."""
    points = session_cost.medians(series.runs("rss"), session_cost.peak_rss)
    counts = sorted(points)
    if session_cost.C10K not in points or counts[-1] <= session_cost.C10K or counts[0] == session_cost.C10K:
        return
    low, middle, high = counts[0], session_cost.C10K, counts[-1]
    below, beyond = ((points[m] - points[n]) / (m - n) for n, m in ((low, middle), (middle, high)))
    text = (
        f"{below:,.0f} B up to N = {middle:,}, {beyond:,.0f} B on to N = {high:,} ({100 * (beyond / below - 1):+.2f} %)"
    )
    claim = "RSS per session at large N"
    yield row(claim, series.stack, series.setting.suite, text, "1 %", abs(beyond / below - 1) <= LARGE)


def series_by_stack(records_: list[Record], name: str) -> Iterator[list[Series]]:
    """The series of a stack and suite, one for each window, of the runs that the campaign asks for."""
    selection = select(select_campaign(records_, name))
    for suite in dict.fromkeys(setting.suite for setting in selection.settings):
        for stack in selection.stacks:
            yield [selection.series(stack, one) for one in selection.settings if one.suite == suite]


def complete(records_: list[Record], campaigns: tuple[str, ...]) -> Iterator[ClaimRow]:
    """No verdict without evidence: every run that the campaigns ask for is there."""
    there = {run_from_record(record) for record in records_ if record.status == "measured"}
    for name in campaigns:
        asked = set(matrix.campaign_runs(definitions.campaigns()[name]))
        text = f"{len(asked & there)} of {len(asked)}"
        yield row(f"runs of campaign {name}", "all", "all", text, "all", asked <= there)


def failures(selection: Selection) -> Iterator[ClaimRow]:
    for record in selection.records:
        if record.status == "failed":
            names = (f"a run, N = {record.sessions:,}", record.stack, record.suite)
            yield [*map(text_cell, names), missing_cell(record.reason), text_cell("measured"), Cell("FAILS", False)]


def proof_table(recorded: list[Record]) -> Table:
    """Runs are sifted before they are split into campaigns: all rows are of the same builds."""
    made = select_comparable(recorded)
    columns = [Column(name, name, left=True) for name in ("claim", "stack", "suite", "measured", "limit", "verdict")]
    table = Table("proof", "What is claimed, and what was measured", "One row a claim, stack and suite.", columns)
    table.rows += [
        row for series in series_by_stack(made, "repeat") for check in (exact, repeats) for row in check(series[0])
    ]
    table.rows += [
        row for series in series_by_stack(made, "law") for check in (established, lawful) for row in check(series)
    ]
    table.rows += [row for series in series_by_stack(made, "large") for row in large(series[0])]
    table.rows += check_separate_roles(select([run for name in ROLES_APART for run in select_campaign(made, name)]))
    table.rows += [*failures(select(made)), *complete(made, CAMPAIGNS)]
    return table
