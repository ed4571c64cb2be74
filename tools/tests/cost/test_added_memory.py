"""What a suite adds to the plain one, and the suite that words such as --pq mean for a stack."""

from types import SimpleNamespace

import pytest

from tlsmem.config.suite_variants import SuiteInWords
from tlsmem.cost import added_memory
from tlsmem.cost.added_memory import find_added, find_plain_suite
from tlsmem.stats import recorded_stacks
from tlsmem.stats.costs import LIVE_AT_REST, LIVE_IN_USE, RSS_IN_USE
from tlsmem.stats.missing import Missing
from tlsmem.store import recordings


@pytest.mark.parametrize(
    ("suite", "plain"),
    [
        ("tls13-rsa-aes256-pq", "tls13-rsa-aes256"),
        ("tls13-rsa-aes256-mutual", "tls13-rsa-aes256"),
        ("tls13-rsa-aes256-depth2-mutual", "tls13-rsa-aes256-depth2"),
        ("tls13-mldsa65-aes128-pq", "tls13-rsa-aes128"),
        ("tls13-rsa-aes256", None),
        ("tls13-rsa-aes256-p384", None),
    ],
)
def test_the_plain_suite_has_neither_client_certificates_nor_post_quantum(suite, plain):
    assert find_plain_suite(suite) == plain


def costs(recording: str, peak: float, **sizes: float):
    known = {cost: sizes.get(cost.key, Missing("not recorded")) for cost in added_memory.COMPARED}
    return SimpleNamespace(recording=recording, figure=lambda _, cost: known[cost], stack="s", suite=f"{peak}")


@pytest.mark.parametrize(("other", "rss"), [("one", [("RSS in use", [50])]), ("two", [])])
def test_what_is_added_is_a_difference_of_whole_bytes_and_of_rss_within_one_recording(monkeypatch, other, rss):
    def find_peaks(stack, suite, role, among):
        return SimpleNamespace(one_more=SimpleNamespace(size=float(suite)))

    monkeypatch.setattr(added_memory, "find_peaks", find_peaks)
    ours = costs("one", 900.0, **{LIVE_IN_USE.key: 110.6, RSS_IN_USE.key: 250.0, LIVE_AT_REST.key: 7.0})
    plain = costs(other, 800.0, **{LIVE_IN_USE.key: 100.4, RSS_IN_USE.key: 200.0})
    assert [*find_added(ours, plain, ["server"], [])] == [
        ("Live heap in use", [11]),
        *rss,
        ("Handshake peak", [100]),
    ]


def stack_costs(stack: str, recording: str = "one", **fields):
    sizes = {LIVE_IN_USE.key: 200.4, LIVE_AT_REST.key: 7.0, RSS_IN_USE.key: 250.0}
    made = costs(recording, 900.0, **sizes | fields)
    return SimpleNamespace(**vars(made) | {"stack": stack, "suite": "a suite", "state": "as deployed"})


def test_of_two_stacks_the_difference_is_the_first_line(monkeypatch):
    monkeypatch.setattr(added_memory, "find_peaks", lambda *_: SimpleNamespace(one_more=Missing("not recorded")))
    old, new = stack_costs("openssl@3.5.5"), stack_costs("openssl@4.0.3", **{LIVE_IN_USE.key: 150.3})
    lines = added_memory.difference_lines(old, new, ["server"], []).plain.splitlines()
    sentence = "A server session of OpenSSL 4.0.3 holds 50 B (25.0 %) less live heap in use than one of OpenSSL 3.5.5."
    assert " ".join(lines[:2]) == sentence
    assert [line.split() for line in lines[4:-1]] == [
        ["Live", "heap", "at", "rest", "+0", "B"],
        ["Live", "heap", "in", "use", "-50", "B"],
        ["RSS", "in", "use", "+0", "B"],
    ]
    same = added_memory.difference_lines(old, old, ["server"], []).plain
    assert "holds as much live heap in use as" in " ".join(same.split())
    elsewhere = added_memory.difference_lines(old, stack_costs("openssl@4.0.3", "two"), ["server"], []).plain
    assert "RSS is not compared" in elsewhere and "RSS in use" not in elsewhere
    other = SimpleNamespace(**vars(new) | {"suite": "another"})
    assert added_memory.difference_lines(old, other, ["server"], []).plain == ""


@pytest.mark.parametrize(
    ("stack", "suite", "expected"),
    [
        ("go@1.27.4", SuiteInWords("tls13-rsa-aes256-pq"), "tls13-rsa-aes128-pq"),
        ("go@1.27.4", SuiteInWords("tls13-rsa-aes256-mutual"), "tls13-rsa-aes128-mutual"),
        ("go@1.27.4", "tls13-rsa-aes256-pq", "tls13-rsa-aes256-pq"),  # named: never another one
        ("openssl@3.5.5", SuiteInWords("tls13-rsa-aes256-pq"), "tls13-rsa-aes256-pq"),
        ("libressl@3.1.0", SuiteInWords("tls13-rsa-aes256-pq"), "tls13-rsa-aes256-pq"),  # neither is recorded
    ],
)
def test_words_mean_aes_128_where_a_stack_takes_no_other(capsys, stack, suite, expected):
    recorded_stacks.announce_suite.cache_clear()
    assert recorded_stacks.match_suite(stack, suite, recordings.committed_recordings()) == expected
    assert (f"{stack}: using {expected}" in capsys.readouterr().err) is (expected != suite)
