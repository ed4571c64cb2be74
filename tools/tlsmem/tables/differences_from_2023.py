"""Why the figures of 2023 differ from ours: what their programs did and ours does not, taken in one by one.

A column is one entry of COLUMNS: what it takes of a line of an account, and how that is written."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import NamedTuple

from tlsmem.stats import session_cost
from tlsmem.stats.missing import Missing, map_present, replace_missing
from tlsmem.stats.selection import Selection
from tlsmem.stats.series import Series, is_one_process
from tlsmem.stats.session_cost import KIB
from tlsmem.store.record import Phase, Record
from tlsmem.tables.published import load_published_peaks
from tlsmem.tables.table import Cell, Column, Table, text_cell

FEWEST = 1_000  # sessions: fewer are told by what a process has anyway


@dataclass(frozen=True)
class LadderStep:
    """What it takes in beyond the one above; the stack and suite that have it too, and the last phase of then."""

    what: str
    stack: str
    suite: str
    last: str | None = "payload"


def openssl_ladder(suite: str, tickets: int) -> list[LadderStep]:
    """Return the steps of OpenSSL in a suite, of which it sent so many tickets then."""
    plain, over_bios, chain = "openssl@3.2.0", "openssl+membio@3.2.0", f"{suite}-chain3"
    return [
        LadderStep("ours", plain, suite, None),
        LadderStep("no reply of 1 KiB", plain, suite),
        LadderStep("two memory BIOs a session", over_bios, suite),
        LadderStep("certificates of 4096, 3072 and 2048 bits, all three sent", over_bios, chain),
        LadderStep("OpenSSL's own number of tickets", over_bios, f"{chain}-tickets{tickets}"),
    ]


def rustls_ladder(suite: str) -> list[LadderStep]:
    """Return the steps of rustls in a suite."""
    stack = "rustls+aws-lc+jemalloc-rust@0.22.0"
    return [
        LadderStep("ours", stack, suite, None),
        LadderStep("no reply of 1 KiB", stack, suite),
        LadderStep("certificates of 4096, 3072 and 2048 bits, all three sent", stack, f"{suite}-chain3"),
    ]


TLS12, TLS13 = "tls12-rsa-aes256", "tls13-rsa-aes256"
LADDERS = [openssl_ladder(TLS12, 1), openssl_ladder(TLS13, 2), rustls_ladder(TLS12), rustls_ladder(TLS13)]


def phases_until(run: Record, last: str | None) -> list[Phase]:
    """Its phases up to this one, or all."""
    names = run.phase_names
    return run.phases[: names.index(last) + 1 if last in names else None]


def resident(rung: LadderStep) -> Callable[[Record], int]:
    """Return the quantity peak RSS up to the step's last phase, in bytes."""
    return lambda run: max(phase.peak_rss_bytes for phase in phases_until(run, rung.last))


def requested(rung: LadderStep) -> Callable[[Record], int]:
    """Return the quantity peak live heap up to the step's last phase, in bytes."""
    return lambda run: max(session_cost.heap_of(phase, "total").peak_bytes for phase in phases_until(run, rung.last))


def slope(points: dict[int, float]) -> float | None:
    """Bytes per session, through all N that are many enough."""
    fitted = session_cost.fit_line({sessions: size for sessions, size in points.items() if sessions >= FEWEST})
    return fitted.slope if fitted else None


def published_slope(rung: LadderStep, sessions: set[int]) -> float | None:
    """As published, through just these N."""
    sizes = {of[2]: kib * KIB for of, (kib, _) in load_published_peaks().items() if of[:2] == (rung.stack, rung.suite)}
    return slope({count: size for count, size in sizes.items() if count in sessions})


def find_series(selection: Selection, rung: LadderStep) -> Series | None:
    """Its runs in the one setting of the suite."""
    settings = [one for one in selection.settings if one.suite == rung.suite]
    return selection.series(rung.stack, settings[0]) if settings else None


class PublishedShare(NamedTuple):
    """What is not accounted for, as a share of the published figure."""

    share: float


Amount = float | Missing | None  # bytes per session; None: the line has no such figure


class AccountLine(NamedTuple):
    """A line of an account: a step, what is left over, or what was published."""

    first: LadderStep
    what: str
    rss: Amount = None
    added: Amount | PublishedShare = None
    added_heap: Amount = None


def amount(value: float | None, why: str) -> float | Missing:
    """Return the value; Missing for this reason where it is None."""
    return Missing(why) if value is None else value


def difference(value: float | None, before: float | None, why: str) -> float | Missing:
    """Return the difference; Missing for this reason where one of the two is None."""
    return Missing(why) if value is None or before is None else value - before


def account_lines(selection: Selection, ladder: list[LadderStep]) -> Iterator[AccountLine]:
    """Each rung, what is left over, and what was published."""
    rss_before = heap_before = None
    counts: set[int] = set()
    for number, rung in enumerate(ladder):
        series = find_series(selection, rung)
        runs, metered = (series.runs("rss"), series.runs("heap")) if series else ([], [])
        why = series.reason("rss") if series and not runs else "not measured at two N of 1,000 and more"
        unmetered = "no heap runs: the heap meter does not see its jemalloc" if "jemalloc" in rung.stack else why
        counts = counts or {run.sessions for run in runs}
        rss = slope(session_cost.medians(runs, resident(rung)))
        heap = slope(session_cost.medians(metered, requested(rung)))
        line = AccountLine(ladder[0], rung.what, amount(rss, why))
        if number:
            added, added_heap = difference(rss, rss_before, why), difference(heap, heap_before, unmetered)
            line = line._replace(added=added, added_heap=added_heap)
        yield line
        rss_before, heap_before = rss, heap
    yield from last_lines(ladder[0], rss_before, published_slope(ladder[0], counts))


def last_lines(first: LadderStep, reached: float | None, published: float | None) -> Iterator[AccountLine]:
    """What is left over, and what was published."""
    left = difference(published, reached, "the row above it is not measured")
    yield AccountLine(first, "not accounted for", added=left)
    share = None if published is None else replace_missing(map_present(PublishedShare, left / published), None)
    yield AccountLine(first, "published", amount(published, "not published at two of these N"), share)


def slope_cell(value: float | None) -> Cell:
    """Whole bytes; an empty cell where the line has no slope."""
    return text_cell("") if value is None else Cell(f"{value:,.0f}", round(value, 1))


def added_cell(value: float | PublishedShare | None) -> Cell:
    """Signed bytes, or a share in percent; an empty cell where the line has neither."""
    if isinstance(value, PublishedShare):
        return Cell(f"{100 * value.share:+.1f} % of it", round(value.share, 4))
    return text_cell("") if value is None else Cell(f"{value:+,.0f}", round(value, 1))


COLUMNS = (
    Column("suite", "suite", left=True, value=lambda line: line.first.suite),
    Column("stack", "stack", left=True, value=lambda line: line.first.stack),
    Column("what", "changed to match 2023", left=True, value=lambda line: line.what),
    Column("rss_bytes_per_session", "RSS, bytes per session", value=lambda line: line.rss, form=slope_cell),
    Column("added_bytes", "RSS adds", value=lambda line: line.added, form=added_cell),
    Column("added_heap_bytes", "live heap adds", value=lambda line: line.added_heap, form=added_cell),
)


def account_2023_table(selection: Selection) -> Table:
    """Ladders of stacks without runs have no rows."""
    selection = selection.where(lambda setting: is_one_process(setting) and setting.env == "lab")
    caption = (
        "Slopes of the peak over N from 1,000 on, in bytes per session. Each row includes the changes of the rows "
        "above it. RSS and live heap differ by pages that were never written and by memory that was used again."
    )
    table = Table("account", "From our figures to those published in 2023", caption, [*COLUMNS], headed=2)
    stacks = {one.stack for one in selection.records}
    for ladder in LADDERS:
        if ladder[0].stack in stacks and any(one.suite == ladder[0].suite for one in selection.settings):
            table.add_rows(account_lines(selection, ladder))
    return table
