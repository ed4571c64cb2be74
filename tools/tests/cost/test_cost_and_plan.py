"""tools/tls-memtest cost and tools/tls-memtest plan print the same RSS of a session, for all that is recorded."""

import contextlib
import itertools

import pytest

from tests.support.commands import parse
from tlsmem.base.errors import UserError
from tlsmem.cli.dispatch import run_words
from tlsmem.config.choices import PLAN_SUITE
from tlsmem.config.suite_title import suite_title
from tlsmem.cost.cost_table import cost_table
from tlsmem.cost.find_costs import find_costs
from tlsmem.plan import answer
from tlsmem.stats import recorded_stacks
from tlsmem.store import recordings
from tlsmem.tables.table import MISSING, Cell

STATES = {"in-use": "rss_in_use_bytes", "at-rest": "rss_at_rest_bytes"}


def table_rows(table) -> list[dict]:
    return [dict(zip((column.key for column in table.columns), row, strict=True)) for row in table.rows]


def recorded_costs(among) -> dict[tuple[str, str, str, str], str | None]:
    """RSS of a session with the library's defaults, by stack, suite, role and state; None where it is not recorded."""
    stacks = dict.fromkeys(stack for path in among for stack in recordings.stacks(path))
    found = [find_costs(stack, suite, among) for stack in stacks for suite in recorded_stacks.find_suites(stack, among)]
    rows = table_rows(cost_table(found, ("server", "client")))
    return {
        (row["stack"].value, row["suite"].value, row["role"].value, state): figure_text(row[key])
        for row in rows
        if row["configuration"].value == "default"
        for state, key in STATES.items()
    }


def figure_text(cell: Cell) -> str | None:
    return None if cell.text == MISSING else cell.text


def planned_bytes(stacks, suite: str, role: str, state: str) -> dict[str, str | None]:
    """E of a plan, by stack."""
    words = ["--connections", "1", "--suite", suite, "--role", role, "--state", state]
    given = parse("plan memory", *words, *itertools.chain(*(("--stack", stack) for stack in stacks)))
    terms = next(table for table in answer.answer_memory(given).tables if table.name == "terms")
    return {row["stack"].value: figure_text(row["kept_bytes"]) for row in table_rows(terms)}


@pytest.mark.slow
def test_a_plan_takes_the_rss_that_cost_prints():
    costs = recorded_costs(recordings.find_recordings(None))
    assert len(costs) > 100
    for setting in dict.fromkeys(key[1:] for key in costs):
        known = {stack: size for (stack, *rest), size in costs.items() if tuple(rest) == setting}
        recorded = {stack: size for stack, size in known.items() if size is not None}
        if recorded:
            assert planned_bytes(recorded, *setting) == recorded, setting
        for stack in known.keys() - recorded.keys():
            with pytest.raises(ValueError):
                planned_bytes([stack], *setting)


@pytest.mark.parametrize(
    ("stack", "suite"),
    [("openssl@3.5.5", PLAN_SUITE), ("go@1.27.4", "tls13-rsa-aes128"), ("bearssl@0.6", "tls12-rsa-aes256")],
)
def test_without_a_suite_a_stack_that_lacks_the_usual_one_is_answered_in_its_own(stack, suite, capsys):
    assert recorded_stacks.usual_suite(stack, recordings.find_recordings(None)) == suite
    for words in (["cost", stack], ["plan", "memory", "--connections", "1000", "--stack", stack]):
        with contextlib.suppress(UserError):
            run_words(words)
        assert suite_title(suite) in " ".join(capsys.readouterr().out.split())
