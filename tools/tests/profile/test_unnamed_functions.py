"""A profile without names says so: which libraries, how much of the bytes, and the way out."""

import pytest

from tlsmem.profile import unresolved_stacks
from tlsmem.profile.frames import Frame
from tlsmem.profile.heap_profile import END, PEAK, CallstackTree, LiveHeap, Moment, Profile

SSL, CRYPTO = "/lib/libssl.so.3", "/lib/libcrypto.so.3"


def profile(name: str, live_bytes: int, *stacks: tuple[int, list[tuple[str | None, str | None]]]) -> Profile:
    """Stacks are bytes and (function, module), innermost first."""
    tree, live = CallstackTree(), {}
    for held, frames in stacks:
        stack = 0
        for function, module in reversed(frames):
            stack = tree.add(tree.place((Frame(function, None, None, module, 1),)), stack)
        live[stack] = LiveHeap(held, 1)
    return Profile("heaptrack", "a.zst", "a", tree, {name: Moment(name, live_bytes, live)})


NAMED = (800, [("malloc", "libc.so.6"), ("main", "a")])
UNNAMED = (150, [("CRYPTO_malloc", CRYPTO), (None, SSL), ("main", "a")])
OTHER = (50, [(None, CRYPTO), ("main", "a")])


@pytest.mark.parametrize("moment", [PEAK, END, "snapshot 4"])
def test_the_libraries_are_named_with_their_share(moment, snapshot):
    (sentence,) = unresolved_stacks.unnamed_function_warnings(profile(moment, 1000, NAMED, UNNAMED, OTHER))
    assert " 20% " in sentence and f" {moment}, " in sentence
    assert "libssl.so.3 (15%), libcrypto.so.3 (5%): " in sentence
    assert all(name in sentence for name in ("-g1 -fno-omit-frame-pointer", "-dbgsym", "openssl@3.5.5"))
    assert sentence == snapshot


def test_a_program_without_openssl_is_not_told_to_profile_openssl():
    (sentence,) = unresolved_stacks.unnamed_function_warnings(profile(PEAK, 100, (100, [(None, "/usr/bin/ls")])))
    assert sentence.endswith("build it with -g1 -fno-omit-frame-pointer, or install its -dbgsym package of Debian")


def test_it_is_the_peak_that_counts():
    whole = profile(PEAK, 1000, NAMED, UNNAMED, OTHER)
    whole.moments = {"mark 1": Moment("mark 1", 5000, {}), **whole.moments, END: Moment(END, 0, {})}
    assert len(unresolved_stacks.unnamed_function_warnings(whole)) == 1


def test_a_tenth_is_not_too_much():
    assert (
        unresolved_stacks.unnamed_function_warnings(profile(PEAK, 1500, (1300, NAMED[1]), UNNAMED, (0, OTHER[1]))) == []
    )
    assert (
        unresolved_stacks.unnamed_function_warnings(profile(PEAK, 1499, (1299, NAMED[1]), UNNAMED, (0, OTHER[1]))) != []
    )


def test_who_called_an_unnamed_function_does_not_count():
    assert (
        unresolved_stacks.unnamed_function_warnings(profile(PEAK, 100, (100, [("SSL_new", SSL), (None, None)]))) == []
    )


def test_of_allocators_alone_the_innermost_counts():
    assert (
        unresolved_stacks.unnamed_function_warnings(
            profile(PEAK, 100, (100, [("malloc", None), ("CRYPTO_malloc", CRYPTO)]))
        )
        == []
    )
    stacks = profile(PEAK, 100, (100, [("CRYPTO_malloc", CRYPTO), ("malloc", None)])).stacks
    assert unresolved_stacks.first_caller(stacks, 2).function == "CRYPTO_malloc"


def test_few_modules_are_named_and_one_may_be_unknown():
    unknown = [(100, [(None, module)]) for module in (None, "/a/b", "/c", "/d")]
    (sentence,) = unresolved_stacks.unnamed_function_warnings(profile(PEAK, 400, *unknown))
    assert "in no module (25%), b (25%), c (25%), others: " in sentence


def test_a_profile_of_nothing_has_names_enough():
    assert unresolved_stacks.unnamed_function_warnings(Profile("massif", "a", "a", CallstackTree(), {})) == []
    assert unresolved_stacks.unnamed_function_warnings(profile(PEAK, 0)) == []


def test_bytes_without_any_call_stack_are_not_said_to_lack_names():
    assert unresolved_stacks.unnamed_function_warnings(profile(PEAK, 100, (100, []))) == []


def test_the_pool_that_heaptrack_brings_is_not_the_program_s():
    pool = (900, [(None, "/usr/lib/x86_64-linux-gnu/libstdc++.so.6"), (None, "/lib64/ld-linux-x86-64.so.2")])
    found = profile(PEAK, 1000, pool, (100, [(None, SSL)]))
    assert unresolved_stacks.unnamed_function_warnings(found) == []
    found.tool = "massif"
    assert len(unresolved_stacks.unnamed_function_warnings(found)) == 1
