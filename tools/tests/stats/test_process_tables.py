"""Tables that grow with N are a row of their own; anything else that is left over is found as before."""

import pytest

from tests.support.synthetic import PHASES, record
from tests.tables.test_reconciliation import with_sites
from tlsmem.profile.heap_profile import LiveHeap
from tlsmem.schema.records import RecordLine
from tlsmem.selfcheck import audit, meter_agreement
from tlsmem.selfcheck.reference_profilers import SITES, Statement, Subject
from tlsmem.stats import process_tables, session_cost
from tlsmem.stats.process_tables import TableSize
from tlsmem.stats.selection import select
from tlsmem.store.read_runs import load_lines
from tlsmem.store.record import Record
from tlsmem.tables import heap

STACK, SUITE = "openssl@3.5.5", "tls13-rsa-aes256"
RSA = ["x", "memory", "certs=memtest/certs/rsa-2048"]
SIZES = {100: TableSize(1792, 1), 1000: TableSize(1792 * 15, 4)}  # of tables, by sessions
GROWN = PHASES[PHASES.index("client 1") : PHASES.index("freed")]


def planted(sessions: int, rest: TableSize, phases=GROWN, meter: str = "heap") -> RecordLine:
    """A run whose client's heap, in these phases and at their peaks, has so much besides."""
    run = record(STACK, SUITE, sessions, meter)
    changed = [phase.model_dump() for phase in run.phases]
    for phase in changed:
        for role in ("client", "total") if phase["phase"] in phases else ():
            for figure in ("live", "peak"):
                phase["heap"][role][f"{figure}_bytes"] += rest.bytes
                phase["heap"][role][f"{figure}_blocks"] += rest.blocks
    return RecordLine.model_validate(run.model_dump(by_alias=True) | {"phases": changed, "argv": RSA})


def runs(phases=GROWN, sizes=SIZES) -> tuple[Record, ...]:
    return tuple(load_lines(planted(sessions, rest, phases) for sessions, rest in sizes.items()))


def found(*records: RecordLine) -> list[str]:
    kinds = ("uneven", "state", "sites", "leak")
    return [one.split(":")[0] for one in audit.findings(records) if one.startswith(kinds)]


def test_figures_of_a_session_are_without_tables():
    plain = tuple(record(STACK, SUITE, sessions, "heap") for sessions in SIZES)
    alone = process_tables.remove_tables(runs())
    for role in ("client", "server", "total"):
        for phase in PHASES:
            assert session_cost.live_cost(*alone, role, phase) == session_cost.live_cost(*plain, role, phase), (
                role,
                phase,
            )
            assert session_cost.phase_peak_cost(*alone, role, phase) == session_cost.phase_peak_cost(
                *plain, role, phase
            ), (role, phase)
    assert found(*runs()) == []


def test_tables_are_a_row_of_the_table_and_named():
    made = heap.heap_costs(select(list(runs())))
    rows = made.rows
    row = dict(zip((column.key for column in made.columns), rows[-1], strict=True))
    shown = {"role": "rest", "sessions": "0 (0)", "peak": "25,088 (3)", "peak_phase": "server 1"}
    shown |= {"established": "25,088 (3)", "reply": "25,088 (3)"}
    assert {key: row[key].text for key in shown} == shown
    assert row["established"].value == {"bytes": 25_088, "blocks": 3, "over_sessions": 1}
    assert row["established"].note == f"in total, N = 1,000 minus N = 100: {process_tables.TABLE_NOTE}"
    plain = heap.heap_costs(select([record(STACK, SUITE, sessions, "heap") for sessions in SIZES])).rows
    assert [[cell.text for cell in row] for row in rows[:-1]] == [[cell.text for cell in row] for row in plain]


@pytest.mark.parametrize(
    "phases, sizes, kinds",
    [
        (GROWN[:-2], SIZES, ["uneven"]),  # gone when sessions are closed: it was a session's
        (
            GROWN,
            {100: TableSize(1792, 1), 1000: TableSize(1792 * 15, 11)},
            ["state", "uneven"],
        ),  # one in fifty: no table
        ((*GROWN, "freed"), SIZES, ["leak"]),  # of nobody when all is freed
    ],
)
def test_what_is_no_table_is_found(phases, sizes, kinds):
    assert sorted(found(*runs(phases, sizes))) == kinds


def make_sites_run(phases=GROWN, alike: int = 48) -> RecordLine:
    """48 pairs of 50 are alike, and two have blocks besides."""
    run = planted(100, TableSize(0, 0), ())
    changes = {phase.phase: phase.heap for phase in planted(100, TableSize(5376, 2), phases).phases}
    run = with_sites(run, alike=alike)
    grown = [phase.model_dump() | {"heap": changes[phase.phase].model_dump()} for phase in run.phases]
    for phase in grown:
        if phase["phase"] not in phases:
            phase["sites"] |= {"alike": 50, "identical": 50}
    return RecordLine.model_validate(run.model_dump(by_alias=True) | {"phases": grown})


def test_a_sites_run_has_the_rest_and_no_finding():
    assert list(audit.account_findings(make_sites_run())) == []


@pytest.mark.parametrize(
    "run, said",
    [
        (make_sites_run(alike=47), "`client 1`: 3 of 50 pairs are not like"),
        (make_sites_run(GROWN[:-2]), "`client 1`: 2 of 50 pairs are not like"),
        (make_sites_run(GROWN[:-2]), "`client 1`: 50 pairs of "),
    ],
)
def test_pairs_and_rests_that_no_table_explains_are_sentences(run, said):
    assert any(said in one for one in audit.account_findings(run))


LIVE = {"contexts": (100, 1), "sessions": (1100, 11), "client 1": (2892, 12), "closed": (1892, 2), "freed": (50, 0)}
OF_PAIRS = {"contexts": (0, 0), "sessions": (1000, 10), "client 1": (1000, 10), "closed": (0, 0)}


def told(at_closed: tuple[int, int] = LIVE["closed"]) -> list[Statement]:
    """One block of 1,792 bytes is no pair's, from `client 1` on."""
    of_all = {phase: LiveHeap(*held) for phase, held in (LIVE | {"closed": at_closed}).items()}
    of_pairs = {phase: LiveHeap(*held) for phase, held in OF_PAIRS.items()}
    others = [Statement(tool, of_all) for tool in ("heap meter", "heaptrack", "DHAT")]
    return [others[0], Statement(SITES, of_pairs), *others[1:]]


def test_a_selfcheck_tells_tables_from_what_the_sites_run_does_not_see():
    subject = Subject(STACK, SUITE, 4)
    assert meter_agreement.disagreements(subject, told()) == []
    rows = meter_agreement.table({subject: told()}).rows
    assert [row[7].text for row in rows] == ["0", "0", "1,792", "1,792", "0"]
    assert [row[9].text for row in rows][1:4] == ["500", "500", "0"]  # per pair
    (said,) = meter_agreement.disagreements(subject, told(at_closed=(100, 1)))  # gone with its session
    assert said == (
        "sites run: openssl@3.5.5, tls13-rsa-aes256: client 1: 1,000 B in 10 blocks, but most tell 2,792 B in 11 blocks"
    )
