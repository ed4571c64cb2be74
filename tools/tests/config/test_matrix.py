"""The matrix of a campaign, counted by hand."""

from dataclasses import replace

import pytest

from tlsmem.config import matrix
from tlsmem.config.campaigns import Campaign
from tlsmem.config.definitions import Suite, campaigns, suites
from tlsmem.config.run import Run, argv

MEM = campaigns()["mem"]


def mem(**changes) -> Campaign:
    return MEM.model_copy(update=changes)


@pytest.mark.parametrize(
    ("n", "counts"), [(10000, [100, 1000, 5000, 10000]), (100, [2, 10, 50, 100]), (10, [2, 4, 10]), (2, [2])]
)
def test_sessions_are_even_at_least_two_and_no_doubles(n, counts):
    assert matrix.session_counts(mem(n=n)) == counts


def test_the_campaign_mem_is_42_runs_of_which_18_are_metered():
    runs = matrix.campaign_runs(MEM)
    assert len(runs) == len(set(runs)) == 42
    assert {run.sessions for run in runs if run.meter == "heap"} == {100, 1000}
    assert sum(run.meter == "heap" for run in runs) == 12
    assert {run.sessions for run in runs if run.meter == "sites"} == {1000}
    assert sum(run.sessions for run in runs) // 2 == 54_600  # handshakes


@pytest.mark.parametrize(("heap", "metered"), [(0, 0), (1, 6), ("all", 24)])
def test_heap_says_how_many_of_the_smallest_are_metered(heap, metered):
    assert sum(run.meter == "heap" for run in matrix.campaign_runs(mem(heap=heap))) == metered


def test_the_biggest_runs_come_first():
    sessions = [run.sessions for run in matrix.campaign_runs(MEM)]
    assert sessions == sorted(sessions, reverse=True)


def test_heap_runs_are_made_on_the_system_allocator_only():
    runs = matrix.campaign_runs(mem(allocators=["jemalloc"]))
    assert {run.meter for run in runs} == {"rss"}


def test_windows_repeats_and_allocators_multiply():
    runs = matrix.campaign_runs(mem(sites=None, windows=[1, "all"], repeats=3, allocators=["system", "mimalloc"]))
    assert len(runs) == 2 * 3 * (36 + 24)


def test_a_null_stack_runs_the_suite_none_only():
    runs = matrix.campaign_runs(mem(stacks=["null@c", "openssl@3.5.5"]))
    assert {run.suite for run in runs if run.stack == "null@c"} == {"none"}
    assert {run.suite for run in runs if run.stack == "openssl@3.5.5"} == set(MEM.suites)


def test_a_stack_without_tls_is_known_by_its_table_and_not_by_its_name(monkeypatch):
    known = matrix.stacks()
    made = {"plain@1": known["null@c"], "null@2": known["openssl@3.5.5"]}
    monkeypatch.setattr(matrix, "stacks", lambda: made)
    runs = matrix.campaign_runs(mem(stacks=list(made), peers=list(made), roles=["split"], suites=["s"]))
    assert described(runs, "stack", "peer", "suite") == {("plain@1", None, "none"), ("null@2", None, "s")}
    assert (matrix.has_tls("plain@1"), matrix.has_tls("null@2")) == (False, True)


def described(runs, *fields: str) -> set[tuple]:
    return {tuple(getattr(run, field) for field in fields) for run in runs}


def test_with_peers_every_stack_serves_every_client():
    asked = mem(stacks=["a@1", "b@1"], peers=["a@1", "b@1"], roles=["split"], suites=["s"], sessions=["1"], heap=0)
    found = described(matrix.campaign_runs(asked), "stack", "peer", "roles")
    assert found == {
        (stack, peer, "split") for stack, peer in (("a@1", None), ("a@1", "b@1"), ("b@1", "a@1"), ("b@1", None))
    }


def test_a_null_stack_is_the_peer_of_null_stacks_only():
    nulls = ["null@c", "null@rust"]
    runs = matrix.campaign_runs(
        mem(stacks=["null@c", "openssl@3.5.5"], peers=[*nulls, "openssl@3.5.5"], roles=["split"])
    )
    assert described(runs, "stack", "peer") == {("null@c", None), ("null@c", "null@rust"), ("openssl@3.5.5", None)}


def test_roles_and_environments_multiply_and_the_heap_is_metered_in_the_laboratory():
    runs = matrix.campaign_runs(mem(sites=None, roles=["together", "split"], envs=["lab", "deployed"]))
    assert len(runs) == 2 * (36 + 24)
    assert described(runs, "roles", "env", "meter") == {
        (roles, env, meter)
        for roles in ("together", "split")
        for env, meter in (("lab", "rss"), ("lab", "heap"), ("deployed", "rss"))
    }


def test_one_sites_run_for_each_stack_and_suite():
    asked = mem(
        sites="1/10", repeats=3, windows=[100, "all"], allocators=["system", "jemalloc"], envs=["lab", "deployed"]
    )
    sites = [run for run in matrix.campaign_runs(asked) if run.meter == "sites"]
    assert len(sites) == 6
    assert described(sites, "sessions", "repeat", "window", "allocator", "env") == {(1000, 1, 100, "system", "lab")}


def test_a_library_as_shipped_has_heap_runs_and_no_sites_run():
    asked = mem(stacks=["openssl+debian@3.5.9", "openssl@3.5.5"], peers=["openssl+debian@3.5.9", "openssl@3.5.5"])
    runs = matrix.campaign_runs(asked)
    assert {(run.stack, run.peer) for run in runs if run.meter == "sites"} == {("openssl@3.5.5", None)}
    assert len({(run.stack, run.peer) for run in runs if run.meter == "heap"}) == 4


def test_a_stack_with_an_allocator_of_its_own_is_not_metered():
    own = "rustls+aws-lc+jemalloc-rust@0.23.46"
    runs = matrix.campaign_runs(
        mem(stacks=["openssl@3.5.5", own], peers=["openssl@3.5.5", own], roles=["split"], sites="1")
    )
    assert described((run for run in runs if run.meter != "rss"), "stack", "peer") == {("openssl@3.5.5", None)}


@pytest.mark.parametrize(
    ("changes", "more"),
    [
        ({"roles": "split"}, "role=server"),
        ({"roles": "keep-client"}, "keep=client"),
        ({"env": "deployed"}, "aslr=on thp=host threads=4"),
        ({"env": "deployed-thp", "roles": "split"}, "role=server aslr=on thp=host threads=4"),
    ],
)
def test_arguments_say_roles_and_environment(changes, more):
    run = Run("openssl@3.5.5", "tls13-rsa-aes256", "system", 100, 1000, "rss", 1)
    suite = suites()["tls13-rsa-aes256"]
    assert argv(replace(run, **changes), suite) == [*argv(run, suite), *more.split()]


def test_the_client_of_a_mixed_pair_is_the_peers_harness():
    run = Run("a@1", "none", "system", "all", 2, "rss", 1, roles="split", peer="b@1")
    suite = suites()["none"]
    for role, stack in (("server", "a@1"), ("client", "b@1")):
        words = argv(run, suite, role)
        assert (words[0], words[-1]) == (f"build/harness/{stack}", f"role={role}")


def test_arguments_say_the_whole_suite():
    run = Run("openssl@3.5.5", "tls13-rsa-aes256", "system", 100, 1000, "rss", 1)
    assert " ".join(argv(run, suites()["tls13-rsa-aes256"])) == (
        "build/harness/openssl@3.5.5 memory sessions=1000 protocol=TLSv1.3 cipher=TLS_AES_256_GCM_SHA384 group=X25519 "
        "certs=memtest/certs/rsa-2048 auth=server tickets=0 store=off resume=off options=default "
        "window=100"
    )


def test_no_certificates_are_no_directory():
    run = Run("null@c", "none", "system", "all", 2, "rss", 1)
    none = Suite(protocol="none", cipher="none", group="none", certs="none", auth="none")
    assert "certs=none" in argv(run, none)
