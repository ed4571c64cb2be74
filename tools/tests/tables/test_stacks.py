"""The table of all stacks: figures, order, what has no row, and stacks that the heap meter does not see."""

import csv
import io
import random

import pytest
import rich.console
from hypothesis import given
from hypothesis import strategies as some

from tests.support import synthetic
from tlsmem.schema.records import Phase, RecordLine
from tlsmem.stats.allocator_statistics import RETURNED_MEMORY_NOTE
from tlsmem.stats.selection import select
from tlsmem.tables import catalogue, render
from tlsmem.tables import stacks as standings
from tlsmem.tables.table import Cell, Table

OPENSSL, RUSTLS, BORING = "openssl@3.5.5", "rustls+aws-lc@0.23.46", "boringssl@5.4.0"
CLASSIC, PQ = "tls13-rsa-aes256", "tls13-rsa-aes256-pq"
SIZES = {RUSTLS: ("11,200", "13,400", "9,200"), BORING: ("7,000", "30,000", "21,000")}
SIZES |= {OPENSSL: ("9,000", "75,000", "64,000")}  # of clients: created, at the peak, established


LIVE = ("created", "peak", "established")


def split(*stacks: str, suites=(CLASSIC,), factors=(1.0,)) -> list[RecordLine]:
    runs = synthetic.campaign(stacks, suites, roles="split")
    return [synthetic.scaled(run, factor, at) for at, factor in enumerate(factors, start=1) for run in runs]


def shown(records: list[RecordLine], **asked) -> Table:
    return standings.stack_table(select(records, **asked))


def by_key(table: Table) -> list[dict[str, Cell]]:
    """Rows as cells by the key of their column, so that a column can be added."""
    return [dict(zip((column.key for column in table.columns), row, strict=True)) for row in table.rows]


def texts(table: Table, *names: str) -> list[tuple[str, ...]]:
    return [tuple(row[name].text for name in names) for row in by_key(table)]


def test_live_heap_is_that_of_the_role_and_the_smallest_comes_first():
    table = shown(split(OPENSSL, BORING, RUSTLS))
    found = texts(table, "role", "stack", "created", "peak", "established")
    assert found[:3] == [("client", stack, *sizes) for stack, sizes in SIZES.items()]
    assert [row[:2] for row in found[3:]] == [("server", stack) for stack in SIZES]
    assert found[5][2:] == ("9,100", "82,000", "52,000")


def test_order_is_by_suite_and_role():
    other = [run.model_copy(update={"suite": PQ}) for run in split(OPENSSL)]
    cheap = [run.model_copy(update={"suite": PQ, "stack": BORING}) for run in split(RUSTLS)]
    table = shown([*split(OPENSSL, BORING), *other, *cheap])
    assert texts(table, "suite", "role", "stack") == [
        (suite, role, stack) for suite in (CLASSIC, PQ) for role in ("client", "server") for stack in (BORING, OPENSSL)
    ]


@pytest.mark.thorough
@given(some.lists(some.integers(1, 10**5), min_size=3, max_size=3), some.randoms())
def test_any_order_of_records_gives_the_same_rows(extra: list[int], shuffled: random.Random):
    """`extra` bytes are in the larger heap run of each stack: costs are no whole numbers then."""
    runs = [
        synthetic.record(stack, CLASSIC, sessions, "heap", more if sessions == 1000 else 0, roles="split")
        for stack, more in zip(SIZES, extra, strict=True)
        for sessions in (100, 1000)
    ]
    table = shown(runs)
    sizes = [row["established"].value for row in by_key(table)[:3]]
    exact = [size["bytes"] + size["bytes_remainder"] / size["over_sessions"] for size in sizes]
    assert exact == sorted(exact)
    shuffled.shuffle(runs)
    assert texts(shown(runs), "stack", "established") == texts(table, "stack", "established")


def test_what_is_not_whole_is_rounded_and_told():
    runs = [synthetic.record(OPENSSL, CLASSIC, n, "heap", 400 * (n > 100), roles="split") for n in (100, 1000)]
    cell = by_key(shown(runs))[0]["established"]
    assert (cell.text, cell.note) == ("64,001", standings.ROUNDED_NOTE)
    assert cell.value == {"bytes": 64_000, "bytes_remainder": 400, "over_sessions": 450}


def test_the_slope_of_rss_has_an_interval_over_repeats(snapshot):
    def cell(*factors: float):
        return by_key(shown(split(OPENSSL, factors=factors)))[0]["rss_established"]

    size = cell(0.99, 1.0, 1.01).value
    assert size["bytes"] == pytest.approx(70_400, abs=2)
    assert size["low_bytes"] == pytest.approx(0.99 * 70_400, rel=2e-3)
    assert size["high_bytes"] == pytest.approx(1.01 * 70_400, rel=2e-3)
    half = max(size["high_bytes"] - size["bytes"], size["bytes"] - size["low_bytes"])
    assert cell(0.99, 1.0, 1.01).text == f"{size['bytes']:,.0f} ± {half:,.0f}"
    assert cell(1.0, 1.0).text == f"{size['bytes']:,.0f} ± 0"
    assert cell(1.0).text == f"{size['bytes']:,.0f}"
    assert cell(1.0).note == snapshot


def sites_run(stack: str, function: str, owned: dict[str, int]) -> RecordLine:
    """In which a session of each role holds one block when it is established, allocated within this function."""
    run = synthetic.record(OPENSSL, CLASSIC, 100, "sites", roles="split").model_dump(by_alias=True)
    run |= {"stack": stack, "sites": {"frames": [], "stacks": [[0]]}}
    run["sites"]["frames"] = [{"function": function, "file": None, "line": None, "module": "m", "offset": 1}]
    for phase in run["phases"]:
        held = owned.get(phase["process"], 0) if phase["phase"] == "established" else 0
        live = {"role": phase["process"], "since": "sessions", "stack": 0, "blocks": 1, "bytes": held}
        phase["sites"]["live"] = [live] if held else []
    return RecordLine.model_validate(run)


def test_what_the_caller_owns_of_an_established_session_is_told(snapshot):
    bearssl = [run.model_copy(update={"stack": "bearssl@0.6"}) for run in split(OPENSSL)]
    run = sites_run("bearssl@0.6", "record_buffer_new", {"client": 33_178, "server": 16_709})
    said = [row["established"] for row in by_key(shown([*bearssl, run]))]
    assert [cell.note for cell in said] == [standings.OWNED.format(size) for size in (33_178, 16_709)]
    assert " 33,178 B " in said[0].note
    assert said[0].note == snapshot
    assert [cell.text for cell in said] == ["64,000", "52,000"]


@pytest.mark.parametrize("function", ["validator_new", None])
def test_without_a_block_of_the_callers_or_a_sites_run_nothing_is_told(function):
    bearssl = [run.model_copy(update={"stack": "bearssl@0.6"}) for run in split(OPENSSL)]
    runs = [sites_run("bearssl@0.6", function, {"client": 1000, "server": 1000})] if function else []
    assert [row["established"].note for row in by_key(shown([*bearssl, *runs]))] == [None, None]


def test_c10k_is_of_one_role_and_marked_where_it_is_from_the_fit():
    cell = by_key(shown(split(OPENSSL)))[0]["c10k"]
    peak = 9 + 75_000 * 1.1 * 10_000 / 2**20  # MiB
    assert cell.value == {"mib": pytest.approx(peak, abs=0.1), "origin": "from the fit"}
    assert cell.text == f"≈ {peak:,.0f}"
    runs = synthetic.campaign([OPENSSL], [CLASSIC], (100, 1000, 20_000), roles="split")
    assert by_key(shown(runs))[0]["c10k"].value["origin"] == "measured"


def test_one_process_for_both_roles_has_no_rss_of_either():
    row = by_key(shown(synthetic.campaign([OPENSSL], [CLASSIC])))[0]
    assert row["rss_established"].note == row["c10k"].note == standings.NEEDS_SPLIT_ROLES
    assert row["established"].text == "64,000"


def test_what_a_stack_cannot_do_is_told_once_and_has_no_row():
    why = "Example 2.28: no TLS 1.3 (TLSv1.3, TLS_AES_256_GCM_SHA384, X25519)"
    refused = [
        synthetic.failed(BORING, suite, n, why, "unsupported").model_copy(update={"roles": "split"})
        for suite in (CLASSIC, PQ)
        for n in synthetic.COUNTS
    ]
    lost = synthetic.failed(RUSTLS, PQ, 100, "killed by SIGKILL").model_copy(update={"roles": "split"})
    table = shown([*split(OPENSSL, RUSTLS), *refused, lost])
    assert {stack for (stack,) in texts(table, "stack")} == {OPENSSL, RUSTLS}
    assert table.without == [
        f"{BORING} in {CLASSIC}, {PQ}: Example 2.28: no TLS 1.3",
        f"{OPENSSL} in {PQ}: not measured",
        f"{RUSTLS} in {PQ}: failed: killed by SIGKILL",
    ]
    made = render.markdown(table)
    assert f"\n\nWithout a row:\n\n- {BORING} in {CLASSIC}, {PQ}: Example 2.28: no TLS 1.3\n- " in made
    assert render.structure(table)["without"] == table.without


def with_books(run: RecordLine, books) -> RecordLine:
    """Books of each phase, by its name and how many sessions of the role there are."""
    phases = [phase.model_copy(update={"allocator": books(phase, run.sessions // 2)}) for phase in run.phases]
    return run.model_copy(update={"phases": phases})


def of_runtime(sizes: dict[str, int]):
    """Books of Go's by phase: bytes per session, of which 100 are of stacks; by themselves they hold a megabyte."""

    def books(phase: Phase, sessions: int) -> dict:
        size = sizes.get(phase.phase, 100) * sessions
        return {"go": {"live_bytes": 10**6 + size - 100 * sessions, "stack_inuse_bytes": 100 * sessions}}

    return books


def test_a_runtime_of_its_own_tells_what_is_live_at_the_ends_of_phases():
    sizes = {"sessions": 1_000, "client 1": 9_000, "established": 5_000}
    runs = [run for run in split(RUSTLS) if run.meter == "rss"]
    books = lambda phase, n: {"go": {"live_bytes": sizes.get(phase.phase, 0) * n, "stack_inuse_bytes": 10**6}}  # noqa: E731
    row = by_key(shown([*(with_books(run, books) for run in runs), *split(BORING)]))[0]
    live = [row[key] for key in LIVE]
    assert [row["stack"].text, *(cell.text for cell in live)] == [RUSTLS, "1,000", "9,000", "5,000"]
    assert row["established"].value == {"bytes": 5000.0}
    assert [cell.note for cell in live] == [standings.RUNTIME_NOTE, standings.RUNTIME_PEAK, standings.RUNTIME_NOTE]


def test_of_an_allocator_that_is_not_seen_there_is_rss_only_and_it_comes_last(snapshot):
    runs = [run for run in split(RUSTLS) if run.meter == "rss"]
    books = {"glibc": {"uordblks_bytes": 1}, "jemalloc-rust": {"allocated_bytes": 1}}
    seen, unseen, *_ = by_key(shown([*(with_books(run, lambda *_: books) for run in runs), *split(OPENSSL)]))
    assert (seen["stack"].text, unseen["stack"].text) == (OPENSSL, RUSTLS)
    (note,) = {unseen[key].note for key in LIVE}
    assert "jemalloc-rust" in note
    assert note == snapshot
    assert unseen["rss_established"].text.startswith("10,1")


def test_figures_for_programs_have_their_units():
    rows = list(csv.DictReader(io.StringIO(render.comma_separated(shown(split(OPENSSL, factors=(1.0, 1.01)))))))
    assert (rows[0]["established_bytes"], rows[0]["established_over_sessions"]) == ("64000", "450")
    assert {"rss_established_bytes", "rss_established_low_bytes", "c10k_mib", "c10k_origin"} <= rows[0].keys()


def test_a_terminal_of_100_columns_has_suite_and_role_above_the_rows():
    runs = split(OPENSSL, BORING, factors=(1.0, 1.01))
    long = [run.model_copy(update={"stack": "rustls+aws-lc+jemalloc-rust@0.23.46"}) for run in split(RUSTLS)]
    file = io.StringIO()
    render.terminal(shown([*runs, *long]), rich.console.Console(file=file, width=100))
    lines = [" ".join(line.split()) for line in file.getvalue().splitlines()]
    assert f"{CLASSIC}, client" in lines and f"{CLASSIC}, server" in lines
    assert [line for line in lines if line.startswith("rustls+aws-lc+jemalloc-rust@0.23.46 11,200 13,400 9,200 10,1")]


def test_many_stacks_are_shown_in_one_table_and_few_in_others():
    many = [f"{BORING}{number}" for number in range(catalogue.FEW)]
    runs = split(OPENSSL) + [run.model_copy(update={"stack": name}) for name in many for run in split(BORING)]
    assert [table.name for table in catalogue.build(select(runs))] == ["settings", "stacks"]
    few = [run for run in runs if run.stack != OPENSSL]
    names = [table.name for table in catalogue.build(select(few))]
    assert "stacks" not in names and "roles" in names


def test_resident_figures_of_a_runtime_say_that_it_gave_back_what_was_free(snapshot):
    runs = [with_books(run, of_runtime({})) for run in split(OPENSSL)]
    row = by_key(shown(runs))[0]
    assert row["rss_established"].note.endswith(RETURNED_MEMORY_NOTE)
    assert row["c10k"].note.endswith(f"; {RETURNED_MEMORY_NOTE}")
    assert row["c10k"].note == snapshot
    measured = synthetic.campaign([OPENSSL], [CLASSIC], (100, 1000, 20_000), roles="split")
    row = by_key(shown([with_books(run, of_runtime({})) for run in measured]))[0]
    assert row["c10k"].note == RETURNED_MEMORY_NOTE
    for kind, column in (("c10k", "origin"), ("roles", "slope_bytes_per_session")):
        assert by_key(*catalogue.build(select(runs), [kind]))[0][column].note.endswith(RETURNED_MEMORY_NOTE)
        assert by_key(*catalogue.build(select(split(OPENSSL)), [kind]))[0][column].note is None


def test_a_line_that_bends_is_not_drawn_out_to_10_000_in_silence(snapshot):
    bent = [synthetic.scaled(run, 1.5 if run.sessions == synthetic.COUNTS[-1] else 1.0, 1) for run in split(OPENSSL)]
    note = by_key(shown(bent))[0]["c10k"].note
    assert "`bends`" in note
    assert note == snapshot
    assert by_key(shown(split(OPENSSL)))[0]["c10k"].note is None
