"""Why the figures of 2023 differ from ours: what their programs did and ours does not, taken in one by one."""

from collections.abc import Callable
from dataclasses import dataclass

from tlsmem.schema.harness_output import Phase
from tlsmem.schema.records import Record
from tlsmem.stats import session_cost
from tlsmem.stats.selection import Selection
from tlsmem.stats.series import Series, is_one_process
from tlsmem.stats.session_cost import KIB
from tlsmem.tables.published import load_published_peaks
from tlsmem.tables.table import Cell, Column, Table, missing_cell, text_cell

FEWEST = 1_000  # sessions: fewer are told by what a process has anyway


@dataclass(frozen=True)
class LadderStep:
    """What it takes in beyond the one above; the stack and suite that have it too, and the last phase of then."""

    what: str
    stack: str
    suite: str
    last: str | None = "payload"


def openssl_ladder(suite: str, tickets: int) -> list[LadderStep]:
    plain, over_bios, chain = "openssl@3.2.0", "openssl+membio@3.2.0", f"{suite}-chain3"
    return [
        LadderStep("ours", plain, suite, None),
        LadderStep("no reply of 1 KiB", plain, suite),
        LadderStep("two memory BIOs a session", over_bios, suite),
        LadderStep("certificates of 4096, 3072 and 2048 bits, all three sent", over_bios, chain),
        LadderStep("OpenSSL's own number of tickets", over_bios, f"{chain}-tickets{tickets}"),
    ]


def rustls_ladder(suite: str) -> list[LadderStep]:
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
    names = [phase.phase for phase in run.phases]
    return run.phases[: names.index(last) + 1 if last in names else None]


def resident(rung: LadderStep) -> Callable[[Record], int]:
    return lambda run: max(phase.peak_rss_bytes for phase in phases_until(run, rung.last))


def requested(rung: LadderStep) -> Callable[[Record], int]:
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


def cell(value: float | None, why: str, sign: str = "") -> Cell:
    return missing_cell(why) if value is None else Cell(f"{value:{sign},.0f}", round(value, 1))


def difference_cell(value: float | None, before: float | None, first: bool, why: str) -> Cell:
    if first:
        return text_cell("")
    return cell(None if value is None or before is None else value - before, why, "+")


def ladder_rows(selection: Selection, ladder: list[LadderStep]) -> list[list[Cell]]:
    """Each rung, what is left over, and what was published."""
    made: list[list[Cell]] = []
    before: tuple[float | None, float | None] = (None, None)
    counts: set[int] = set()
    for number, rung in enumerate(ladder):
        series = find_series(selection, rung)
        runs, metered = (series.runs("rss"), series.runs("heap")) if series else ([], [])
        why = series.reason("rss") if series and not runs else "not measured at two N of 1,000 and more"
        counts = counts or {run.sessions for run in runs}
        rss, heap = (
            slope(session_cost.medians(runs, resident(rung))),
            slope(session_cost.medians(metered, requested(rung))),
        )
        unmetered = "no heap runs: its jemalloc is none that the heap meter sees" if "jemalloc" in rung.stack else why
        last = [
            cell(rss, why),
            difference_cell(rss, before[0], not number, why),
            difference_cell(heap, before[1], not number, unmetered),
        ]
        made.append([text_cell(ladder[0].suite), text_cell(ladder[0].stack), text_cell(rung.what), *last])
        before = rss, heap
    return made + ends(ladder[0], before[0], published_slope(ladder[0], counts))


def ends(first: LadderStep, reached: float | None, published: float | None) -> list[list[Cell]]:
    head = [text_cell(first.suite), text_cell(first.stack)]
    left = None if reached is None or published is None else published - reached
    why = "the line above it is not measured"
    share = (
        text_cell("")
        if left is None or published is None
        else Cell(f"{100 * left / published:+.1f} % of it", round(left / published, 4))
    )
    return [
        [*head, text_cell("not accounted for"), text_cell(""), cell(left, why, "+"), text_cell("")],
        [*head, text_cell("published"), cell(published, "not published at two N of these"), share, text_cell("")],
    ]


def account_2023_table(selection: Selection) -> Table:
    """Ladders of stacks without runs have no rows."""
    selection = selection.where(lambda setting: is_one_process(setting) and setting.env == "lab")
    columns = [Column(name, name, left=True) for name in ("suite", "stack")]
    columns += [Column("what", "and as then", left=True), Column("rss_bytes_per_session", "RSS, bytes per session")]
    columns += [Column("added_bytes", "RSS adds"), Column("added_heap_bytes", "live heap adds")]
    caption = (
        "Slopes of the peak over N from 1,000 on, bytes per session; each has what those above it have, too. RSS is "
        "what is resident, live heap what is requested: they differ by what nobody touches, and what is used again."
    )
    table = Table("account", "From ours to what was published in 2023", caption, columns, headed=2)
    there = {one.stack for one in selection.records}
    for ladder in LADDERS:
        if ladder[0].stack in there and any(one.suite == ladder[0].suite for one in selection.settings):
            table.rows += ladder_rows(selection, ladder)
    return table
