"""What contexts cost, by the committed recording: known figures, a byte that is planted, and what cannot be told."""

from fractions import Fraction

import pytest

from tlsmem.base.paths import ROOT
from tlsmem.schema import read_records, recording_files
from tlsmem.schema.records import RecordLine
from tlsmem.stats.contexts import find_contexts
from tlsmem.stats.missing import Missing
from tlsmem.topics.contexts import picture as client_contexts
from tlsmem.topics.contexts.table import contexts_table, newest_of_each_stack

RECORDING = ROOT / "data/2026-11-24-amd-epyc-p0457-contexts"
OPENSSL, RUSTLS, GNUTLS = "openssl@3.5.5", "rustls+aws-lc@0.23.46", "gnutls@3.8.9"


@pytest.fixture(scope="module")
def records():
    lines = [
        (stack, line)
        for stack in (OPENSSL, RUSTLS, GNUTLS)
        for line in recording_files.read_content(recording_files.find_stack(RECORDING, stack)).splitlines()
    ]
    return [read_records.parse(line, stack) for stack, line in lines]


def find_of_stack(records, stack):
    (found,) = (one for one in find_contexts(records) if one.stack == stack)
    return found


def changed(run: RecordLine, owner: str, phase: str, more: int) -> RecordLine:
    """With so many bytes more at the end of a phase."""
    phases = [one.model_dump() for one in run.phases]
    for one in phases:
        if one["phase"] == phase:
            one["heap"][owner]["live_bytes"] += more
            one["heap"]["total"]["live_bytes"] += more
    return RecordLine.model_validate(run.model_dump(by_alias=True) | {"phases": phases})


@pytest.mark.parametrize(
    ("stack", "one", "bundle"), [(OPENSSL, 17_881, 701_803), (RUSTLS, 1_678, 88_705), (GNUTLS, 33_756, 2_860_274)]
)
def test_a_root_is_the_difference_of_two_stores(records, stack, one, bundle):
    found = find_of_stack(records, stack)
    ten = found.context("client", 10).opened
    assert (found.context("client").opened, found.context("client", 150).opened) == (one, bundle)
    assert found.root().opened == (bundle - ten) / 140


def test_a_session_with_its_own_context_is_that_context_with_what_it_gained_and_a_session(records):
    found = find_of_stack(records, OPENSSL)
    context, shared = found.context("client"), found.session("client", "shared")
    own = found.session("client", "each-client").opened
    assert own == shared.opened + context.opened + context.used
    assert found.session("server", "shared").opened == 37_286  # as the scenario `memory` has it


def test_a_byte_of_each_context_more_is_a_byte_more(records):
    planted = [
        changed(run, "client_context", "opened", run.sessions // 2)
        if (run.stack, run.meter) == (OPENSSL, "heap") and "sharing=each-client" in run.argv
        else run
        for run in records
    ]
    before, after = (
        find_of_stack(records, OPENSSL).context("client", 150),
        find_of_stack(planted, OPENSSL).context("client", 150),
    )
    assert (after.opened - before.opened, after.used - before.used) == (1, -1)


def test_what_is_not_freed_is_seen(records):
    planted = [changed(run, "harness", "freed", 64) if run.meter == "heap" else run for run in records]
    assert find_of_stack(records, RUSTLS).context("client").kept == 0
    assert find_of_stack(planted, RUSTLS).context("client").kept == 64


def test_what_was_not_measured_says_what_is_missing(records):
    some = [run for run in records if "cas=150" not in run.argv]
    missing = find_of_stack(some, OPENSSL).root().opened
    assert missing == Missing("no heap run with cas=150 names=1 sharing=each-client")
    assert all(one.contexts.stack != OPENSSL for one in client_contexts.find_bundles(find_contexts(some)))


def test_rss_needs_two_numbers_of_contexts(records):
    some = [run for run in records if run.sessions == 400 or run.meter != "rss"]
    cost = find_of_stack(some, OPENSSL).context("client")
    assert cost.opened == Fraction(17_881)
    assert cost.rss == Missing("RSS by context needs runs with two numbers of sessions")


@pytest.mark.thorough
def test_the_table_begins_with_the_answer_and_the_picture_with_the_finding(records):
    table = contexts_table(records)
    answer = "OpenSSL 3.5.5: one more client context takes 17,881 B of live heap, with 150 CAs 701,803 B (4,591 B"
    assert table.caption.startswith(answer)
    rows = client_contexts.find_bundles(find_contexts(records))
    assert (
        client_contexts.describe_finding(rows)
        == "150 CAs in a client context: 2.7 MiB in GnuTLS 3.8.9, 88,705 B in rustls 0.23.46 (aws-lc)"
    )


def test_of_several_recordings_each_stack_is_the_first_that_has_it(records):
    first = [run for run in records if run.stack == RUSTLS]
    kept = newest_of_each_stack([first, records])
    assert sorted(kept, key=id) == sorted(records, key=id)
    assert len(newest_of_each_stack([records, records])) == len(records)


def test_a_recording_of_certificates_alone_takes_no_other_ones_place(records):
    """The campaign certificates-contexts has no client context of one root, with which others are compared."""
    certificates = [run for run in records if "cas=150" in run.argv or "cas=10" in run.argv]
    assert certificates and newest_of_each_stack([certificates, records]) == records
    assert newest_of_each_stack([certificates]) == certificates
