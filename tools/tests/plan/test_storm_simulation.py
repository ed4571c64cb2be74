"""Storms with answers known by hand or from queueing theory, and memory in their course."""

from dataclasses import replace

import numpy
import pytest
from hypothesis import given, settings, strategies

from tlsmem.plan.capacity import Price, apply_littles_law
from tlsmem.plan.configuration import Configuration
from tlsmem.plan.connection_model import ConnectionModel, MachineIdentity
from tlsmem.plan.storm_simulation import Service, StormMemory, arrivals, simulate

NOW = numpy.array
MACHINE = MachineIdentity("a CPU", 2, None)
MODEL = ConnectionModel(
    "null@c", "tls13-rsa-aes256", "system", "server", "measured", 100, 10, 50, 1000, Configuration(), MACHINE
)
PRICE = Price(fixed=100, tls=10, handshake=50, record=0, kernel=1)


def test_one_client_takes_its_handshake_and_the_way():
    course = simulate([2.0], Service(each=0.5, cores=1, away=0.25))
    assert (course.begun, course.left, course.waits) == ([2.0], [2.75], {0: 0.75})


def test_all_at_once_on_one_core_are_in_the_handshake_until_the_last_hello_is_taken():
    """Four hellos of a second each, no way: what the first client sends stands behind the last hello."""
    course = simulate([0.0] * 4, Service(each=1.0, cores=1, away=0.0))
    assert course.begun == [0.0, 1.0, 2.0, 3.0]
    assert course.left == [4.0] * 4
    assert course.shaking(NOW([0.5, 1.5, 2.5, 3.5, 4.0])).tolist() == [1, 2, 3, 4, 0]
    assert course.queued(NOW([0.5, 3.5])).tolist() == [3, 0]


def test_two_cores_take_two_hellos_at_a_time():
    course = simulate([0.0] * 4, Service(each=1.0, cores=2, away=0.5))
    assert course.begun == [0.0, 0.0, 1.0, 1.0]
    assert course.left == [2.0, 2.0, 2.5, 2.5]


def test_a_limit_leaves_the_others_outside_without_a_session():
    course = simulate([0.0] * 3, Service(each=1.0, cores=1, away=0.0, limit=1))
    assert course.begun == [0.0, 1.0, 2.0]
    assert course.left == [1.0, 2.0, 3.0]
    assert course.shaking(course.times).max() == 1
    assert course.connections(NOW([0.5])).tolist() == [3]
    assert course.sessions(NOW([0.5])).tolist() == [1]


def test_who_gives_up_comes_back_later_and_the_work_was_for_nothing():
    """What the first sends stands behind the second's hello, until 2.0: it gives up at 1.9, and is back at 2.9."""
    course = simulate([0.0, 0.2], Service(each=1.0, cores=1, away=0.0, timeout=1.9, retry=1.0))
    assert (course.attempts, course.lost) == (3, 0)
    assert course.left == pytest.approx([2.0, 2.0, 3.9])
    assert course.established == pytest.approx([2.0, 3.9])
    assert course.waits == pytest.approx({0: 3.9, 1: 1.8})


def test_clients_that_come_back_at_the_same_time_hinder_each_other_unless_times_are_spread():
    alike = Service(each=1.0, cores=1, away=0.0, timeout=1.5, retry=1.0)
    assert simulate([0.0, 0.0], alike).lost == 2
    assert simulate([0.0, 0.0], replace(alike, spread=0.5)).lost == 0


def test_clients_that_never_get_in_are_lost():
    course = simulate([0.0], Service(each=1.0, cores=1, away=0.0, timeout=0.5, retry=1.0, attempts=3))
    assert (course.attempts, course.lost, course.established) == (3, 1, [])
    assert course.sessions(NOW([100.0])).tolist() == [0]


@pytest.mark.thorough
def test_the_queue_waits_as_long_as_pollaczek_and_khinchine_say():
    """M/D/1 at a load of 0.8: the mean wait is load x service / (2 (1 - load)) = 2 services."""
    times = arrivals(100_000, 125_000.0, "poisson", seed=7)
    course = simulate(times, Service(each=1.0, cores=1, away=0.0))
    waits = NOW(course.begun) - NOW(course.arrived)
    assert waits.mean() == pytest.approx(2.0, rel=0.05)


@pytest.mark.thorough
def test_two_cores_at_the_same_load_let_wait_half_as_long_or_less():
    """M/D/2 at a load of 0.8: 0.90 services by Cosmetatos' approximation, which is within 2 % of the exact."""
    times = arrivals(100_000, 62_500.0, "poisson", seed=7)
    course = simulate(times, Service(each=1.0, cores=2, away=0.0))
    assert (NOW(course.begun) - NOW(course.arrived)).mean() == pytest.approx(0.90, rel=0.05)


def test_littles_law_holds_where_no_queue_is():
    """Evenly spaced, 10 a second, each a tenth of a core's second and half a second away: 0.6 s x 10 = 6 at once."""
    course = simulate(arrivals(1000, 100.0, "even", 1), Service(each=0.1, cores=2, away=0.5))
    seen = course.shaking(numpy.linspace(20.005, 79.995, 999))
    assert seen.mean() == pytest.approx(apply_littles_law(10, 0.6), abs=0.1)


def test_arrivals_are_the_same_for_a_seed_and_lie_where_they_should():
    one, same, other = (arrivals(1000, 10.0, "uniform", seed) for seed in (1, 1, 2))
    assert (one == same).all()
    assert (one != other).any()
    assert 0 <= one.min() <= one.max() <= 10
    assert (numpy.diff(one) >= 0).all()
    assert arrivals(4, 2.0, "even", 1).tolist() == [0.0, 0.5, 1.0, 1.5]
    assert arrivals(3, 2.0, "at-once", 1).tolist() == [0.0] * 3


clients = strategies.lists(strategies.floats(0, 10), min_size=1, max_size=40).map(sorted)
services = strategies.builds(
    Service,
    each=strategies.floats(0.01, 1),
    cores=strategies.integers(1, 4),
    away=strategies.floats(0, 1),
    limit=strategies.none() | strategies.integers(1, 5),
)


@settings(max_examples=60)
@given(clients, services)
def test_everybody_comes_in_and_nobody_sooner_than_work_and_way(times, service):
    course = simulate(times, service)
    assert len(course.established) == len(times)
    assert min(course.waits.values()) >= service.each + service.away - 1e-9
    assert all(sorted(found) == found for found in (course.arrived, course.entered, course.begun, course.left))
    busy = max(0, len(times) // service.cores) * service.each
    assert course.left[-1] >= busy - 1e-9
    if service.limit:
        assert course.shaking(course.times).max() <= service.limit


@settings(max_examples=60)
@given(clients, services)
def test_what_glibc_holds_never_falls_while_connections_stay(times, service):
    made = StormMemory(MODEL, PRICE, simulate(times, service))
    sizes = made.bytes_at(made.course.times)
    assert (numpy.diff(sizes) >= 0).all()
    most = made.most_shaking
    assert made.end == 100 + len(times) * (10 + 1) + most * 50
    assert made.peak[1] == sizes.max()


def test_the_memory_of_a_storm_by_hand():
    """Four at once, as above, beside 5 connections: fixed, 9 E, 9 K, and 4 H from the fourth hello on."""
    course = simulate([0.0] * 4, Service(each=1.0, cores=1, away=0.0))
    made = StormMemory(MODEL, PRICE, course, before=5)
    assert made.start == 100 + 5 * 11
    assert made.bytes_at(NOW([0.0, 1.0, 3.0, 4.0])).tolist() == [100 + 9 * 11 + W * 50 for W in (1, 2, 4, 4)]
    assert made.peak == (3.0, 100 + 9 * 11 + 200)


def test_a_storm_uses_what_the_process_has():
    """The same, of a server whose first connections use 93 B of its process. Before there are any, none is used, and
    no more than they need."""
    course = simulate([0.0] * 4, Service(each=1.0, cores=1, away=0.0))
    made = StormMemory(MODEL, PRICE._replace(first=-93), course, before=5)
    assert made.bytes_at(NOW([1.0, 3.0, 4.0])).tolist() == [100 - 93 + 9 * 11 + W * 50 for W in (2, 4, 4)]
    alone = StormMemory(MODEL, PRICE._replace(first=7), course)
    assert (alone.start, alone.end) == (100, 100 + 7 + 4 * 11 + 4 * 50)
    assert StormMemory(MODEL, PRICE._replace(first=-10_000), course, before=5).start == 100 + 5


def test_an_allocator_that_gives_back_falls_after_the_handshakes():
    course = simulate([0.0] * 4, Service(each=1.0, cores=1, away=0.0))
    made = StormMemory(replace(MODEL, handshake_retention=0.25), PRICE, course)
    assert made.peak[1] - made.end == 0.75 * 4 * 50
