"""RSS of several machines: no line goes through two of them, and how far they lie apart is said."""

import pytest

from tests.support import synthetic
from tlsmem.config import choices
from tlsmem.schema import records
from tlsmem.stats.selection import select
from tlsmem.tables import peaks, render, rss, stacks

STACK, SUITE = "openssl@3.5.5", "tls13-rsa-aes256"
PATH = {"vendor": "Maker", "family": "25", "model": "1", "xcr0": "0x7", "libc_build_id": "ab", "page_bytes": 4096}


def machine_runs(flags, factor, hour, roles):
    """The runs of one machine, whose RSS is this much more."""
    runs = [
        synthetic.scaled(synthetic.record(STACK, SUITE, sessions, roles=roles), factor, 1)
        for sessions in synthetic.COUNTS
    ]
    machine = runs[0].machine.model_dump() | {"path": PATH | {"flags": flags}}
    known = {"schema": 6, "machine": machine, "started_at": f"2026-01-31T{hour:02}:00:00Z"}
    found = [records.RecordLine.model_validate(one.model_dump(by_alias=True) | known) for one in runs]
    return [one.model_copy(update={"path": records.run_path(one.model_dump())}) for one in found]


def several(roles="together"):
    return [*machine_runs("avx2", 1.0, 8, roles), *machine_runs("avx2 avx512f", 1.05, 9, roles)]


def test_the_column_says_how_far_slopes_of_two_machines_lie_apart():
    table = rss.rss_costs(select(several()))
    at = [column.key for column in table.columns].index("between_machines")
    found = [row[at].value for row in table.rows]
    assert len(found) == 3 and all(value["machines"] == 2 for value in found)
    assert [value["share"] for value in found] == pytest.approx([0.05] * 3, rel=1e-3)
    assert {row[at].text for row in table.rows} == {"5.0 % of 2"}


def test_with_one_machine_there_is_no_such_column_and_no_note():
    for runs in (machine_runs("avx2", 1.0, 8, "together"), machine_runs("avx2", 1.0, 8, "together")[:2]):
        table = rss.rss_costs(select(runs))
        assert "between_machines" not in [column.key for column in table.columns]
        assert "between" not in render.format_tables([peaks.peak_table(select(runs))], choices.MARKDOWN)


def test_lines_are_of_the_machine_that_ran_last_and_other_runs_are_said_to_be_left_out():
    chosen = select(several())
    assert {one.machine.path.flags for one in chosen.records} == {"avx2 avx512f"}
    assert chosen.left_out == (
        f"4 runs of {STACK} in {SUITE} with other arguments, on another machine or by another meter are left out",
    )


def test_peaks_and_stacks_note_it():
    peak = peaks.peak_table(select(several()))
    stack = stacks.stack_table(select(several("split")))
    for table in (peak, stack):
        notes = [cell.note for row in table.rows for cell in row if cell.note]
        assert any("between 2 machines it differs by 5.0 %" in note for note in notes), notes


def test_another_build_on_the_other_machine_is_no_spread_of_machines():
    other, last = several()[:4], several()[4:]
    other = [one.model_copy(update={"binary_sha256": "f" * 64}) for one in other]
    assert select([*other, *last]).machines == ()
