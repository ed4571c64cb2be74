"""What is wrong is said by name, and of sound recordings nothing is."""

import pytest

from tests.support import synthetic
from tests.tables.test_accounts import rss_runs, run, straight, with_books
from tests.tables.test_reconciliation import sites_run
from tlsmem.base.paths import ROOT
from tlsmem.selfcheck import audit
from tlsmem.store import read_runs
from tlsmem.store.read_runs import load_lines

OPENSSL, SUITE, NULL = "openssl@3.5.5", "tls13-rsa-aes256", "null@c"
COMMITTED = ROOT / "data" / "2026-11-21-amd-epyc"


def heap_run(stack, suite, sessions, *, phases=(), bytes_each=0, blocks_each=0, once=0, role="client", **changes):
    """A heap run in which, at these phases, sessions of the role have so much more live, and the role so much once."""
    pairs = sessions // 2
    made = [synthetic.phase(name, synthetic.SHAPES[stack], sessions, "heap", 0) for name in synthetic.PHASES]
    for phase in made:
        if phase["phase"] in phases:
            for owner in role.split():
                phase["heap"][owner]["live_bytes"] += bytes_each * pairs + once * (sessions > 100)
                phase["heap"][owner]["live_blocks"] += blocks_each * pairs
    return synthetic.record(stack, suite, sessions, "heap", schema=2, phases=made, **changes)


def findings(stack=OPENSSL, suite=SUITE, **planted):
    return audit.findings([heap_run(stack, suite, sessions, **planted) for sessions in (100, 1000)])


AFTER = ("closed", "trimmed", "freed")
WHERE = f"{OPENSSL}, {SUITE}"


def test_sound_runs_have_no_findings():
    assert findings() == findings(NULL, "none") == []


def test_what_was_always_live_is_no_leak():
    assert audit.findings([heap_run(OPENSSL, SUITE, n, phases=AFTER, once=10) for n in (200, 1000)]) == []


def test_a_leak_is_said_with_its_role():
    (said,) = findings(phases=AFTER, bytes_each=64, blocks_each=1)
    assert said == f"leak: {WHERE}: 64 B in 1 block per client session are live after everything is freed"


def test_a_leak_of_both_roles_is_one_sentence():
    (said,) = findings(phases=AFTER, bytes_each=64, blocks_each=2, role="client server")
    assert said == f"leak: {WHERE}: 64 B in 2 blocks per session of either role are live after everything is freed"


def test_a_table_that_is_never_freed_is_a_leak():
    (said,) = findings(phases=("freed",), once=4096, role="server_context")
    assert said.startswith(f"leak: {WHERE}: 9 + 46/450 B in 0 blocks per session of the server's context")


def test_what_a_context_keeps_is_state():
    (said,) = findings(phases=("closed", "trimmed"), bytes_each=200, blocks_each=1, role="server")
    assert said.startswith(f"state: {WHERE}: 200 B in 1 block per server session are kept after it is closed")
    (said,) = findings(phases=("closed", "trimmed"), bytes_each=200, blocks_each=1, role="client_context")
    assert said.startswith(f"state: {WHERE}: 200 B in 1 block per client session are kept")


def test_what_blinds_a_key_once_is_no_state():
    """One process's key takes so many bytes more than the other's, from the warm-up until its context is freed."""
    until_freed = synthetic.PHASES[:-1]
    assert findings(phases=until_freed, once=16, role="server") == []
    said = findings(phases=until_freed, once=17, role="server")
    assert f"state: {WHERE}: 0 + 17/450 B in 0 blocks per server session are kept" in said[0]


def test_clients_with_a_certificate_each_have_a_context_each():
    words = ["x", "memory", "certs=memtest/certs/ecdsa-p256-clients", "auth=mutual"]
    kept = {"phases": ("closed", "trimmed"), "bytes_each": 200, "blocks_each": 1, "role": "client_context"}
    assert findings(**kept, argv=[*words, "client_certs=each"]) == []
    assert len(findings(**kept, argv=words)) == 1
    uneven = {"phases": ("client 2", "established"), "once": 100_003}
    assert findings(**uneven, argv=[*words, "client_certs=each"]) == []
    assert len(findings(**uneven, argv=words)) == 1
    assert len(findings(**kept | {"role": "server"}, argv=[*words, "client_certs=each"])) == 1


def test_a_suite_that_asks_for_resumption_may_keep_state():
    argv = ["x", "memory", "certs=memtest/certs/rsa-2048", "tickets=2"]
    assert findings(phases=("closed", "trimmed"), bytes_each=200, role="server", argv=argv) == []


def test_sessions_that_are_not_alike_are_uneven():
    (said,) = findings(phases=("client 2", "established"), once=12)
    assert said == f"uneven: {WHERE}: 64,000 + 12/450 B in 240 blocks per client session are live in `client 2`"


def test_what_has_a_name_is_not_uneven():
    argv = ["x", "memory", "certs=memtest/certs/ecdsa-p256", "tickets=0"]
    assert findings(phases=("established",), once=12, argv=argv) == []


def test_of_windows_only_the_sessions_at_rest_are_judged():
    assert findings(phases=("client 2",), once=12, window=10) == []
    assert len(findings(phases=("established",), once=12, window=10)) == 1


def test_the_null_stacks_heap_is_known():
    (said,) = findings(NULL, "none", phases=("established",), bytes_each=8, blocks_each=1)
    assert said == "null: null@c, none: a client session has 4,080 B in 4 blocks live, where 4,072 B in 3 are right"


@pytest.mark.parametrize("off, count", [(0, 0), (4096, 0), (8192, 1), (-8192, 1)])
def test_the_null_stacks_pages_are_known_within_one(off, count):
    def rss_run(sessions):
        phase = synthetic.phase("established", synthetic.SHAPES[NULL], sessions, "rss", 0)
        phase["rss_anon_bytes"] = 100_000 + 4096 * sessions + off * (sessions > 100)
        return synthetic.record(NULL, "none", sessions, schema=2, phases=[phase])

    found = audit.findings([rss_run(sessions) for sessions in (100, 1000)])
    assert [one.split(":")[0] for one in found] == ["null"] * count


@pytest.mark.parametrize(
    "pairs, off, count", [(50, 2**20, 0), (50, 2**20 + 1, 1), (50, -(2**20) - 1, 1), (5000, 2**21, 0)]
)
def test_counters_that_a_walk_belies_are_said(pairs, off, count):
    """By more than a mebibyte, and by more than one part in a hundred where there is much."""
    rss = 130_000 * pairs + 3
    found = audit.findings([run(2 * pairs, straight(pairs), {"rollup_rss_bytes": rss + off})])
    text = f"`established`: a walk of the page tables finds {rss + off:,} B, the kernel's counters tell {rss:,}"
    assert found == [f"rss: {WHERE}: {text}"] * count


def test_books_that_do_not_see_all_are_said():
    blind = {"glibc": {"arena_bytes": 150_000, "hblkhd_bytes": 0, "uordblks_bytes": 60_000}}
    (said,) = audit.findings([*with_books(blind), *(heap_run(OPENSSL, SUITE, n) for n in (100, 1000))])
    assert said == (
        f"books: {WHERE}: the statistics of glibc rise by 60,000 B per pair, less than the 116,000 that are requested"
    )


def test_books_that_see_all_are_not():
    assert audit.findings([*rss_runs(), *(heap_run(OPENSSL, SUITE, n) for n in (100, 1000))]) == []


def test_records_without_the_phase_freed_are_not_judged_by_it():
    def early(run):
        return run.model_copy(update={"phases": [phase for phase in run.phases if phase.phase != "freed"]})

    runs = load_lines(early(heap_run(OPENSSL, SUITE, n, phases=AFTER, bytes_each=64)) for n in (100, 1000))
    assert audit.findings(runs) == []


def test_the_committed_recording_has_no_findings():
    assert audit.findings(read_runs.load(COMMITTED)) == []


def test_pairs_that_are_not_alike_are_said_with_their_process():
    (said,) = audit.findings([sites_run(alike=1)])
    assert said == f"sites: {WHERE}: `sessions`: 49 of 50 pairs are not like the chosen one"
    found = audit.findings([sites_run(alike=1, roles="split")])
    assert [one.split(": ")[1] for one in found] == [
        f"{WHERE}, split, the {role}'s process" for role in ("client", "server")
    ]


def apart(extra: int = 0):
    """Heap runs together and split; in the split ones clients have so much more in all at the larger N."""
    for sessions in (100, 1000):
        yield heap_run(OPENSSL, SUITE, sessions)
        more = extra if sessions > 100 else 0
        yield synthetic.record(OPENSSL, SUITE, sessions, "heap", extra=more, roles="split", schema=2)


def test_roles_apart_that_add_up_have_no_finding():
    assert audit.findings(apart()) == []


def test_roles_apart_that_do_not_add_up_are_split():
    said = audit.findings(apart(450 * 64))
    assert [one for one in said if one.startswith("split: openssl@3.5.5, tls13-rsa-aes256, split")]
