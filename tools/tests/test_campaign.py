"""The matrix of a campaign, counted by hand."""

import pytest

import campaign
from campaign import Run
from definitions import Campaign, Suite, campaigns, suites

MEM = campaigns()["mem"]


def mem(**changes) -> Campaign:
    return MEM.model_copy(update=changes)


@pytest.mark.parametrize(
    ("n", "counts"), [(10000, [100, 1000, 5000, 10000]), (100, [2, 10, 50, 100]), (10, [2, 4, 10]), (2, [2])]
)
def test_sessions_are_even_at_least_two_and_no_doubles(n, counts):
    assert campaign.session_counts(mem(n=n)) == counts


def test_the_campaign_mem_is_36_runs_of_which_12_are_metered():
    runs = campaign.matrix(MEM)
    assert len(runs) == len(set(runs)) == 36
    assert {run.sessions for run in runs if run.meter == "heap"} == {100, 1000}
    assert sum(run.meter == "heap" for run in runs) == 12
    assert sum(run.sessions for run in runs) // 2 == 51_600  # handshakes


@pytest.mark.parametrize(("heap", "metered"), [(0, 0), (1, 6), ("all", 24)])
def test_heap_says_how_many_of_the_smallest_are_metered(heap, metered):
    assert sum(run.meter == "heap" for run in campaign.matrix(mem(heap=heap))) == metered


def test_the_biggest_runs_come_first():
    sessions = [run.sessions for run in campaign.matrix(MEM)]
    assert sessions == sorted(sessions, reverse=True)


def test_heap_runs_are_made_on_the_system_allocator_only():
    runs = campaign.matrix(mem(allocators=["jemalloc"]))
    assert {run.meter for run in runs} == {"rss"}


def test_windows_repeats_and_allocators_multiply():
    runs = campaign.matrix(mem(windows=[1, "all"], repeats=3, allocators=["system", "mimalloc"]))
    assert len(runs) == 2 * 3 * (36 + 24)


def test_a_null_stack_runs_the_suite_none_only():
    runs = campaign.matrix(mem(stacks=["null@c", "openssl@3.5.5"]))
    assert {run.suite for run in runs if run.stack == "null@c"} == {"none"}
    assert {run.suite for run in runs if run.stack == "openssl@3.5.5"} == set(MEM.suites)


def test_arguments_say_the_whole_suite():
    run = Run("openssl@3.5.5", "tls13-rsa-aes256", "system", 100, 1000, "rss", 1)
    assert " ".join(campaign.argv(run, suites()["tls13-rsa-aes256"])) == (
        "build/harness/openssl@3.5.5 memory sessions=1000 protocol=TLSv1.3 cipher=TLS_AES_256_GCM_SHA384 group=X25519 "
        "certs=memtest/certs/rsa-2048 auth=server tickets=0 store=off knobs=default window=100"
    )


def test_no_certificates_are_no_directory():
    run = Run("null@c", "none", "system", "all", 2, "rss", 1)
    none = Suite(protocol="none", cipher="none", group="none", certs="none", auth="none")
    assert "certs=none" in campaign.argv(run, none)
