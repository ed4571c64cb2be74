"""An interval where repeats vary, and none where they do not."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.support import synthetic
from tlsmem.stats import remainders, session_cost
from tlsmem.stats.bootstrap import slope_interval
from tlsmem.stats.selection import select
from tlsmem.stats.session_cost import HeapCost, Quotient
from tlsmem.tables import heap as session_costs

VARYING = st.lists(st.integers(0, 10**9), min_size=2, max_size=6)


def test_one_run_a_point_has_no_interval():
    assert slope_interval({100: [1000.0], 200: [2000.0], 300: [3000.0]}) is None
    assert slope_interval({100: [1000.0, 1001.0], 200: [2000.0]}) is None


def test_repeats_that_do_not_vary_have_no_interval():
    assert slope_interval({100: [1000.0] * 5, 200: [2000.0] * 5}) is None


def test_one_n_has_no_interval():
    assert slope_interval({100: [1000.0, 1001.0]}) is None


@pytest.mark.thorough
@settings(deadline=None)
@given(st.dictionaries(st.integers(1, 10**5).map(lambda pairs: 2 * pairs), VARYING, min_size=2, max_size=4))
def test_an_interval_lies_within_the_steepest_and_the_flattest_line(points):
    found = slope_interval(points)
    if found is None:
        return
    middle = sum(points) / len(points)
    weight = sum((n - middle) ** 2 for n in points) / 2
    extremes = [
        sum(
            (n - middle) * pick(values if n > middle else [-one for one in values]) * (1 if n > middle else -1)
            for n, values in points.items()
        )
        / weight
        for pick in (min, max)
    ]
    slack = 1e-6 * max(map(abs, [*extremes, 1]))
    assert extremes[0] - slack <= found.low <= found.high <= extremes[1] + slack


def test_the_same_repeats_give_the_same_interval():
    points = {100: [1000.0, 1010.0, 1003.0], 200: [2000.0, 2020.0, 1990.0]}
    assert slope_interval(points) == slope_interval(points)


def test_it_holds_the_slope():
    found = slope_interval({100: [1000.0, 1010.0], 200: [2000.0, 2010.0]})
    assert (found.low, found.high) == (19.8, 20.2)


# What is left over


def heap_runs(certs: str, extra: int, options: tuple[str, ...] = ()):
    """At two N, 450 sessions of a role apart; of the larger one's clients so many bytes more are live, in all."""
    argv = ["build/harness/x", "memory", f"certs=memtest/certs/{certs}", *options]
    counts = {100: 0, 1000: extra}
    return tuple(synthetic.record("openssl@3.5.5", "s", n, "heap", more, argv=argv) for n, more in counts.items())


def left_over(certs: str, extra: int, of_blocks: int = 0, *options: str):
    pair = heap_runs(certs, 0, options)[0], from_sessions_on(heap_runs(certs, extra, options)[1])
    cost = session_cost.live_cost(*pair, "client", "established")
    blocks = Quotient(cost.blocks.amount + of_blocks, cost.blocks.sessions)
    return remainders.find_cause(pair, "client", HeapCost(cost.phase, cost.bytes, blocks))


def from_sessions_on(run):
    """Without what was planted before there were sessions."""
    heap = run.phases[0].heap
    before = heap.model_copy(update={"client": heap.client.model_copy(update={"live_bytes": 0, "peak_bytes": 0})})
    return run.model_copy(update={"phases": [run.phases[0].model_copy(update={"heap": before}), *run.phases[1:]]})


def test_nothing_left_over_has_no_name():
    assert left_over("ecdsa-p256", 450 * 7, 450) is None


def test_what_is_left_over_is_named():
    assert left_over("ecdsa-p256", 450 * 7 + 3, 450) == "signature"
    assert left_over("rsa-2048", 450 * 7 + 3, 450, "tickets=2") == "resumption"
    assert left_over("rsa-2048", 450 * 7 + 3, 450, "tickets=0", "store=on") == "resumption"


def test_what_is_not_known_is_said_to_be():
    assert left_over("rsa-2048", 450 * 7 + 3, 450, "tickets=0") == "unknown"
    assert left_over("ecdsa-p256", 450 * 7 + 3, 451) == "unknown"


def test_no_signature_is_longer_than_signatures_are():
    """500 sessions that lie 16 bytes apart, and one byte more; a role's bound twice for a pair."""
    assert left_over("ecdsa-p256", 500 * 16) == "signature"
    assert left_over("ecdsa-p256", 500 * 16 + 1) == left_over("ecdsa-p256", 100_003) == "unknown"


def of_server(certs: str, contexts: int, sessions: int, of_blocks: int = 0):
    """So much more at the larger N: in the server's contexts, and then beside what its sessions hold."""

    def with_contexts(run, more: int, then: int):
        phases = [phase.model_dump() for phase in run.phases]
        for at, phase in enumerate(phases):
            phase["heap"]["server"]["live_bytes"] += 100 + more + (then if at else 0)
        return type(run).model_validate(run.model_dump(by_alias=True) | {"phases": phases})

    few, many = heap_runs(certs, 0)
    pair = with_contexts(few, 0, 0), with_contexts(many, contexts, sessions)
    cost = session_cost.live_cost(*pair, "server", "established")
    blocks = Quotient(cost.blocks.amount + of_blocks, cost.blocks.sessions)
    return remainders.find_cause(pair, "server", HeapCost(cost.phase, cost.bytes, blocks))


@pytest.mark.parametrize("planted", [(16, 0), (-16, 0), (0, 16), (-16, 15), (16, 16)])
def test_what_blinds_a_server_s_rsa_key_is_named(planted):
    """Longer or shorter in the contexts, and renewed after them."""
    assert of_server("rsa-2048", *planted) == "blinding"


def test_a_client_has_a_key_to_blind_where_it_is_authenticated():
    few_bytes = 12  # over all sessions
    assert left_over("rsa-2048", few_bytes, 0, "auth=mutual") == "blinding"
    assert left_over("rsa-2048", few_bytes, 0, "auth=server") == "unknown"
    assert left_over("rsa-2048", 17, 0, "auth=mutual") == "unknown"


@pytest.mark.parametrize("planted", [(17, 0), (-17, 0), (0, 17), (0, -17), (16, 0, 1)])
def test_no_more_than_what_blinds_a_key_once_is_named_so(planted):
    assert of_server("rsa-2048", *planted) == "unknown"
    assert of_server("none", 16, 0) == "unknown"


def of_peak(**planted: int):
    """Each figure of the client's peak in `client 1`, so much more at the larger N."""
    few, many = heap_runs("ecdsa-p256", 0)
    phases = [phase.model_dump() for phase in many.phases]
    for name, more in planted.items():
        phases[2]["heap"]["client"][name] += more
    pair = few, type(many).model_validate(many.model_dump(by_alias=True) | {"phases": phases})
    return remainders.find_peak_cause(pair, "client", session_cost.phase_peak_cost(*pair, "client", "client 1"))


def test_what_is_left_over_at_a_peak_is_named():
    assert of_peak() is None
    assert of_peak(peak_bytes=1) == "signature"
    assert of_peak(peak_bytes=500 * 16 + 1) == of_peak(peak_bytes=1, peak_blocks=1) == "unknown"


def test_the_table_of_live_heap_names_what_is_left_over_and_how_far_repeats_lie_apart():
    argv = ["build/harness/x", "memory", "certs=memtest/certs/ecdsa-p256"]
    left = {(100, 1): 0, (100, 2): 0, (100, 3): 0, (1000, 1): 12, (1000, 2): 462, (1000, 3): 12}
    runs = [
        synthetic.record("openssl@3.5.5", "ecdsa", n, "heap", extra, argv=argv, repeat=repeat)
        for (n, repeat), extra in left.items()
    ]
    notes = "".join(session_costs.heap_costs(select(runs)).notes())
    assert "sessions are not all alike: DER signature length: ECDSA; 64,000.03 to 64,001.03 over repeats" in notes
