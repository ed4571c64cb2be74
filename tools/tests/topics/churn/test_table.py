"""The table churn: what is written of a stack that leaks, and of one that does not."""

from tests.support.synthetic_churn import churn
from tlsmem.tables import render
from tlsmem.topics.churn.table import churn_table, describe_patterns

MIB = 1 << 20
RESIDENT = [20 * MIB + wave * 16384 for wave in range(20)]


def table(left, pattern="waves"):
    """What is made of an RSS run and a heap run."""
    return churn_table([churn(left, RESIDENT, meter, pattern=pattern) for meter in ("rss", "heap")])


def row(made):
    """The server's values, by column."""
    return {column.key: cell.value for column, cell in zip(made.columns, made.rows[0], strict=True)}


def test_a_leak_has_its_slope_and_its_verdict(snapshot):
    made = table([64 * wave for wave in range(20)])
    found = row(made)
    assert (found["role"], found["heap_slope_bytes"], found["heap_verdict"]) == ("server", 64, "growing")
    assert (found["left_first_bytes"], found["left_last_bytes"]) == (0, 19 * 64)
    assert (found["rss_slope_bytes"], found["rss_verdict"]) == (16384, "growing")
    assert render.format_tables([made], "markdown") == snapshot


def test_without_one_the_verdict_is_another():
    found = row(table([0] * 20))
    assert (found["heap_slope_bytes"], found["heap_verdict"], found["closed_ratio"]) == (0, "flat", None)


def test_patterns_are_described():
    runs = [churn([0] * 9, [MIB] * 9, "rss", pattern=pattern) for pattern in ("sawtooth", "waves")]
    assert [sentence.partition(":")[0] for sentence in describe_patterns(runs)] == ["sawtooth", "waves"]
