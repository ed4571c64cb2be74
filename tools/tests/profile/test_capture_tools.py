"""Under DHAT a run tells all that is live where it ends, with whole call stacks: the heap meter sees as much."""

import asyncio
import shutil
from argparse import Namespace

import pytest

from tlsmem.base.paths import HEAP_METER, ROOT
from tlsmem.cli import profile_stack
from tlsmem.profile import dhat_reader, unresolved_stacks
from tlsmem.profile.capture import profiled_run, profilers
from tlsmem.profile.frames import find_owner
from tlsmem.profile.heap_profile import END, sum_live
from tlsmem.schema.machine import allowed_cpus
from tlsmem.selfcheck import reference_profilers

STACK, SUITE = "openssl@3.5.5", "tls13-rsa-aes256"
PHASES = ["contexts", "sessions", "client 1", "server 1", "client 2", "server 2", "established"]
BUILT = [ROOT / "build/harness" / STACK, ROOT / profilers.MARKS_LIBRARY, ROOT / HEAP_METER]

pytestmark = pytest.mark.skipif(
    not (shutil.which("valgrind") and all(file.exists() for file in BUILT)),
    reason=f"needs valgrind, {STACK} and build/core/libmarks.so: make selfcheck brings them",
)


@pytest.fixture(scope="module")
def taken(tmp_path_factory):
    folder = tmp_path_factory.mktemp("dhat")
    subject = profile_stack.subject(Namespace(stack=STACK, suite=SUITE, n=2, tool="dhat", timeout=None))
    asyncio.run(profiled_run.run_until(subject, folder, allowed_cpus()[0], PHASES))
    return dhat_reader.read_profile(folder / "dhat")


@pytest.mark.thorough
def test_what_is_live_is_what_the_heap_meter_says(taken):
    """glibc frees nothing of its own before."""
    metered = asyncio.run(
        reference_profilers.heap_meter(reference_profilers.Subject(STACK, SUITE, 2), ROOT / HEAP_METER)
    )
    here = metered.by_phase["established"]
    live = sum_live(taken.live(END))
    assert (live.bytes, live.blocks) == here


@pytest.mark.thorough
def test_call_stacks_are_whole(taken):
    """OpenSSL's are deeper than the twelve calls that DHAT keeps unless asked for more."""
    stacks = [taken.stacks.frames(stack) for stack in taken.live(END)]
    assert unresolved_stacks.truncated_stack_warnings(taken) == []
    assert max(map(len, stacks)) > 24
    assert {find_owner(stack) for stack in stacks} == {
        "client",
        "server",
        "client context",
        "server context",
        "harness",
    }
