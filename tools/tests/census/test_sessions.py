"""The census of a program that holds known numbers of sessions in each state."""

import os
from array import array
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis.strategies import integers, lists

from tests.census.conftest import Holder, compile_c
from tlsmem.census.census import take_census
from tlsmem.census.sessions import Role, State, number_values
from tlsmem.census.sockets import SocketState

CREATED, HALF_OPEN, ESTABLISHED = 50, 70, 90
STEPS = ("start", "created", "half-open", "established", "closed")
STATES = {
    "created": (Role.UNKNOWN, State.CREATED),
    "half-open": (Role.SERVER, State.HALF_OPEN),
    "established": (Role.SERVER, State.ESTABLISHED),
}
ONCE_BYTES = 8192  # that the library makes with the first session in a state, and keeps


def mapped_pages(pid):
    """How many pages of a process are mapped, those of zeros too."""
    count = 0
    with open(f"/proc/{pid}/pagemap", "rb", buffering=0) as pagemap:
        for line in Path(f"/proc/{pid}/maps").read_text().splitlines():
            begin, end = (int(place, 16) // 4096 for place in line.split()[0].split("-"))
            if begin < 1 << 36:
                count += sum(
                    entry >> 63 for entry in array("Q", os.pread(pagemap.fileno(), 8 * (end - begin), 8 * begin))
                )
    return count


@pytest.fixture(
    scope="module",
    params=[
        pytest.param(([], {}), id="plain"),
        # as stunnel has it: bytes of its own around each block, and those of a page have a mapping of their own
        pytest.param((["-DBEFORE=80", "-DBEHIND=16"], {}), id="wrapped"),
        pytest.param(([], {"LD_PRELOAD": "wraps_malloc"}), id="with another malloc"),
        pytest.param(([], {"MALLOC_MMAP_THRESHOLD_": "4096"}), id="mmapped"),
        pytest.param((["-no-pie"], {}), id="below 4 GiB"),  # where programs that are loaded at a fixed address have it
        pytest.param((["-DDIRTY"], {}), id="pointers left in what was freed"),
        pytest.param((["-DBEFORE=16", "-DBEHIND=0"], {"MALLOC_MMAP_THRESHOLD_": "4096"}), id="wrapped, mmapped"),
    ],
)
def looks(request, compile_holder, certificate, tmp_path_factory):
    """The census after each step, and what malloc had in use."""
    flags, variables = request.param
    if source := variables.get("LD_PRELOAD"):
        library = tmp_path_factory.mktemp("preloaded") / f"{source}.so"
        variables = {"LD_PRELOAD": str(compile_c(f"{source}.c", library, "-shared", "-fPIC"))}
    holder_program = compile_holder(*flags)
    holder = Holder([holder_program, *certificate, *map(str, (CREATED, HALF_OPEN, ESTABLISHED))], **variables)
    found, line = {}, holder.read()
    for step in STEPS:
        assert line["step"] == step
        before = mapped_pages(holder.pid)
        ((process,), remarks) = take_census([holder.pid])
        assert not remarks
        found[step] = process, line["in_use"], mapped_pages(holder.pid) - before
        line = holder.step() if step != STEPS[-1] else line
    holder.close()
    return found


def groups(look):
    (library,) = look[0].libraries
    return {(group.role, group.state): group for group in library.groups}


@pytest.mark.parametrize(
    ("step", "counts"),
    [
        ("start", {}),
        ("created", {"created": CREATED}),
        ("half-open", {"created": CREATED, "half-open": HALF_OPEN}),
        ("established", {"created": CREATED, "half-open": HALF_OPEN, "established": ESTABLISHED}),
        ("closed", {"established": ESTABLISHED // 2}),
    ],
)
def test_sessions_are_counted_by_role_and_state(looks, step, counts):
    found = {key: group.count for key, group in groups(looks[step]).items()}
    assert found == {STATES[name]: count for name, count in counts.items()}


@pytest.mark.parametrize("step", STEPS)
def test_each_session_that_was_given_a_socket_has_it_open(looks, step):
    for (_, state), group in groups(looks[step]).items():
        expected = SocketState.NOT_SET if state == State.CREATED else SocketState.OPEN
        assert group.sockets == {expected: group.count}


@pytest.mark.parametrize("step", ["created", "half-open", "established"])
def test_bytes_are_those_that_malloc_handed_out_for_the_sessions(looks, step):
    before = looks[STEPS[STEPS.index(step) - 1]][1]
    added = looks[step][1] - before
    held = groups(looks[step])[STATES[step]].bytes
    assert held == pytest.approx(added, rel=0.02, abs=ONCE_BYTES)


def test_tickets_are_counted_of_sessions_that_have_one(looks):
    counts = {step: look[0].libraries[0].objects["SSL_SESSION"] for step, look in looks.items()}
    with_hello = HALF_OPEN + ESTABLISHED
    assert counts == {
        "start": 0,
        "created": 0,
        "half-open": HALF_OPEN,
        "established": with_hello,
        "closed": ESTABLISHED // 2,
    }


@pytest.mark.parametrize("step", STEPS)
def test_the_parts_are_all_that_is_resident(looks, step):
    process = looks[step][0]
    assert process.rss.unexplained_bytes == 0
    parts = process.resident_parts
    assert parts["tls"] == process.tls_bytes and sum(parts.values()) == process.rss.anon_bytes
    assert all(size >= 0 for size in parts.values())


def test_a_look_maps_no_page(looks):
    assert {step: mapped for step, (_, _, mapped) in looks.items()} == dict.fromkeys(STEPS, 0)


@given(lists(integers(0, 50) | integers(0, 10**12), max_size=60))
def test_numbers_are_counted_as_numpy_does(values):
    array = np.array(values, np.int64)
    distinct, which, counts = number_values(array)
    assert distinct.tolist() == sorted(set(values))
    assert distinct[which].tolist() == values
    assert counts.tolist() == [values.count(one) for one in distinct.tolist()]
