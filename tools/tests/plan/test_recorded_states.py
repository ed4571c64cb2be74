"""What is recorded of a stack in a suite is of this stack and this suite, in a state that is named."""

import pytest

from tests.support import synthetic
from tests.support.in_use import BORING, OPENSSL, SUITE, recorded
from tlsmem.config.suite_variants import split_variant
from tlsmem.plan.recorded_states import RecordedSuite, describe_configuration, recorded_suites
from tlsmem.schema.manifest import BadRecording
from tlsmem.stats import recorded_stacks
from tlsmem.store import recordings

MLDSA = "tls13-mldsa65-aes256"
COMMAND = "tools/tls-memtest measure deployed-config --stacks {} --suites {}"


@pytest.fixture
def recording(tmp_path):
    """OpenSSL in use with few handshakes at a time and with all at once, and at rest; BoringSSL under jemalloc."""
    runs = recorded(OPENSSL, "+tickets-library", 1_000)
    runs += [run.model_copy(update={"window": 100}) for run in recorded(OPENSSL, "+low-memory+tickets-library")]
    runs += synthetic.campaign([OPENSSL], [SUITE], roles="together")
    jemalloc = synthetic.record(BORING, SUITE, 200).allocator.model_copy(update={"name": "jemalloc"})
    runs += [run.model_copy(update={"allocator": jemalloc}) for run in synthetic.campaign([BORING], [SUITE])]
    return synthetic.write(tmp_path / "recording", runs)


def test_states_are_told_apart_and_that_of_the_three_costs_is_first(recording):
    found = RecordedSuite(OPENSSL, SUITE, [recording])
    assert [state.describe() for state in found.states] == [
        "in use, 100 handshakes at a time, a process per role",
        "in use, all handshakes concurrent, a process per role",
        "at rest, all handshakes concurrent, both roles in one process",
    ]
    assert [state.configurations for state in found.states] == [["low memory"], ["default"], ["no tickets"]]
    assert found.deployed is found.states[0] and found.states[0].campaign == "deployed-config"
    assert all(state.meters == ["heap", "rss"] for state in found.states)
    assert found.states[1].roles["server"].live("default", "blocked").bytes.integer_part == 53_000


def test_a_newer_recording_of_rss_alone_does_not_hide_one_that_has_live_heap_too(tmp_path):
    runs = [run.model_copy(update={"window": 100}) for run in recorded(OPENSSL, "+tickets-library")]
    older = synthetic.write(tmp_path / "older", runs)
    newer = synthetic.write(tmp_path / "newer", [run for run in runs if run.meter == "rss"])
    whole = synthetic.write(tmp_path / "whole", runs)
    assert RecordedSuite(OPENSSL, SUITE, [newer, older]).deployed.recording == older
    assert RecordedSuite(OPENSSL, SUITE, [whole, older]).deployed.recording == whole


def test_what_is_older_than_a_complete_answer_is_not_read(tmp_path):
    runs = [run.model_copy(update={"window": 100}) for run in recorded(OPENSSL, "+tickets-library")]
    whole = synthetic.write(tmp_path / "whole", runs)
    damaged = synthetic.write(tmp_path / "damaged", runs)
    (damaged / f"{OPENSSL}.jsonl").write_text("not read\n")
    assert RecordedSuite(OPENSSL, SUITE, [whole, damaged]).deployed.recording == whole
    assert recorded_stacks.usual_suite(OPENSSL, [whole, damaged]) == SUITE
    with pytest.raises(BadRecording, match=r"damaged.*line 1"):
        RecordedSuite(OPENSSL, SUITE, [damaged, whole]).deployed  # noqa: B018


def test_another_suite_is_no_answer(recording):
    found = RecordedSuite(OPENSSL, MLDSA, [recording])
    assert found.states == () and found.deployed is None and found.elsewhere == ()
    assert found.advice.command == COMMAND.format(OPENSSL, MLDSA)
    assert recorded_suites(OPENSSL, [recording]) == [SUITE]


def test_what_is_recorded_under_another_allocator_is_no_state_but_told(recording):
    found = RecordedSuite(BORING, SUITE, [recording])
    assert found.states == () and found.elsewhere == ("memory",)


def test_a_suite_that_the_stack_refused_cannot_be_recorded_and_its_words_say_why(tmp_path):
    refused = [synthetic.failed(OPENSSL, MLDSA, 200, "OpenSSL: no such key", status="unsupported")]
    found = RecordedSuite(OPENSSL, MLDSA, [synthetic.write(tmp_path / "recording", refused)])
    assert found.refusal == "OpenSSL: no such key" and found.advice == (None, "OpenSSL: no such key")


def test_suites_with_a_certificate_for_each_client_are_recorded_by_the_campaigns_that_have_as_few():
    each = "tls12-ecdsa-aes256-mutual-each"
    command = f"tools/tls-memtest measure {{}} --stacks {{}} --suites {each}"
    assert RecordedSuite(OPENSSL, each, []).advice.command == command.format("chains-each", OPENSSL)
    assert RecordedSuite("go@1.27.4", each, []).advice.command == command.format("chains-runtime-each", "go@1.27.4")


def test_what_such_a_campaign_recorded_has_no_command_that_records_it_again():
    found = RecordedSuite(OPENSSL, "tls13-ecdsa-aes256-mutual-each", recordings.find_recordings(None))
    assert found.states and found.advice.command is None and "a certificate of its own" in found.advice.sentence


def test_the_recorded_ml_dsa_of_openssl_is_that_of_its_own_campaigns():
    found = RecordedSuite(OPENSSL, MLDSA, recordings.find_recordings(None))
    assert found.deployed.configurations == ["default", "low memory"]
    (state,) = [state for state in found.states if state.recording.name.endswith("-post-quantum")]
    assert (state.campaign, state.configurations) == ("post-quantum", ["no tickets"]) and not state.is_as_deployed
    assert {split_variant(run.suite)[0] for one in found.states for run in one.measured} == {MLDSA}


def test_a_configuration_is_named_for_the_tickets_of_its_suite():
    assert describe_configuration(SUITE, "no tickets") == "no tickets"
    assert describe_configuration("tls13-rsa-aes256-ticket", "no tickets") == "1 ticket"
    assert describe_configuration("tls12-rsa-aes256-chain3-tickets1", "low memory") == "low memory"
    assert describe_configuration("tls13-ecdsa-aes256-store", "no tickets") == "default"
