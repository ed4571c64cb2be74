"""Whether tools agree, to the byte, about what is live at the end of each phase; and who does not."""

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from tlsmem.profile.heap_profile import LiveHeap
from tlsmem.selfcheck.reference_profilers import DHAT, SITES, Constant, Statement, Subject
from tlsmem.stats.process_tables import TABLE_NOTE, TableSize, are_tables
from tlsmem.tables.table import Cell, Heading, Table, missing_cell, quotient_cell, text_cell

WITHOUT_PAIRS = ("contexts", "freed")  # what differs from `contexts` here is no pair's
FIRST, LAST = "contexts", "closed"
CAPTION = "Live requested bytes at the end of each phase, as each tool reports them; per pair: above contexts."


def agreed(values: Iterable[int]) -> int | None:
    """What more than half of them say."""
    counts = Counter(values)
    value, count = counts.most_common(1)[0] if counts else (None, 0)
    return value if 2 * count > counts.total() else None


class Majority(NamedTuple):
    """Live bytes and blocks as most tools tell; None: no majority."""

    bytes: int | None
    blocks: int | None

    def above(self, other: "Majority | TableSize") -> "Majority":
        return Majority(difference(self.bytes, other.bytes), difference(self.blocks, other.blocks))


def difference(one: int | None, other: int | None) -> int | None:
    return None if one is None or other is None else one - other


def truth(statements: Sequence[Statement], phase: str) -> Majority:
    """Bytes as most tools tell that tell of the whole process, and blocks as most of those."""
    said = [one.by_phase[phase] for one in statements if one.tool != SITES and phase in one.by_phase]
    live_bytes = agreed(one.bytes for one in said)
    believed = [one.blocks for one in said if one.bytes == live_bytes and one.blocks is not None]
    return Majority(live_bytes, agreed(believed))


def expected(one: Statement, statements: Sequence[Statement], phase: str, pairs: int) -> Majority:
    """What this tool should tell; the sites run tells of pairs alone, and not of tables that are no pair's."""
    if one.tool != SITES:
        return truth(statements, phase)
    rest = process_wide_rests(statements, pairs).get(phase, TableSize(0, 0))
    return above(statements, phase).above(rest)


def above(statements: Sequence[Statement], phase: str) -> Majority:
    """What most tell, above contexts."""
    return truth(statements, phase).above(truth(statements, FIRST))


def process_wide_rests(statements: Sequence[Statement], pairs: int) -> dict[str, TableSize]:
    """Of phases, tables of the library's own: what most tell beyond the pairs; empty where it is anything else."""
    told = next((one.by_phase for one in statements if one.tool == SITES), {})
    phases = [phase for phase in statements[0].by_phase if phase not in WITHOUT_PAIRS]
    if LAST not in phases or any(phase not in told for phase in phases):
        return {}
    found: dict[str, TableSize] = {}
    for phase in phases:
        rest = above(statements, phase).above(Majority(*told[phase]))
        if rest.bytes is None or rest.blocks is None:
            return {}
        found[phase] = TableSize(rest.bytes, rest.blocks)
    return found if are_tables(list(found.values()), pairs) else {}


def differs(said: LiveHeap, right: Majority) -> bool:
    return said.bytes != right.bytes or said.blocks not in (None, right.blocks)


def judged_phases(one: Statement, phases: Iterable[str]) -> list[str]:
    """Phases of which a tool must tell: of a DHAT run, those that it was asked for."""
    asked = {DHAT: one.by_phase, SITES: [phase for phase in phases if phase not in WITHOUT_PAIRS]}.get(one.tool, phases)
    return [phase for phase in phases if phase in asked]


def disagreements(subject: Subject, statements: Sequence[Statement]) -> list[str]:
    """A sentence for each tool that differs from what most tell, which begins with its name; none when all agree."""
    phases, pairs = list(statements[0].by_phase), subject.sessions // 2
    split = [phase for phase in phases if None in truth(statements, phase)]
    if split:
        told = ", ".join(f"{one.tool} {text(one.by_phase.get(split[0]))}" for one in statements if one.tool != SITES)
        return [f"no two agree: {subject}: {split[0]}: {told}{and_more(split)}"]
    found = []
    for one in statements:
        wrong = [
            phase
            for phase in judged_phases(one, phases)
            if phase not in one.by_phase or differs(one.by_phase[phase], expected(one, statements, phase, pairs))
        ]
        if wrong:
            right = expected(one, statements, wrong[0], pairs)
            said = text(one.by_phase.get(wrong[0]))
            found.append(f"{one.tool}: {subject}: {wrong[0]}: {said}, but most tell {text(right)}{and_more(wrong)}")
    return found


def and_more(phases: Sequence[str]) -> str:
    return f"; and so in {len(phases) - 1} more phases" if len(phases) > 1 else ""


def text(said: LiveHeap | Majority | None) -> str:
    if said is None or said.bytes is None:
        return "nothing"
    blocks = "" if said.blocks is None else f" in {said.blocks:,} blocks"
    return f"{said.bytes:,} B{blocks}"


def table(found: dict[Subject, list[Statement]]) -> Table:
    """A row per suite, stack and phase."""
    tools = list(dict.fromkeys(one.tool for statements in found.values() for one in statements))
    columns = [Heading(name, name, left=True) for name in ("suite", "stack", "phase")]
    columns += [Heading(key(tool), heading(tool)) for tool in tools]
    columns += [Heading("rest_bytes", "no pair's", usual="0"), Heading("live_blocks", "blocks")]
    columns += [Heading("bytes_per_pair", "B per pair"), Heading("equal", "equal")]
    rows = [
        row(subject, statements, phase) for subject, statements in found.items() for phase in statements[0].by_phase
    ]
    return Table("agreement", "One run, as each tool reports it", CAPTION, columns, rows)


def key(tool: str) -> str:
    return f"{tool.lower().replace(' ', '_')}_bytes"


def heading(tool: str) -> str:
    return f"{tool}, pairs" if tool == SITES else tool


def row(subject: Subject, statements: Sequence[Statement], phase: str) -> list[Cell]:
    blocks, more = truth(statements, phase).blocks, above(statements, phase).bytes
    pairs = subject.sessions // 2
    none = missing_cell("the tools do not agree")
    rest = process_wide_rests(statements, pairs).get(phase, TableSize(0, 0))
    each = none if more is None else quotient_cell(more - rest.bytes, pairs)
    equal = all(
        phase in one.by_phase and not differs(one.by_phase[phase], expected(one, statements, phase, pairs))
        for one in statements
        if phase in judged_phases(one, [phase])
    )
    cells = [text_cell(subject.suite), text_cell(subject.stack), text_cell(phase)]
    cells += [number(one, phase) for one in statements]
    cells += [Cell(f"{rest.bytes:,}", rest.bytes, TABLE_NOTE if rest.bytes else None)]
    cells += [none if blocks is None else Cell(f"{blocks:,}", blocks)]
    cells += [
        each if phase not in WITHOUT_PAIRS else missing_cell("no pair is live here, and contexts are not a pair's")
    ]
    return [*cells, Cell("yes" if equal else "NO", equal)]


def number(one: Statement, phase: str) -> Cell:
    said = one.by_phase.get(phase)
    return Cell(f"{said.bytes:,}", said.bytes) if said else missing_cell(f"{one.tool} was not asked, or did not tell")


def describe_constants(found: dict[Subject, list[Statement]]) -> list[str]:
    """Each known constant once, as a sentence."""
    told = (one for statements in found.values() for one in statements)
    constants: dict[tuple[str, Constant], None] = {(one.tool, each): None for one in told for each in one.constants}
    return [
        f"{tool}: {-constant.live_bytes:+,} B{in_blocks(constant.live_blocks)}: {constant.name}"
        for tool, constant in constants
    ]


def in_blocks(count: int | None) -> str:
    return "" if count is None else f" in {-count:+,} block{'s' * (abs(count) != 1)}"
