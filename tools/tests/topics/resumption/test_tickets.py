"""What tickets cost and what resumed sessions take over: differences of sizes that are chosen."""

from fractions import Fraction

import pytest

from tests.support import synthetic
from tlsmem.stats.missing import Missing
from tlsmem.topics.resumption.tickets import IN_USE, REST, find_cases, find_resumed, find_tickets

NAMES = ("contexts", "sessions", "client 1", "server 1", "client 2", "server 2", "established", "payload", "reply")
PHASES = (*NAMES, "full payload", "full reply", "blocked", "idle", "closed", "trimmed", "freed")
WITHOUT = {"client": 47_592, "server": 37_286}
SENT = {"0": 3_575, "1": 3_830, "2": 4_085, "4": 4_595}


def phase(name, pairs, held, sent, tickets):
    """One line: so many bytes for each pair of each owner, in phases with sessions."""
    made = {"phase": name, "process": "both", "rss_bytes": 1 << 20, "rss_anon_bytes": 1 << 20, "rss_file_bytes": 0}
    made |= {"rss_shmem_bytes": 0, "peak_rss_bytes": 1 << 20, "minor_faults": 0, "major_faults": 0, "wire_bytes": 0}
    there = pairs if PHASES.index(name) in range(1, PHASES.index("closed")) else 0
    counts = {owner: synthetic.heap(there * size, there, there * size) for owner, size in held.items()}
    total = there * sum(held.values())
    counts |= {"harness": synthetic.heap(0, 0, 0), "total": synthetic.heap(total, there * len(held), total)}
    later = PHASES.index(name) > PHASES.index("server 1")
    made |= {"client_sent_bytes": 0, "server_sent_bytes": 9 + pairs * sent * later, "tickets": pairs * tickets * later}
    return made | {"heap": counts}


def run(pairs, tickets="0", resume="off", taken=0, **more):
    """One heap run; `more` bytes of a role in each session beyond those without tickets."""
    held = {"client_context": taken, "server_context": 0} | {
        role: WITHOUT[role] + more.get(role, 0) for role in WITHOUT
    }
    count = 0 if tickets == "library" else int(tickets)
    phases = [phase(name, pairs, held, SENT.get(tickets, 0), count) for name in PHASES]
    keys = [f"tickets={tickets}", "store=off", f"resume={resume}", "data=full", "auth=server"]
    suite = ["protocol=TLSv1.3", "cipher=TLS_AES_256_GCM_SHA384", "group=X25519", "certs=memtest/certs/rsa-2048"]
    argv = ["build/harness/openssl@3.5.5", "memory", f"sessions={2 * pairs}", *suite, *keys]
    name = "tls13-rsa-aes256" + ("-ticket" if resume == "on" else f"+tickets-{tickets}")
    return synthetic.record("openssl@3.5.5", name, 2 * pairs, "heap", phases=phases, argv=argv, roles="together")


def both(**given):
    """The runs at two numbers of sessions."""
    return [run(pairs, **given) for pairs in (10, 100)]


RUNS = [*both(), *both(tickets="1", server=16_569, client=208), *both(tickets="4", server=16_575, client=208)]


def row(role, runs=None):
    """What is found of a role."""
    return next(one for one in find_tickets(runs or RUNS) if one.role == role)


def test_the_first_ticket_and_each_more_are_apart():
    assert [row("server").first(name) for name in (REST, IN_USE)] == [16_569, 16_569]
    assert row("server").further() == 2  # 6 bytes over three tickets
    assert (row("client").first(), row("client").further()) == (208, 0)


def test_a_ticket_on_the_wire_is_what_a_server_sends_more():
    assert row("server").wire == 255
    assert row("client").wire == Missing("servers send them")


def test_one_byte_more_of_each_session_is_seen():
    runs = [*both(), *both(tickets="1", server=16_570)]
    assert row("server", runs).first() == 16_570
    assert row("server", runs).further() == Missing("there is one ticket")


@pytest.mark.parametrize("taken", [0, 10_474])
def test_what_a_resumed_session_takes_over_is_part_of_what_it_holds(taken):
    resumed = both(tickets="1", resume="on", taken=taken, client=-9_676, server=16_321)
    client = next(one for one in find_resumed([*RUNS, *resumed]) if one.role == "client")
    assert (client.live(REST), client.taken(REST)) == (WITHOUT["client"] - 9_676, taken)
    assert client.difference(REST) == Fraction(taken - 9_676 - 208)
    assert client.by == "ticket"


def test_runs_that_differ_in_more_than_tickets_are_no_case():
    assert len(find_cases(RUNS)) == 1
    assert not find_cases([one.model_copy(update={"roles": "split"}) for one in RUNS])


def test_a_run_in_which_not_all_were_resumed_is_the_reason_why_there_is_no_figure():
    """wolfSSL's store of the default size resumes 66 of 200 sessions."""
    few, many = both(resume="on")
    failed = many.model_copy(update={"status": "failed", "reason": "exit 1: resumed 66 of 200 sessions", "phases": []})
    for one in find_resumed([*both(), few, failed]):
        assert one.resumed.live(one.role, REST) == Missing("exit 1: resumed 66 of 200 sessions")
