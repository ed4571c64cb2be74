"""Whether tools agree, to the byte, about what is live at the end of each phase; and who does not."""

from collections import Counter
from collections.abc import Iterable, Sequence

from tlsmem.selfcheck.reference_profilers import DHAT, SITES, Constant, Reading, Statement, Subject
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


def truth(statements: Sequence[Statement], phase: str) -> tuple[int | None, int | None]:
    """Bytes as most tools tell that tell of the whole process, and blocks as most of those; None: no majority."""
    said = [one.by_phase[phase] for one in statements if one.tool != SITES and phase in one.by_phase]
    live_bytes = agreed(one.live_bytes for one in said)
    believed = [one.live_blocks for one in said if one.live_bytes == live_bytes and one.live_blocks is not None]
    return live_bytes, agreed(believed)


def expected(one: Statement, statements: Sequence[Statement], phase: str, pairs: int) -> tuple[int | None, int | None]:
    """What this tool should tell; the sites run tells of pairs alone, and not of tables that are no pair's."""
    if one.tool != SITES:
        return truth(statements, phase)
    rest = process_wide_rests(statements, pairs).get(phase, TableSize(0, 0))
    found = zip(above(statements, phase), rest, strict=True)
    return tuple(None if of_all is None else of_all - of_tables for of_all, of_tables in found)


def above(statements: Sequence[Statement], phase: str) -> tuple[int | None, int | None]:
    """What most tell, above contexts."""
    pairs = zip(truth(statements, phase), truth(statements, FIRST), strict=True)
    return tuple(None if None in pair else pair[0] - pair[1] for pair in pairs)


def process_wide_rests(statements: Sequence[Statement], pairs: int) -> dict[str, TableSize]:
    """Of phases, tables of the library's own: what most tell beyond the pairs; empty where it is anything else."""
    told = next((one.by_phase for one in statements if one.tool == SITES), {})
    phases = [phase for phase in statements[0].by_phase if phase not in WITHOUT_PAIRS]
    if LAST not in phases or any(phase not in told or None in above(statements, phase) for phase in phases):
        return {}
    found = {}
    for phase in phases:
        live_bytes, live_blocks = above(statements, phase)
        found[phase] = TableSize(live_bytes - told[phase].live_bytes, live_blocks - told[phase].live_blocks)
    return found if are_tables(list(found.values()), pairs) else {}


def differs(said: Reading, right: tuple[int | None, int | None]) -> bool:
    return said.live_bytes != right[0] or said.live_blocks not in (None, right[1])


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
            right = Reading(*expected(one, statements, wrong[0], pairs))
            said = text(one.by_phase.get(wrong[0]))
            found.append(f"{one.tool}: {subject}: {wrong[0]}: {said}, but most tell {text(right)}{and_more(wrong)}")
    return found


def and_more(phases: Sequence[str]) -> str:
    return f"; and so in {len(phases) - 1} more phases" if len(phases) > 1 else ""


def text(said: Reading | None) -> str:
    if said is None:
        return "nothing"
    blocks = "" if said.live_blocks is None else f" in {said.live_blocks:,} blocks"
    return f"{said.live_bytes:,} B{blocks}"


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
    right, blocks = truth(statements, phase)
    before = truth(statements, FIRST)[0]
    pairs = subject.sessions // 2
    none = missing_cell("the tools do not agree")
    rest = process_wide_rests(statements, pairs).get(phase, TableSize(0, 0))
    each = none if None in (right, before) else quotient_cell(right - before - rest.bytes, pairs)
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
    return (
        Cell(f"{said.live_bytes:,}", said.live_bytes)
        if said
        else missing_cell(f"{one.tool} was not asked, or did not tell")
    )


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
