"""The answer of a campaign in sentences, and the name of its pictures."""

import pytest

from tests.support import synthetic
from tlsmem.cli import campaign_conclusion
from tlsmem.config import definitions
from tlsmem.stats.selection import select

STACK, OTHER, SUITE = "openssl@3.5.5", "rustls+aws-lc@0.23.46", "tls13-rsa-aes256"


def said(**kind) -> list[str]:
    return list(campaign_conclusion.sentences(select(synthetic.campaign([STACK], [SUITE], **kind))))


def test_a_pair_s_heap_what_is_resident_and_the_peak_are_one_sentence():
    """RSS is 10 % more than live heap, of which 116,000 B a pair are established and 146,000 B the peak; and 9 MiB."""
    (sentence,) = said()
    assert sentence == (
        f"{SUITE}, {STACK}: a session pair keeps 116,000 B of live heap and 124.6 KiB resident; "
        "10,000 sessions peak at 774.8 MiB"
    )


def test_a_process_of_one_role_has_its_own():
    client, server = said(roles="split", counts=(200, 2000, 20000))
    assert "a client session keeps 64,000 B of live heap" in client and "10,000 client sessions peak at" in client
    assert "a server session keeps 52,000 B of live heap" in server and "from the fit" not in server
    (kept,) = said(roles="keep-server", window=10, counts=(200, 2000))
    assert "a server session keeps 52,000 B of live heap" in kept and kept.endswith("MiB (from the fit)")


def test_of_a_mixed_pair_each_end_is_named_first_where_it_is_meant():
    client, server = said(client=OTHER)
    assert client.startswith(f"{SUITE}, {OTHER} with {STACK}: a client session keeps 9,200 B")
    assert server.startswith(f"{SUITE}, {STACK} with {OTHER}: a server session keeps 52,000 B")


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
