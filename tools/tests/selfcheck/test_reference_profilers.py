"""What heaptrack cannot see of dlerror's records, known by what hangs on them; and whose libstdc++ is."""

import subprocess

import pytest

from tlsmem.profile.frames import Frame
from tlsmem.profile.heap_profile import CallstackTree, LiveHeap, Moment, Profile
from tlsmem.selfcheck.reference_profilers import loads, records_before

CALL = ("_dlerror_run", "dlsym_implementation", "___dlsym", "meter_trim", "main")
RECORD = ("malloc", *CALL)
MESSAGE = ("malloc", "__GI__dl_exception_create_format", "_dl_lookup_symbol_x", "dlsym_doit", *CALL)
OPENED = ("calloc", "_dl_new_object", "_dl_open", "dlopen_doit", "_dlerror_run", "___dlopen", "main")
OWN = ("malloc", "main")


def found(*stacks: tuple[str | None, ...]) -> int:
    """Of a moment with one block of each stack."""
    known = CallstackTree()
    live = {}
    for functions in stacks:
        stack = 0
        for function in reversed(functions):
            stack = known.add(known.place((Frame(function, None, None, None, None),)), stack)
        live[stack] = LiveHeap(24, 1)
    moment = Moment("mark 1", 24 * len(stacks), live)
    return records_before(Profile("heaptrack", "file", "command", known, {moment.name: moment}), moment)


@pytest.mark.parametrize(
    "stacks, records",
    [
        ([OWN, MESSAGE], 1),  # the record is older than the recording
        ([OWN, MESSAGE, RECORD], 0),  # a call that succeeded has freed that one
        ([OWN, MESSAGE, MESSAGE, RECORD], 1),  # another thread has its own
        ([OWN, OPENED, (None, "main")], 0),  # no call has failed: there is none
    ],
)
def test_a_record_is_missing_where_its_message_is_live_alone(stacks, records):
    assert found(*stacks) == records


@pytest.mark.parametrize("linked, has", [(["-Wl,--no-as-needed", "-l:libstdc++.so.6"], True), ([], False)])
def test_a_program_that_loads_libstdcxx_itself_has_its_pool(tmp_path, linked, has):
    (tmp_path / "main.c").write_text("int main(void) { return 0; }\n")
    program = tmp_path / "libstdc++ is in its path alone"
    subprocess.run(["cc", "-o", program, tmp_path / "main.c", *linked], check=True)
    assert loads(program, "libstdc++") is has
