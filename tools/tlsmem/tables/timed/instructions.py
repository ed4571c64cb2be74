"""Instructions of one round, by part: they hardly vary, and so tell small changes of one library."""

from collections.abc import Callable

from tlsmem.config import timed_matrix
from tlsmem.schema.records import Record
from tlsmem.schema.timed_record import Instructions
from tlsmem.stats.session_cost import MIB
from tlsmem.stats.timed_selection import TimedSelection, TimedSeries
from tlsmem.tables.table import Cell, Column, Table, missing_cell, percent, text_cell
from tlsmem.tables.timed import shared_columns
from tlsmem.tables.timed.latency import PARTS_BY_SCENARIO
from tlsmem.tables.timed.ratios import PART_NAMES

UNITS = {"throughput": "MiB", "handshake": "handshake"}
HEADINGS = {"each": "instructions", "new": "construction", "free": "freeing", "cipher_percent": "its cipher"}
CAPTION = (
    "Instructions that one thread executed in user space for a MiB of application data, or a handshake; of transfers "
    "without the wire's copying. Its cipher: as many bytes sealed by the library's own AEAD, by what sending takes. "
    "Counted by callgrind, as the difference of two runs with other rounds. For one library against itself: what it "
    "runs on there is a CPU without {}, so that other code may run than in the timed runs, and counts no instruction's "
    "time; and a copy by rep movsb, as of large blocks, counts as an instruction a byte."
)
WIRE = {"send": "wire_write", "receive": "wire_read"}  # of transfers, where each is all of one part
NO_AEAD = "its driver has no AEAD to call directly"
NOT_COUNTED = "not counted"
OF_HANDSHAKES = "counted of handshakes only"
OF_SENDING = "counted of sending only"


def instructions_per_unit(record: Record, part: str) -> float | None:
    """Of a handshake, or of a MiB without the wire's copying."""
    assert record.instructions
    counted: dict[str, float] = dict(record.instructions.parts.items())
    if part not in counted or record.scenario == "handshake":
        return counted.get(part)
    assert record.size_bytes
    own = counted[part] - (counted.get(WIRE[part], 0) if part in WIRE else 0)
    return own * MIB / (timed_matrix.writes_per_round(record.size_bytes) * record.size_bytes)


def share(record: Record, part: str) -> float | None:
    if part != "send":
        return None
    seal, sending = instructions_per_unit(record, "seal"), instructions_per_unit(record, part)
    return None if seal is None or sending is None else 100 * seal / sending


def count(value: float) -> Cell:
    return Cell(f"{value:,.0f}", round(value, 1))


def percentage(value: float) -> Cell:
    return Cell(percent(value / 100), round(value, 3))


def row(series: TimedSeries, part: str) -> list[Cell]:
    runs = series.runs()
    if not runs:
        return [missing_cell(series.reason())] * len(HEADINGS)

    def cell(value: float | None, lacking: str, shown: Callable[[float], Cell] = count) -> Cell:
        return missing_cell(lacking) if value is None else shown(value)

    (*_, run) = runs
    around = [cell(instructions_per_unit(run, f"{part}_{end}"), OF_HANDSHAKES) for end in ("new", "free")]
    cipher = cell(share(run, part), NO_AEAD if part == "send" else OF_SENDING, percentage)
    return [cell(instructions_per_unit(run, part), NOT_COUNTED), *around, cipher]


def hidden(timed: TimedSelection) -> str:
    counted: list[Instructions] = [one.instructions for one in timed.records if one.instructions]
    return "; ".join(dict.fromkeys(f"{one.hides} ({one.tool})" for one in counted)) or "what valgrind hides"


def instructions(timed: TimedSelection) -> Table:
    timed = timed.counted or timed.where(lambda _: False)
    columns = [
        *shared_columns.work_columns(timed),
        Column("part", "part", left=True),
        Column("stack", "stack", left=True),
    ]
    headed = len(columns) - 1
    columns += [Column("unit", "for each", left=True), *(Column(key, heading) for key, heading in HEADINGS.items())]
    caption = " ".join(filter(None, [CAPTION.format(hidden(timed)), shared_columns.describe_common_work(timed)]))
    made = Table("instructions", "Instructions", caption, columns, headed=headed)
    for work in timed.works:
        for part in PARTS_BY_SCENARIO[work.scenario]:
            for series in timed.series_of_work(work):
                named = [*shared_columns.work_cells(timed, work), text_cell(PART_NAMES[part]), text_cell(series.stack)]
                made.rows.append([*named, text_cell(UNITS[work.scenario]), *row(series, part)])
    return made
