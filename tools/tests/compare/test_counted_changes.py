"""Which changes an exit status counts: by size, by call site, by direction."""

import pytest

from tests.support import planted
from tlsmem.compare.comparison import Comparison, compare
from tlsmem.compare.comparison_output import exit_status
from tlsmem.compare.counted_changes import CountedChanges
from tlsmem.compare.site_changes import CallSiteExplainer

HELLO = "tls_construct_server_hello"
MORE = planted.with_sites("server", **{HELLO: (4_132, 20)})  # 16 B more
CANCELLED = planted.with_sites("server", SSL_new=(9_984, 20), **{HELLO: (4_132, 20)})
FASTER = planted.with_sites("server", SSL_new=(10_000, 19))  # one block fewer, no byte


def found(before: planted.Sites, after: planted.Sites) -> Comparison:
    return compare(planted.counted(before), planted.counted(after))


CASES = {  # the changes, what counts, and the exit status
    "all of them": (MORE, CountedChanges(), 3),
    "as large": (MORE, CountedChanges(at_least=16), 3),
    "larger": (MORE, CountedChanges(at_least=17), 0),
    "its site": (MORE, CountedChanges(site=HELLO), 3),
    "a caller of it": (MORE, CountedChanges(site="server_handshake"), 3),
    "another site": (MORE, CountedChanges(site="SSL_new"), 0),
    "its site and size": (MORE, CountedChanges(at_least=17, site=HELLO), 0),
    "worse": (MORE, CountedChanges(worse_only=True), 3),
    "blocks have no bytes": (FASTER, CountedChanges(at_least=1), 0),
    "blocks are better": (FASTER, CountedChanges(worse_only=True), 0),
    "cancelled, all of them": (CANCELLED, CountedChanges(), 0),
    "cancelled, a site that grew": (CANCELLED, CountedChanges(site=HELLO, worse_only=True), 3),
    "cancelled, a site that shrank": (CANCELLED, CountedChanges(site="SSL_new"), 3),
    "cancelled, a site that shrank is no worse": (CANCELLED, CountedChanges(site="SSL_new", worse_only=True), 0),
}


@pytest.mark.parametrize("name", CASES)
def test_a_change_counts_by_size_site_and_direction(name: str):
    after, counted, status = CASES[name]
    assert exit_status(found(planted.SITES, after), counted) == status


def test_the_way_back_is_no_worse():
    back = found(MORE, planted.SITES)
    assert exit_status(back, CountedChanges(worse_only=True)) == 0
    assert exit_status(back, CountedChanges(worse_only=True, site=HELLO)) == 0
    assert exit_status(back, CountedChanges(at_least=16)) == 3


def test_a_function_that_neither_side_has_is_named(snapshot):
    comparison = found(planted.SITES, MORE)
    explained = CallSiteExplainer(comparison)
    assert CountedChanges(site=HELLO).describe_unknown_site(comparison, explained) is None
    assert CountedChanges(site="tls_construct_server_helo").describe_unknown_site(comparison, explained) == snapshot


def test_what_counts_is_said_in_words(snapshot):
    assert CountedChanges(1_000, HELLO, True).describe() == snapshot
