"""The command that records something is given where it has runs that the stack can do, and else the reason."""

import pytest

from tlsmem.config import definitions
from tlsmem.config.recording_command import advise_profile, advise_recording, advise_recording_together


def test_a_command_names_the_stack_and_the_suite():
    advice = advise_recording("deployed-config", "openssl@3.5.5", "tls13-mldsa65-aes256")
    assert advice == (
        "tools/tls-memtest measure deployed-config --stacks openssl@3.5.5 --suites tls13-mldsa65-aes256",
        None,
    )
    assert advise_recording("in-use-sites", "openssl@3.5.5").sentence == (
        "to record it: tools/tls-memtest measure in-use-sites --stacks openssl@3.5.5"
    )


@pytest.mark.parametrize(
    ("campaign", "stack", "suite", "reason"),
    [
        (
            "in-use-sites",
            "go@1.27.4",
            None,
            "go@1.27.4 brings its own allocator, go, which the heap meter does not see",
        ),
        (
            "in-use-sites",
            "openssl+debian@3.5.9",
            None,
            "openssl+debian@3.5.9 has no call sites: its library is as Debian ships it, without frame pointers",
        ),
        (
            "deployed-config",
            "openssl@3.1.4",
            "tls13-rsa-aes256-pq",
            'openssl@3.1.4 does not do tls13-rsa-aes256-pq (refuses = "X25519MLKEM768" in memtest/stacks.toml)',
        ),
        (
            "deployed-config",
            "openssl@3.5.5",
            "tls13-ecdsa-aes256-mutual-each",
            "each client needs a certificate of its own, and memtest/certs/ecdsa-p256-clients has 100, not 1,000",
        ),
        ("deployed-config", "openssl@3.5.5", "none", "openssl@3.5.5 has no suite without TLS"),
        ("deployed-config", "null@c", "tls13-rsa-aes256", "null@c has no TLS"),
        ("deployed-config", "openssl@2.0.0", "tls13-rsa-aes256", "memtest/stacks.toml has no stack openssl@2.0.0"),
        ("deployed-config", "openssl@3.5.5", "tls13-rsa", "memtest/suites.toml has no suite tls13-rsa"),
    ],
)
def test_what_no_campaign_can_record_has_the_reason_and_no_command(campaign, stack, suite, reason):
    advice = advise_recording(campaign, stack, suite)
    assert advice == (None, reason) and advice.sentence == f"cannot be recorded: {reason}"


def test_a_runtime_has_rss_runs_but_none_under_the_heap_meter():
    assert advise_recording("deployed-config", "go@1.27.4", "tls12-rsa-aes256").command
    assert advise_recording("deployed-config", "go@1.27.4", "tls12-rsa-aes256", meter="heap").reason
    assert advise_recording("deployed-config", "openssl@3.5.5", "tls12-rsa-aes256", meter="heap").command
    assert advise_recording("deployed-config", "openssl@3.5.5", "tls12-rsa-aes256", "heap", "jemalloc").reason


def test_a_variant_that_the_stack_refuses_has_no_command():
    advice = advise_recording("deployed-config", "openssl@3.5.5", "tls13-rsa-aes256+low-memory+tickets-library")
    assert (
        advice.command == "tools/tls-memtest measure deployed-config --stacks openssl@3.5.5 --suites tls13-rsa-aes256"
    )
    refused = advise_recording("deployed-config", "gnutls@3.8.9", "tls12-rsa-aes256+low-memory+tickets-library")
    assert refused.command is None and "low-memory" in refused.sentence


def test_stacks_that_one_command_records_share_it_and_others_have_their_own():
    several = advise_recording_together("deployed-config", ["openssl@3.5.5", "null@c", "openssl@path", "bearssl@0.6"])
    shared = "tools/tls-memtest measure deployed-config --stacks openssl@3.5.5,bearssl@0.6"
    assert several["openssl@3.5.5"].command == several["bearssl@0.6"].command == shared
    assert several["openssl@path"].command == (
        "tools/tls-memtest measure deployed-config --stacks openssl@path --prefix DIRECTORY"
    )
    assert several["null@c"].reason


def test_many_stacks_of_the_campaign_are_not_named():
    several = definitions.campaigns()["deployed-config"].stacks
    advice = advise_recording_together("deployed-config", several)
    assert advice[several[0]].command == "tools/tls-memtest measure deployed-config"


@pytest.mark.thorough
def test_every_stack_can_be_recorded_as_servers_run_it_in_a_suite_or_says_why():
    for stack in definitions.stacks():
        for suite in definitions.suites():
            advice = advise_recording("deployed-config", stack, suite)
            assert (advice.command is None) != (advice.reason is None)


def test_no_profile_by_call_sites_of_a_library_as_shipped():
    assert advise_profile("openssl@3.5.5", "tls13-rsa-aes256").command
    assert "has no call sites" in str(advise_profile("openssl+debian@3.5.9", "tls13-rsa-aes256").reason)
