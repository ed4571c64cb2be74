"""The programs that most tests of the core run."""

import os
import socket
from contextlib import ExitStack

import pytest

from tests.support import built_harness


@pytest.fixture(params=["null@c", "null@rust"])
def null(request):
    """The null stack where the heap meter counts each of its bytes."""
    return built_harness.find(request.param)


@pytest.fixture(params=["null@c", "null@rust", "null@go"])
def program(request):
    """The null stack in each language: argv, phases, points, wires and exit codes do not depend on it."""
    return built_harness.find(request.param)


@pytest.fixture
def openssl():
    return built_harness.find("openssl@3.5.5")


@pytest.fixture
def rustls():
    return built_harness.find("rustls+aws-lc@0.23.46")


@pytest.fixture
def joined():
    """A memfd for the wires, and both ends of a barrier, for `start`; closed at the end of a test at the latest."""
    with ExitStack() as opened:
        wires = opened.enter_context(os.fdopen(os.memfd_create("wires"), "rb"))
        ends = [opened.enter_context(end) for end in socket.socketpair()]
        yield wires.fileno(), *ends
