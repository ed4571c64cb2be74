"""Instructions of one handshake, or of a MiB of application data, by part, as callgrind counted
them: they hardly vary, and so tell small changes of one library."""

from collections.abc import Callable
from dataclasses import dataclass

from tlsmem.config import timed_matrix
from tlsmem.schema.timed_record import Instructions
from tlsmem.stats.missing import Missing
from tlsmem.stats.session_cost import MIB
from tlsmem.stats.timed_selection import TimedSelection
from tlsmem.store.record import Record
from tlsmem.tables.table import Cell, Column, Table, percent
from tlsmem.topics.timing.captions import describe_common_work, join_sentences
from tlsmem.topics.timing.harness_overhead import WIRE_OF_PART
from tlsmem.topics.timing.rows import PART_NAME, STACK, PartRow, part_rows, work_columns


def instructions_per_unit(record: Record, part: str) -> float | None:
    """Return the instructions of a part per handshake, or per MiB without the wire's copying; None where not counted.

    The run must be one under callgrind."""
    assert record.instructions
    counted: dict[str, float] = dict(record.instructions.parts.items())
    if part not in counted or record.scenario == "handshake":
        return counted.get(part)
    assert record.size_bytes
    own = counted[part] - (counted.get(WIRE_OF_PART[part], 0) if part in WIRE_OF_PART else 0)
    return own * MIB / (timed_matrix.writes_per_round(record.size_bytes) * record.size_bytes)


def cipher_share(record: Record) -> float | None:
    """Return the share of the instructions of sending that the library's own AEAD takes for as many bytes."""
    seal, sending = instructions_per_unit(record, "seal"), instructions_per_unit(record, "send")
    return None if seal is None or sending is None else seal / sending


UNITS = {"throughput": "MiB", "handshake": "handshake"}
CAPTION = (
    "Instructions that one thread executes in user space per MiB of application data, or per handshake; transfers "
    "exclude the wire's copying. Its cipher: as many bytes sealed by the library's own AEAD, relative to sending. "
    "callgrind counts them as the difference of two runs with different rounds. Compare one library with itself only: "
    "it runs on a CPU without {}, so other code may run than in the timed runs; callgrind counts instructions, not "
    "their time; and a copy by rep movsb, as of large blocks, counts as one instruction per byte."
)
NO_AEAD = "its driver has no AEAD to call directly"
NOT_COUNTED = "not counted"
OF_HANDSHAKES = "counted of handshakes only"
OF_SENDING = "counted of sending only"


@dataclass(frozen=True)
class InstructionRow(PartRow):
    def count(self, figure: Callable[[Record], float | None], otherwise: str) -> float | Missing:
        """The figure of the last run; `otherwise` says why that does not have it."""
        runs = self.series.runs()
        if not runs:
            return Missing(self.series.reason())
        value = figure(runs[-1])
        return Missing(otherwise) if value is None else value

    def instructions(self, step: str, otherwise: str) -> float | Missing:
        return self.count(lambda run: instructions_per_unit(run, f"{self.part}{step}"), otherwise)

    @property
    def cipher_share(self) -> float | Missing:
        sends = self.part == "send"
        return self.count(cipher_share if sends else lambda _: None, NO_AEAD if sends else OF_SENDING)


def count_cell(value: float) -> Cell:
    return Cell(f"{value:,.0f}", round(value, 1))


def share_cell(share: float) -> Cell:
    return Cell(percent(share), round(100 * share, 3))


COLUMNS = (
    Column("unit", "for each", left=True, value=lambda row: UNITS[row.work.scenario]),
    Column("each", "instructions", value=lambda row: row.instructions("", NOT_COUNTED), form=count_cell),
    Column("new", "construction", value=lambda row: row.instructions("_new", OF_HANDSHAKES), form=count_cell),
    Column("free", "freeing", value=lambda row: row.instructions("_free", OF_HANDSHAKES), form=count_cell),
    Column("cipher_percent", "its cipher", value=lambda row: row.cipher_share, form=share_cell),
)


def hidden_features(timed: TimedSelection) -> str:
    counted: list[Instructions] = [one.instructions for one in timed.records if one.instructions]
    return "; ".join(dict.fromkeys(f"{one.hides} ({one.tool})" for one in counted)) or "what valgrind hides"


def instructions(timed: TimedSelection) -> Table:
    timed = timed.counted or timed.where(lambda _: False)
    work = work_columns(timed)
    caption = join_sentences(CAPTION.format(hidden_features(timed)), describe_common_work(timed))
    columns = [*work, PART_NAME, STACK, *COLUMNS]
    table = Table("instructions", "Instructions", caption, columns, headed=len(work) + 1)
    table.add_rows(part_rows(timed, InstructionRow))
    return table
