"""What the project claims of its own figures. Each claim checks the runs of one campaign, by stack and suite; the table
`proof` has a row for each verdict."""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from tlsmem.config import definitions, matrix
from tlsmem.selfcheck.audit import describe_split_difference
from tlsmem.stats import memory_model, role_sums, session_cost
from tlsmem.stats.comparability import select_comparable
from tlsmem.stats.memory_model import ModelError
from tlsmem.stats.missing import Missing
from tlsmem.stats.selection import Selection, Series, run_from_record, select, select_campaign
from tlsmem.store.record import Record
from tlsmem.tables.memory_model import error_cell
from tlsmem.tables.table import Cell, Column, Table

CAMPAIGNS = ("repeat", "law", "large", "split", "keep")
CAMPAIGNS_OF_ROLES = ("repeat", "split", "keep")
ROLES = ("client", "server")
MIN_REPEATS = 3
SLOPE_LIMIT, MODEL_HEAP_LIMIT, MODEL_RSS_LIMIT, LARGE_LIMIT = 0.002, 0.005, 0.01, 0.01
NARROW = "memory model below 1 % of the pairs at once, RSS"
ONE_AT_A_TIME = (
    "likely reason: with one handshake at a time, each handshake uses what the one before freed, so glibc places the "
    "sessions at rest elsewhere. Live heap follows the model at any W, RSS from 1 % of the pairs on"
)
# What is known not to hold, and why: shown with its reason in every proof, and no surprise to the exit status.
KNOWN = {
    (NARROW, "openssl@3.5.5", "tls12-rsa-aes256"): ONE_AT_A_TIME,
    (NARROW, "openssl@3.5.5", "tls13-rsa-aes256"): ONE_AT_A_TIME,
    ("RSS slope repeats", "rustls+aws-lc@0.23.46", "tls12-rsa-aes256"): "likely reason: aws-lc's RSA signing "
    "allocates a varying number of short-lived blocks (cumulative_blocks of `contexts` and `server 1`), after which "
    "glibc places sessions in one of a few patterns; with ring the same suite repeats within 0.2 %",
    ("peak inside every phase repeats", "rustls+aws-lc@0.23.46", "tls13-rsa-aes256-pq"): "rustls shuffles the "
    "extensions of its hello, so its buffer grows in different steps. This affects one session at a time in phase "
    "`sessions`; live bytes and the peak of the run do not vary",
}


class Verdict(NamedTuple):
    """Whether a claim holds of a stack in a suite: what was measured, and the limit."""

    claim: str
    stack: str
    suite: str
    measured: str | Missing
    limit: str
    holds: bool

    @property
    def known(self) -> str | None:
        """Why it is known not to hold; None where that is news. The claim counts with and without its N."""
        claims = (self.claim, self.claim.partition(", N")[0])
        return next(filter(None, (KNOWN.get((one, self.stack, self.suite)) for one in claims)), None)


def verdict_cell(verdict: Verdict) -> Cell:
    if verdict.holds:
        return Cell("holds", True)
    return Cell("does not hold", True, verdict.known) if verdict.known else Cell("FAILS", False)


COLUMNS = (
    Column("claim", "claim", left=True, value=lambda verdict: verdict.claim),
    Column("stack", "stack", left=True, value=lambda verdict: verdict.stack),
    Column("suite", "suite", left=True, value=lambda verdict: verdict.suite),
    Column("measured", "measured", left=True, value=lambda verdict: verdict.measured),
    Column("limit", "limit", left=True, value=lambda verdict: verdict.limit),
    Column("verdict", "verdict", left=True, value=lambda verdict: verdict, form=verdict_cell),
)


def proof_table(records: list[Record]) -> Table:
    caption = "One row a claim, stack and suite."
    table = Table("proof", "What is claimed, and what was measured", caption, list(COLUMNS))
    table.add_rows(check_all(records))
    return table


def check_all(records: list[Record]) -> Iterator[Verdict]:
    """Runs are selected before they are split into campaigns, so all verdicts are of the same builds."""
    records = select_comparable(records)
    for series, *_ in series_by_stack(records, "repeat"):
        yield from check_heap_repeats(series)
        yield from check_rss_repeats(series)
    for windows in series_by_stack(records, "law"):
        yield from check_established_heap(windows)
        yield from check_memory_model(windows)
    for series, *_ in series_by_stack(records, "large"):
        yield from check_large_counts(series)
    yield from check_roles(select([run for name in CAMPAIGNS_OF_ROLES for run in select_campaign(records, name)]))
    yield from check_failures(records)
    for name in CAMPAIGNS:
        yield check_completeness(records, name)


def series_by_stack(records: list[Record], campaign: str) -> Iterator[list[Series]]:
    """The campaign's runs of each suite and stack: a series for each window."""
    selection = select(select_campaign(records, campaign))
    for suite in dict.fromkeys(setting.suite for setting in selection.settings):
        for stack in selection.stacks:
            yield [selection.series(stack, one) for one in selection.settings if one.suite == suite]


# Repeats


def lasting_figures(run: Record) -> dict[str, int]:
    """Live heap at every phase's end, and the peak of the run, by name."""
    figures: dict[str, int] = {}
    for role in ROLES:
        heaps = {phase.phase: getattr(phase.heap, role) for phase in run.phases}
        figures |= {f"{name}, {role}, live bytes": heap.live_bytes for name, heap in heaps.items()}
        figures |= {f"{name}, {role}, live blocks": heap.live_blocks for name, heap in heaps.items()}
        figures[f"run, {role}, peak"] = max(heap.peak_bytes for heap in heaps.values())
    return figures


def phase_peaks(run: Record) -> dict[str, int]:
    """Peaks inside the phases after the warm-up, by name."""
    return {
        f"{phase.phase}, {role}, peak": getattr(phase.heap, role).peak_bytes
        for role in ROLES
        for phase in run.phases[1:]
    }


def describe_difference(repeats: Sequence[dict[str, int]]) -> str | None:
    """The figure that differs most from the first repeat's; None when all are equal."""
    first, *others = repeats
    differences = {name: other[name] - first[name] for other in others for name in first if other[name] != first[name]}
    if not differences:
        return None
    name, most = max(differences.items(), key=lambda one: abs(one[1]))
    return f"{name}: {most:+,} bytes ({len(differences)} of {len(first)} figures)"


def check_heap_repeats(series: Series) -> Iterator[Verdict]:
    for claim, figures in (
        ("live heap and its peak repeat", lasting_figures),
        ("peak inside every phase repeats", phase_peaks),
    ):
        for sessions in sorted({run.sessions for run in series.runs("heap")}):
            runs = series.runs("heap", sessions)
            if len(runs) >= MIN_REPEATS:
                difference = describe_difference([figures(run) for run in runs])
                names = (f"{claim}, N = {sessions:,}", series.stack, series.setting.suite)
                yield Verdict(*names, difference or f"{len(runs)} runs equal", "to the byte", not difference)


def check_rss_repeats(series: Series) -> Iterator[Verdict]:
    spread = session_cost.slope_spread(series.full("rss"), session_cost.peak_rss)
    if spread is not None:
        names = ("RSS slope repeats", series.stack, series.setting.suite)
        yield Verdict(*names, f"{100 * spread:.3f} %", "0.2 %", spread <= SLOPE_LIMIT)


# The memory model, over windows


def check_established_heap(windows: list[Series]) -> Iterator[Verdict]:
    """Live heap per session is the same whatever the window, and the peak is not."""
    pairs = {series.setting.window: pair for series in windows if (pair := series.heap_pair())}
    if len(pairs) < 2:
        return
    costs = {window: str(session_cost.live_cost(*pair, "total", "established").bytes) for window, pair in pairs.items()}
    peaks = {memory_model.handshake_peak_heap(pair[1], "total") for pair in pairs.values()}
    holds = len(set(costs.values())) == 1 and len(peaks) == len(pairs)
    measured = ", ".join(f"{cost} at W = {window}" for window, cost in costs.items())
    if holds:
        measured = f"{next(iter(costs.values()))} a pair at W = {', '.join(map(str, costs))}; peaks differ"
    names = ("established heap at any window", windows[0].stack, windows[0].setting.suite)
    yield Verdict(*names, measured, "equal", holds)


def check_memory_model(windows: list[Series]) -> Iterator[Verdict]:
    stack, suite = windows[0].stack, windows[0].setting.suite

    def judge(claim: str, error: ModelError | Missing, limit: float) -> Iterator[Verdict]:
        if isinstance(error, ModelError):
            holds = abs(error.rounded_share) <= limit
            yield Verdict(claim, stack, suite, error_cell(error).text, f"{100 * limit:g} %", holds)

    runs = [run for series in windows for run in series.records]
    heap, rss = (memory_model.fit_and_check(runs, name) for name in ("live heap", "RSS"))
    if isinstance(heap, memory_model.CheckedModel):
        yield from judge("memory model, live heap", heap.error, MODEL_HEAP_LIMIT)
    if isinstance(rss, memory_model.CheckedModel):
        yield from judge("memory model, RSS", rss.error, MODEL_RSS_LIMIT)
        yield from judge(NARROW, rss.narrow_error, MODEL_RSS_LIMIT)


# Roles and large N


def check_roles(selection: Selection) -> Iterator[Verdict]:
    """Roles in processes of their own, or without their peers, cost what they cost together."""
    for setting in selection.settings:
        for stack in selection.stacks if setting.roles != "together" else ():
            phases = role_sums.comparable_phases(selection, stack, setting)
            references = role_sums.reference_settings(setting)
            if phases and any(role_sums.live_by_role(selection, stack, one, phases[0]) for one in references):
                difference = role_sums.check_setting(selection, stack, setting)
                equal = f"equal at the end of {len(phases)} phase{'s' * (len(phases) > 1)}"
                measured = describe_split_difference(difference) if difference else equal
                names = (f"live heap of roles, {setting.roles}", stack, setting.suite)
                yield Verdict(*names, measured, "as together, to the byte", not difference)


def check_large_counts(series: Series) -> Iterator[Verdict]:
    """What a session adds beyond N = 10,000 is what it adds up to there."""
    points = session_cost.medians(series.runs("rss"), session_cost.peak_rss)
    low, middle, high = min(points, default=0), session_cost.C10K, max(points, default=0)
    if middle not in points or not low < middle < high:
        return
    below, beyond = ((points[many] - points[few]) / (many - few) for few, many in ((low, middle), (middle, high)))
    change = beyond / below - 1
    measured = f"{below:,.0f} B up to N = {middle:,}, {beyond:,.0f} B on to N = {high:,} ({100 * change:+.2f} %)"
    names = ("RSS per session at large N", series.stack, series.setting.suite)
    yield Verdict(*names, measured, "1 %", abs(change) <= LARGE_LIMIT)


# The runs themselves


def check_failures(records: list[Record]) -> Iterator[Verdict]:
    for record in select(records).records:
        if record.status == "failed":
            names = (f"a run, N = {record.sessions:,}", record.stack, record.suite)
            yield Verdict(*names, Missing(record.reason or ""), "measured", False)


def check_completeness(records: list[Record], campaign: str) -> Verdict:
    """No verdict without evidence: every run that the campaign asks for is there."""
    measured = {run_from_record(record) for record in records if record.status == "measured"}
    wanted = set(matrix.campaign_runs(definitions.campaigns()[campaign]))
    text = f"{len(wanted & measured)} of {len(wanted)}"
    return Verdict(f"runs of campaign {campaign}", "all", "all", text, "all", wanted <= measured)
