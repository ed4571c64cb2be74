"""Functions that allocate for others are told from those that ask for memory, and whose the memory is."""

import pytest

from tlsmem.profile.frames import Frame, find_owner, is_allocator_frame, skip_allocators
from tlsmem.profile.heap_profile import CallstackTree

ALLOCATE = [
    ("malloc", None),
    ("strdup", None),
    ("CRYPTO_zalloc", "mem.c"),
    ("operator new(unsigned long)", None),
    ("operator new[](unsigned long)", None),
    ("operator new(unsigned long, std::nothrow_t const&)", None),
    ("std::__new_allocator<char>::allocate(unsigned long, void const*)", "new_allocator.h"),
    ("__gnu_cxx::new_allocator<int>::allocate(unsigned long, void const*)", "new_allocator.h"),
    ("std::allocator<char>::allocate(unsigned long)", None),
    ("std::allocator_traits<std::allocator<char> >::allocate(std::allocator<char>&, unsigned long)", None),
    (
        "std::__cxx11::basic_string<char, std::char_traits<char>, std::allocator<char> >::_M_create(unsigned long&)",
        None,
    ),
    ("alloc::vec::Vec<T,A>::push", "library/alloc/src/vec/mod.rs"),
    ("alloc", "alloc.rs"),
    ("alloc_impl_runtime", "alloc.rs"),
    ("UnknownInlinedFun", "alloc.rs"),
    ("box_new_uninit", "library/alloc/src/boxed.rs"),
    (None, "library/alloc/src/raw_vec/mod.rs"),
    ("UnknownInlinedFun", "library/alloc/src/slice.rs"),
    ("grow_amortized<alloc::alloc::Global>", "mod.rs"),
    ("with_capacity_in<u8, alloc::alloc::Global>", "mod.rs"),
]
ASK = [
    ("main", "main.c"),
    (None, None),
    ("alloc_node", "sparse_array.c"),
    ("alloc", "crates/mine/src/alloc.rs"),
    ("UnknownInlinedFun", "mod.rs"),
    ("UnknownInlinedFun", "library/core/src/ops/function.rs"),
    ("from_iter<u8, alloc::vec::Vec<u8, alloc::alloc::Global>>", "result.rs"),
    ("operator newer(unsigned long)", None),
    ("std::allocators(int)", None),
    ("mine(std::allocator<char> const&)", None),
    ("std::__cxx11::basic_string<char, std::char_traits<char>, std::allocator<char> >::append(char const*)", None),
]


def frame(function: str | None, file: str | None) -> Frame:
    return Frame(function, file, 1, "a", 1)


@pytest.mark.parametrize(("function", "file"), ALLOCATE)
def test_it_allocates_for_others(function, file):
    assert is_allocator_frame(frame(function, file))


@pytest.mark.parametrize(("function", "file"), ASK)
def test_it_asks_for_memory(function, file):
    assert not is_allocator_frame(frame(function, file))


def test_callers_begin_after_the_last_allocator_of_the_innermost():
    main, new = frame("main", "main.cc"), frame("operator new(unsigned long)", None)
    inner = [frame("malloc", None), new, frame("std::allocator<char>::allocate(unsigned long)", None)]
    assert skip_allocators([*inner, main, new, main]) == [main, new, main]
    assert skip_allocators(inner) == inner


FRAMES_C = "memtest/frames.c"
OWNED = [
    ([("malloc", None), ("SSL_new", "ssl.c"), ("client_session_new", FRAMES_C), ("main", "main.c")], "client"),
    ([("server_handshake", None)], "server"),  # a harness without debug information
    ([("server_context_new", "frames.c")], "server context"),  # as DHAT tells it
    ([("client_context_free", "/elsewhere/memtest/frames.c")], "client context"),
    ([("server_read", "nfs/server.c"), ("main", "main.c")], "harness"),
    ([("server_read", "frames.cc")], "harness"),
    ([("server_reads", FRAMES_C), (None, FRAMES_C)], "harness"),
    ([("client_read", "curl.c"), ("server_session_new", FRAMES_C)], "server"),
    # A driver that comes back into the core: the outermost entrance knows for whom.
    ([("client_write", FRAMES_C), ("f", "f.c"), ("server_handshake", FRAMES_C), ("main", "main.c")], "server"),
    ([("server_read", FRAMES_C), ("client_context_new", FRAMES_C)], "client context"),
    ([], "harness"),
]


@pytest.mark.parametrize(("path", "whose"), OWNED)
def test_the_outermost_entrance_of_ours_says_whose_the_memory_is(path, whose):
    assert find_owner(frame(*one) for one in path) == whose


@pytest.mark.parametrize("together", [1, 2, 9])
@pytest.mark.parametrize("order", [1, -1])
def test_stacks_have_the_owners_of_their_frames(together, order):
    """However many functions were inlined into one place, and whichever stack is asked of first."""
    stacks, expected = CallstackTree(), {}
    for path, whose in OWNED:
        stack, frames = 0, [frame(*one) for one in path]
        for end in range(len(frames), 0, -together):
            stack = stacks.add(stacks.place(tuple(frames[max(0, end - together) : end])), stack)
        assert stacks.frames(stack) == tuple(frames)
        expected[stack] = whose
    for stack in sorted(range(len(stacks.nodes)), key=order.__mul__):
        assert stacks.owner(stack) == expected.get(stack, find_owner(stacks.frames(stack)))
