"""A table that has no rows says what it needs, truly: of runs that lack it, and of no others."""

import re

import pytest

from tests.support import synthetic
from tlsmem.config.table_names import NEEDS
from tlsmem.stats.selection import select
from tlsmem.tables import catalogue

STACK, OTHER, SUITE = "openssl@3.5.5", "rustls+aws-lc@0.23.46", "tls13-rsa-aes256"
KINDS = {
    "together": {},
    "split": {"roles": "split"},
    "kept": {"roles": "keep-server", "window": 50},
    "mixed": {"client": OTHER},
    "deployed": {"env": "deployed"},
}


@pytest.mark.parametrize(
    ("table", "there", "sentence"),
    [
        ("peaks", {"together", "deployed"}, "RSS runs of clients and servers in one process (make"),
        ("rss", {"together", "deployed"}, "it needs clients and servers in one process (make"),
        ("law", {"together", "deployed"}, "it needs clients and servers in one process (make"),
        ("heap", {"together", "split", "kept"}, "runs in the controlled environment (ENV=lab or both) of pairs"),
        ("roles", {"split", "kept"}, "in a process of their own, of one stack (make mem ROLES=split, or KEEP=server)"),
        ("c10k", {"together", "split", "kept", "deployed"}, "the same stack at both ends (make mem without CLIENT an"),
        ("interop", {"mixed"}, "it needs mixed pairs (tools/tls-memtest measure interop)"),
        (
            "deployed",
            set(),
            "of one stack in the controlled environment and with default system settings (make mem ENV=both)",
        ),
        ("waterfall", set(), "it needs RSS runs with allocator statistics"),
    ],
)
def test_a_table_says_what_it_needs_of_runs_that_have_it_not_and_of_no_others(table, there, sentence):
    for kind, asked in KINDS.items():
        selection = select(synthetic.campaign([STACK], [SUITE], schema=1 if table == "waterfall" else 2, **asked))
        if kind in there:
            assert catalogue.build(selection, [table])[0].rows
        else:
            with pytest.raises(ValueError, match=f"table {table} has no rows: .*{re.escape(sentence)}"):
                catalogue.build(selection, [table])
    assert [*NEEDS] == [*catalogue.MAKERS]


@pytest.mark.parametrize("name", catalogue.list_makers())
def test_every_column_says_what_it_takes_of_a_row(name):
    """So that a column is one entry. repr is what a column without `value` has."""
    table = catalogue.list_makers()[name](select(synthetic.campaign([STACK, OTHER], [SUITE])))
    assert table.columns and [column.key for column in table.columns if column.value is repr] == []
