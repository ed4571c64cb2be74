"""The answer of a campaign in sentences, and the name of its pictures."""

import pytest

from tests.support import synthetic
from tlsmem.cli import campaign_conclusion
from tlsmem.config import definitions
from tlsmem.stats.selection import select

STACK, OTHER, SUITE = "openssl@3.5.5", "rustls+aws-lc@0.23.46", "tls13-rsa-aes256"


def said(**kind) -> list[str]:
    return list(campaign_conclusion.sentences(select(synthetic.campaign([STACK], [SUITE], **kind))))


def test_a_pair_s_heap_what_is_resident_and_the_peak_are_one_sentence(snapshot):
    """RSS is 10 % more than live heap, of which 116,000 B a pair are established and 146,000 B the peak; and 9 MiB."""
    (sentence,) = said()
    assert sentence == snapshot
    assert all(figure in sentence for figure in (SUITE, STACK, " 116,000 B ", " 124.6 KiB ", " 774.8 MiB"))


def test_a_process_of_one_role_has_its_own(snapshot):
    client, server = said(roles="split", counts=(200, 2000, 20000))
    (kept,) = said(roles="keep-server", window=10, counts=(200, 2000))
    assert [client, server, kept] == snapshot
    assert " 64,000 B " in client and " 52,000 B " in server and " 52,000 B " in kept


def test_of_a_mixed_pair_each_end_is_named_first_where_it_is_meant(snapshot):
    client, server = said(client=OTHER)
    assert [client, server] == snapshot
    assert client.startswith(f"{SUITE}, {OTHER} with {STACK}: ") and " 9,200 B " in client
    assert server.startswith(f"{SUITE}, {STACK} with {OTHER}: ") and " 52,000 B " in server


def test_one_number_of_sessions_says_nothing():
    assert said(counts=(100,)) == []


@pytest.mark.parametrize(
    ("asked", "title"),
    [
        ({}, "mem"),
        ({"n": 20, "suites": [SUITE]}, "mem"),
        ({"roles": ["split"]}, "mem-split"),
        ({"roles": ["keep-server"], "windows": [100]}, "mem-keep-server"),
        ({"roles": ["split"], "peers": [STACK], "stacks": [OTHER]}, f"mem-{STACK}-to-{OTHER}"),
        ({"envs": ["lab", "deployed"]}, "mem-both"),
        ({"envs": ["deployed"]}, "mem-deployed"),
        ({"allocators": ["jemalloc"], "windows": [10]}, "mem-jemalloc-window-10"),
    ],
)
def test_pictures_are_named_by_what_differs_from_the_campaign(asked, title):
    usual = definitions.campaigns()["mem"]
    assert campaign_conclusion.title("mem", usual.model_copy(update=asked), usual) == title


@pytest.mark.parametrize(
    ("asked", "title"),
    [
        ({"sizes": [16, 1024, 65536]}, "throughput-sizes-16-1024-65536"),
        ({"threads": [1, 4]}, "throughput-threads-1-4"),
        ({"stacks": [STACK]}, f"throughput-{STACK}"),
        ({"stacks": [STACK, OTHER], "suites": [SUITE]}, f"throughput-{STACK}+{OTHER}-{SUITE}"),
        ({"stacks": list("abcd")}, "throughput-4-stacks-610be290"),
        ({"stacks": list("abce")}, "throughput-4-stacks-160cd206"),
        ({"repeats": 3}, "throughput"),
    ],
)
def test_no_two_selections_of_a_timed_campaign_have_pictures_of_one_name(asked, title):
    usual = definitions.campaigns()["throughput"]
    assert campaign_conclusion.title("throughput", usual.model_copy(update=asked), usual) == title
