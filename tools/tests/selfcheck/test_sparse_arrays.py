"""What valgrind's tools see less of, because it places programs low, and nothing else."""

from tlsmem.profile.frames import Frame
from tlsmem.profile.heap_profile import CallstackTree, LiveHeap, Moment, Profile
from tlsmem.selfcheck import meter_agreement
from tlsmem.selfcheck.reference_profilers import (
    DHAT,
    NAME,
    SPARSE,
    Constant,
    Statement,
    Subject,
    allocated_within,
    remove_sparse_levels,
)

OUTSIDE = Statement(
    "heaptrack",
    {"contexts": LiveHeap(9_000, 90), "freed": LiveHeap(5_000, 50)},
    sparse={"contexts": LiveHeap(1_280, 10), "freed": LiveHeap(640, 5)},
)
LOW = {"contexts": LiveHeap(768, 6), "freed": LiveHeap(640, 5)}


def test_levels_that_are_missing_are_added_in_the_phase_that_lacks_them():
    said = {"contexts": LiveHeap(8_488, 86), "freed": LiveHeap(5_000, 50)}
    found = remove_sparse_levels(Statement(DHAT, said, sparse=LOW), OUTSIDE)
    assert found.by_phase == OUTSIDE.by_phase and found.constants == [Constant(NAME, -512, -4)]


def test_what_counts_no_blocks_has_bytes():
    bytes_alone = {phase: LiveHeap(held.bytes, None) for phase, held in LOW.items()}
    said = {"contexts": LiveHeap(8_488, None), "freed": LiveHeap(5_000, None)}
    found = remove_sparse_levels(Statement("massif", said, sparse=bytes_alone), OUTSIDE)
    assert [one.bytes for one in found.by_phase.values()] == [9_000, 5_000]
    sentences = meter_agreement.describe_constants({Subject("openssl@4.0.3", "a suite", 2): [found]})
    assert sentences == [f"massif: +512 B: {NAME}"]


def test_a_byte_that_is_missing_elsewhere_is_not_added():
    said = {"contexts": LiveHeap(8_487, 86), "freed": LiveHeap(5_000, 50)}
    assert remove_sparse_levels(Statement(DHAT, said, sparse=LOW), OUTSIDE).by_phase["contexts"].bytes == 8_999


def test_a_program_without_such_arrays_is_left_as_it_is():
    none = dict.fromkeys(LOW, LiveHeap(0, 0))
    of_massif = {phase: LiveHeap(said.bytes, None) for phase, said in OUTSIDE.by_phase.items()}
    for one in Statement(DHAT, OUTSIDE.by_phase, sparse=none), Statement("massif", of_massif, sparse=none):
        assert remove_sparse_levels(one, Statement("heaptrack", OUTSIDE.by_phase, sparse=none)) == one


def test_arrays_are_known_by_the_function_that_fills_them():
    known, live = CallstackTree(), {}
    for functions in ("alloc_node", SPARSE, "main"), (SPARSE, "main"), ("CRYPTO_zalloc", "main"):
        stack = 0
        for function in reversed(functions):
            stack = known.add(known.place((Frame(function, None, None, None, None),)), stack)
        live[stack] = LiveHeap(128, 1)
    moment = Moment("contexts", 384, live)
    assert allocated_within(
        Profile("dhat", "file", "command", known, {"contexts": moment}), moment, SPARSE
    ) == LiveHeap(256, 2)
