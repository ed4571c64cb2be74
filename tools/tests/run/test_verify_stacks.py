"""A stack that refuses other suites than stacks.toml expects of it has failed."""

import pytest

from tlsmem.config.definitions import Stack, Suite
from tlsmem.config.run import SYSTEM, Run
from tlsmem.run.validate import Outcome
from tlsmem.run.verify_stacks import compare_with_expectation, everything

RUN = Run("a@1", "mine", SYSTEM, "all", 2, "rss", 1)
SUITE = Suite(protocol="TLSv1.2", cipher="C", group="G", certs="rsa-2048", auth="mutual")
UNEXPECTED = 'not so; memtest/stacks.toml: ["a@1".expect]: refuses has no entry for this suite'
DOES = 'it does this suite, and memtest/stacks.toml: ["a@1".expect] has refuses = "TLSv1.2 mutual"'


@pytest.mark.parametrize(
    ("refuses", "status", "verdict", "reason"),
    [
        (["TLSv1.2 mutual"], "unsupported", "unsupported", "not so"),
        (["TLSv1.2 mutual"], "measured", "failed", DOES),
        (["TLSv1.3", "tickets"], "unsupported", "failed", UNEXPECTED),
        (["TLSv1.3", "tickets"], "measured", "measured", None),
        ([], "unsupported", "failed", UNEXPECTED),
        (None, "unsupported", "unsupported", "not so"),
        (["TLSv1.2 mutual"], "failed", "failed", "not so"),
    ],
)
def test_a_verdict_is_what_the_stack_did_held_against_what_is_expected(refuses, status, verdict, reason):
    stack = Stack(harness="c", driver="a", licence="MIT", expect={"refuses": refuses})
    did = Outcome(status, None if status == "measured" else "not so", [], "", 0)
    found = compare_with_expectation(RUN, did, stack, SUITE)
    assert (found.status, found.reason) == (verdict, reason)


def test_more_tickets_than_a_stack_issues_are_refused():
    stack = Stack(harness="c", driver="a", licence="MIT", expect={"refuses": [], "most_tickets": 1})
    refused = Outcome("unsupported", "one at most", [], "", 0)
    for tickets, verdict in (1, "failed"), (2, "unsupported"):
        suite = SUITE.model_copy(update={"tickets": tickets})
        assert compare_with_expectation(RUN, refused, stack, suite).status == verdict


def test_a_tls_stack_may_refuse_the_suite_without_tls():
    stack = Stack(harness="c", driver="a", licence="MIT", expect={"refuses": []})
    none = Suite(protocol="none", cipher="none", group="none", certs="none", auth="none")
    assert compare_with_expectation(RUN, Outcome("unsupported", "no", [], "", 0), stack, none).status == "unsupported"


def test_suites_of_campaigns_alone_are_asked_of_no_stack():
    asked = {run.suite for run in everything(["openssl@3.5.5"])}
    assert {"tls13-rsa-aes256", "tls13-rsa-aes256-empty-staple", "tls13-rsa-aes256-large-client"} <= asked
    assert not {"tls13-rsa-aes256-constraints", "tls13-rsa-aes256-padded-server-15m"} & asked
