"""Which session has which socket: of descriptors that are made up, and of programs with BIOs of several kinds."""

import subprocess
import sys

import numpy as np
import pytest

from tests.census.conftest import Holder, compile_c
from tlsmem.census import census
from tlsmem.census.census import find_libraries, take_census
from tlsmem.census.live_heap import chunk_bytes, read_live_heap
from tlsmem.census.report import summarise
from tlsmem.census.sessions import add_up_sockets
from tlsmem.census.sockets import (
    Endpoints,
    Kind,
    SocketState,
    compute_checksums,
    confirm_closed,
    list_descriptors,
    name_kind,
    pair,
)
from tlsmem.census.target import read_target

OPEN, CLOSED, NOT_SET, UNKNOWN = SocketState.OPEN, SocketState.CLOSED, SocketState.NOT_SET, SocketState.UNKNOWN


def pair_one_kind(kind, numbers, *looks):
    return pair(Endpoints(np.full(len(numbers), kind), np.array(numbers)), looks)


def test_a_number_that_is_no_open_socket_is_closed():
    descriptors = {4: "11", 5: None}
    assert pair_one_kind(Kind.SOCKET, [4, 5, 6, -1], descriptors, descriptors) == [OPEN, CLOSED, CLOSED, CLOSED]


def test_of_sessions_with_the_same_number_one_has_the_socket():
    assert pair_one_kind(Kind.SOCKET, [4, 4, 4], {4: "11"}, {4: "11"}) == [OPEN, CLOSED, CLOSED]


def test_sessions_of_datagrams_may_share_a_socket():
    assert pair_one_kind(Kind.DATAGRAMS, [4, 4, 7], {4: "11"}, {4: "11"}) == [OPEN, OPEN, CLOSED]


def test_a_connection_that_comes_or_goes_meanwhile_has_its_socket():
    assert pair_one_kind(Kind.SOCKET, [4, 5, 6], {4: "11"}, {5: "12"}) == [OPEN, OPEN, CLOSED]


def test_a_pipe_is_not_told_from_a_socket():
    assert pair_one_kind(Kind.FILE, [4, 5, 6], {4: "11", 5: None}) == [OPEN, UNKNOWN, CLOSED]


def test_of_own_bios_only_an_open_socket_is_told():
    assert pair_one_kind(Kind.OWN, [4, 5, 6], {4: "11", 5: None}) == [OPEN, UNKNOWN, UNKNOWN]


def test_without_a_socket_and_without_descriptors_nothing_is_guessed():
    assert pair_one_kind(Kind.NOTHING, [-1], {}) == [NOT_SET]
    assert pair_one_kind(Kind.SOCKET, [4], {4: "11"}, None) == [UNKNOWN]


@pytest.mark.parametrize(
    ("type_", "is_own", "kind"),
    [
        (0x505, False, Kind.SOCKET),  # BIO_TYPE_SOCKET, and so on
        (0x504, False, Kind.FILE),
        (0x515, False, Kind.DATAGRAMS),
        (0x50C, False, Kind.SOCKET),  # CONNECT
        (0x401, False, Kind.UNKNOWN),  # MEM
        (0x209, False, Kind.UNKNOWN),  # BUFFER, a filter
        (0x666, True, Kind.UNKNOWN),  # HAProxy's own
        (0x580, True, Kind.OWN),  # PostgreSQL's
        (0, False, Kind.UNKNOWN),
    ],
)
def test_the_type_of_a_bio_says_whether_it_has_a_descriptor(type_, is_own, kind):
    assert name_kind(type_, is_own) == kind


SOME = "4 of 34 sessions have an open socket; for 30 it is unknown."


@pytest.fixture(scope="module")
def bios(tmp_path_factory):
    program = tmp_path_factory.mktemp("bios") / "holds_bios"
    with_bios = Holder([compile_c("holds_bios.c", program, "-lssl", "-lcrypto")])
    yield with_bios.read()["offset"], with_bios.pid
    with_bios.close()


def test_where_a_bio_has_its_number_is_read_from_instructions(bios):
    offset, pid = bios
    (library,) = find_libraries(read_target(pid), {}).counted
    assert library.fields["bio_number"] == offset


def test_sockets_are_found_behind_filters_and_in_copies_of_the_bio_of_a_socket(bios):
    """Of BIOs of the program's own, and of memory BIOs, no socket is told to be closed."""
    (process,), _ = take_census([bios[1]])
    assert add_up_sockets(process.libraries[0].groups) == {OPEN: 3 + 2, UNKNOWN: 1 + 4 + 5}


def test_what_the_program_keeps_in_its_own_bios_is_told_apart(bios):
    (process,), _ = take_census([bios[1]])
    (group,) = process.libraries[0].groups
    assert group.own_bio_bytes == 4 * (chunk_bytes(40) + chunk_bytes(9000))


@pytest.mark.parametrize(
    "words",
    [
        pytest.param("100 500 150 0 0", id="of as many sizes as sessions"),
        pytest.param("100 1000 0 2 1000000", id="large ones in two sessions of a hundred"),
    ],
)
def test_buffers_are_counted_whatever_sizes_they_have(words, tmp_path):
    program = compile_c("holds_buffers.c", tmp_path / "holds_buffers", "-lssl", "-lcrypto")
    holder = Holder([program, *words.split()])
    in_use = holder.read()["in_use"]
    (process,), _ = take_census([holder.pid])
    holder.close()
    (group,) = process.libraries[0].groups
    assert group.bytes == pytest.approx(in_use, rel=0.01)
    assert group.own_bio_bytes == 0


MEMORY_BIOS = """
import socket, ssl, sys
context = ssl.create_default_context()
kept = [context.wrap_bio(ssl.MemoryBIO(), ssl.MemoryBIO(), server_hostname="localhost") for _ in range(30)]
pairs = [socket.socketpair() for _ in range(int(sys.argv[1]))]
kept += [context.wrap_socket(ours, server_hostname="localhost", do_handshake_on_connect=False) for ours, _ in pairs]
print("{}", flush=True)
sys.stdin.read()
"""


@pytest.mark.parametrize(("sockets", "words"), [(0, ""), (4, SOME)])
def test_of_memory_bios_no_socket_is_told(sockets, words):
    holder = Holder([sys.executable, "-c", MEMORY_BIOS, str(sockets)])
    holder.read()
    (process,), _ = take_census([holder.pid])
    holder.close()
    counts = add_up_sockets(process.libraries[0].groups)
    assert counts == {UNKNOWN: 30} | ({OPEN: sockets} if sockets else {})
    assert summarise([process]).endswith(f"established. {words}".rstrip())


def test_descriptors_of_a_process_that_has_ended_are_none():
    process = subprocess.Popen(["true"])
    process.wait()
    assert list_descriptors(process.pid) is None


class Heap:
    """Stands for a heap of which only the addresses and sizes of chunks are known."""

    lead_bytes = 0

    def __init__(self, addresses):
        self.addresses, self.sizes = np.array(addresses), np.full(len(addresses), 64)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        pass

    def count_words(self, chunks):
        return self.sizes[chunks] // 8 - 1

    def find(self, pointers):
        found = np.searchsorted(self.addresses, pointers.astype(np.int64))
        return np.where(np.isin(pointers.astype(np.int64), self.addresses), found, -1)


class Contents:
    """Stands for a memory: each chunk is of one number, which `numbers` has by its address."""

    def __init__(self, numbers):
        self.numbers = numbers

    def read_words(self, starts, counts):
        return np.repeat(np.array([self.numbers[start] for start in starts.tolist()], np.uint64), counts)


@pytest.mark.parametrize(
    ("later", "changed", "expected"),
    [
        ([0, 64, 128], [], [OPEN, CLOSED, CLOSED]),
        ([0, 128], [], [OPEN, OPEN, CLOSED]),  # it was freed
        ([0, 64, 128], [128], [OPEN, CLOSED, OPEN]),  # another has its place
        ([0], [], [OPEN, OPEN, OPEN]),
    ],
)
def test_a_session_is_closed_if_it_is_still_there_unchanged(later, changed, expected):
    memory = Contents({0: 5, 64: 6, 128: 7})

    def walk_again():
        memory.numbers |= dict.fromkeys(changed, 9)
        return Heap(later)

    states = [OPEN, CLOSED, CLOSED]
    assert confirm_closed(memory, Heap([0, 64, 128]), np.arange(3), states, walk_again) == expected


def test_checksums_tell_apart_what_is_the_same_in_another_order():
    words = np.array([1, 2, 3, 4, 5, 6, 7, 7, 6, 5, 4, 3, 2, 1], np.uint64)

    class Words:
        def read_words(self, starts, counts):
            return words

    first, second = compute_checksums(Words(), Heap([0, 64]), np.arange(2)).tolist()
    assert first != second


def test_sessions_that_end_before_the_second_walk_are_no_leaks(holder_program, certificate, monkeypatch):
    """No descriptor is open; half of the sessions are freed between the walks."""
    holder = Holder([holder_program, *certificate, "0", "0", "20"])
    holder.read(), holder.step(), holder.step(), holder.step()
    walks = []

    def walk(target, *beginnings):
        if walks:
            holder.step()
        walks.append(read_live_heap(target, *beginnings))
        return walks[-1]

    monkeypatch.setattr(census, "read_live_heap", walk)
    monkeypatch.setattr(census, "list_descriptors", lambda _: {})
    (process,), _ = take_census([holder.pid])
    holder.close()
    assert len(walks) == 2
    assert add_up_sockets(process.libraries[0].groups) == {OPEN: 10, CLOSED: 10}
