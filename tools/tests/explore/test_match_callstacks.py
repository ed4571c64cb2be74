"""Call stacks of two profiles: which are one site, and by what."""

from tests.support.pairs import BUFFER, CLIENT, MALLOC, SERVER, SSL, frame, joined, profile, rows
from tlsmem.explore.diff import match_callstacks
from tlsmem.explore.diff.profile_diff import compare
from tlsmem.explore.diff.sentences import describe_diff, summarise_diff
from tlsmem.explore.diff.site_text import UNEXPLAINED
from tlsmem.explore.diff.tables import tables
from tlsmem.profile.frames import Frame
from tlsmem.profile.heap_profile import LiveHeap


def test_what_is_the_same_in_another_version():
    same = frame("ssl_new", 10, "rustls-0.23.46/src/conn.rs"), frame("ssl_new", 10, "rustls-0.24.0-dev.1/src/conn.rs")
    assert joined((same[0], *SERVER), (same[1], *SERVER)) == ["name, file and line"]
    assert joined((frame("f", 10, "ssl-tls/a.c"), *SERVER), (frame("f", 10, "ssl-dtls/a.c"), *SERVER)) == ["name"]
    for old, new in {
        "aws_lc_0_47_0_EVP_PKEY_keygen": "aws_lc_0_50_1_EVP_PKEY_keygen",
        "ring_core_0_17_14__x25519": "ring_core_0_17_15__x25519",
        "a::new::h0123456789abcdef": "a::new::hfedcba9876543210",
        "core[0123456789abcdef]::f": "core[fedcba9876543210]::f",
        "tls_setup.isra.0": "tls_setup.constprop.1",
        "tls_setup.part.0.cold": "tls_setup",
        "a::{{closure}}": "a::{closure#2}",
    }.items():
        assert joined((frame(old), *SERVER), (frame(new), *SERVER)) == ["name, file and line"], old
    for old, new in {"sha_1_2_3": "sha_1_2_4", "a_512": "a_256", "f[u8; 32]": "f[u8; 64]"}.items():
        assert joined((frame(old), *SERVER), (frame(new), *SERVER)) == ["not joined"] * 2, old


def test_what_is_not_known_of_all_frames_is_joined_by_less():
    def stack(line=20, file=f"{SSL}/ssl_lib.c", middle="middle", inner=("a", "b", "c"), allocator=MALLOC):
        names = [frame(name, line, file) for name in inner]
        return (allocator, *names, frame(middle, 5), *SERVER)

    assert joined(stack(), stack(line=23)) == ["name and file"]
    assert joined(stack(), stack(file="ssl/other.c")) == ["name"]
    massif = compare(profile({stack(): 2}), profile({stack(file="ssl_lib.c"): 4}, tool="massif"))
    assert rows(massif) == [("server", "name, file and line", 2, 4)]
    assert joined(stack(), stack(allocator=frame("CRYPTO_zalloc"))) == ["name"]
    assert joined(stack(), stack(middle="renamed")) == ["3 innermost callers"]
    assert joined(stack(), stack(inner=("a", "b", "d"))) == ["not joined"] * 2
    outside = (*stack()[:-1], frame("_start", 1), frame("other_main", 2))
    assert joined(stack(), outside) == ["name, file and line"]


def test_two_tools_are_also_joined_without_what_one_of_them_does_not_know():
    """massif names `Deframer::read` where heaptrack has its crate, and some tools know no inlined functions."""

    def at(address: int, *names: str) -> tuple[Frame, ...]:
        return tuple(Frame(name, None, None, "harness", address) for name in names)

    whole = (*at(1, "rustls::inner", "rustls::msgs::Deframer<T>::read"), *at(2, "rustls::conn::Conn::process"), *SERVER)
    short = (*at(1, "Deframer::read"), *at(2, "Conn::process"), *SERVER)
    assert joined(whole, short) == ["not joined"] * 2
    diff = compare(profile({whole: 2}), profile({short: 4}, tool="massif"))
    assert rows(diff) == [("server", "short name, not inlined", 2, 4)]
    other = (*at(1, "Deframer::read"), *at(2, "Conn::other"), *SERVER)
    assert len(rows(compare(profile({whole: 2}), profile({other: 4}, tool="massif")))) == 2


def test_the_call_of_the_driver_tells_sites_apart():
    inner, main = (MALLOC, frame("SSL_new")), SERVER[1]
    entrances = (Frame(f"server_{name}", "memtest/frames.c", 69, "harness", 9) for name in ("handshake", "session_new"))
    assert joined(*((*inner, entrance, main) for entrance in entrances)) == ["not joined"] * 2


def test_the_best_join_comes_first():
    moved = (BUFFER[0], frame("ssl3_setup_read_buffer", 99), *BUFFER[2:])
    diff = compare(profile({BUFFER: 10, moved: 2}), profile({BUFFER: 10, moved: 4}))
    assert sorted(rows(diff)) == [("server", "name, file and line", 2, 4), ("server", "name, file and line", 10, 10)]


def test_a_site_of_several_stacks_is_as_well_joined_as_the_worst():
    inner = (MALLOC, frame("a"), frame("b"), frame("c"))
    ways = [(*inner, frame("d", line), *SERVER) for line in (1, 2, 3)]
    diff = compare(profile({ways[0]: 10, ways[1]: 2}), profile({ways[0]: 20, ways[2]: 4}))
    assert sorted(rows(diff)) == [("server", "name and file", 2, 4), ("server", "name, file and line", 10, 20)]
    assert [row[1].text for row in tables(diff)[1].rows] == ["name and file"]


def test_several_lines_of_a_function_are_one_site_once_lines_moved():
    at = [(MALLOC, frame("ssl_cert_dup", line), *SERVER) for line in (97, 107, 120, 130)]
    diff = compare(profile({at[0]: 100, at[1]: 200}), profile({at[2]: 200, at[3]: 120}))
    assert rows(diff) == [("server", "name and file", 300, 320)]
    assert "ssl_cert_dup (ssl_lib.c:120, 130) < " in "\n".join(describe_diff(diff))


def test_a_clients_memory_is_never_joined_with_a_servers():
    mine, yours = (MALLOC, frame("f"), *CLIENT), (MALLOC, frame("f"), *SERVER)
    inner = (MALLOC, frame("a"), frame("b"), frame("c"))
    assert joined(mine, yours) == joined((*inner, *CLIENT), (*inner, *SERVER)) == ["not joined"] * 2


def test_frames_without_a_name_are_joined_by_their_offset_first():
    def stack(address, is_absolute):
        return (Frame(None, None, None, "/lib/libssl.so.3", address, is_absolute), *SERVER)

    for is_absolute, stages in {
        False: [("server", "name, file and line", 8, 8), ("server", "module only", 3, 5)],
        True: [("server", "module only", 11, 13)],
    }.items():
        old = profile({stack(0x10, is_absolute): 8, stack(0x20, is_absolute): 3})
        new = profile({stack(0x10, is_absolute): 8, stack(0x30, is_absolute): 5})
        assert sorted(rows(compare(old, new)), reverse=True) == sorted(stages, reverse=True)


def test_frames_without_a_name_are_joined_by_their_module_only_and_it_is_said():
    def stack(module, address):
        return (Frame(None, None, None, module, address), *SERVER)

    diff = compare(profile({stack("/lib/libssl.so.3", 1): 8}), profile({stack("/opt/libssl.so.3", 2): 8}))
    assert rows(diff) == [("server", "module only", 8, 8)]
    summary = summarise_diff(diff)
    assert summary.joins_by_module and summary.modules_without_debug_info == ("/opt/libssl.so.3",)
    told = describe_diff(diff)
    assert [one for one in told if "by their module only" in one] and [one for one in told if "/opt/libssl.so.3" in one]
    harness = stack("build/harness/openssl@3.4.1", 1), stack("build/harness/openssl@3.5.5", 2)
    assert joined(*harness) == ["module only"]
    assert joined(stack("libssl.so.3", 1), stack("libcrypto.so.3", 1)) == ["not joined"] * 2


def test_what_no_stack_explains_is_shown():
    diff = compare(profile({(): 8, BUFFER: 2}), profile({(): 12, BUFFER: 2}))
    assert ("harness", "no call stack", 8, 12) in rows(diff)
    assert any(f"4 B more in the harness in {UNEXPLAINED}" in one for one in describe_diff(diff))


def test_sites_come_in_the_order_of_the_old_profile():
    """In another order, equal sites would show the frames of one in one run and of another in the next."""
    held = [((frame(f"f{number}"), *SERVER), LiveHeap(8, 1)) for number in range(40)]
    found = match_callstacks.join(held, reversed(held), match_callstacks.OF_TWO_BUILDS)
    assert [one.old for one in found] == [[one] for one in held]


def test_each_stack_is_joined_once():
    held = [((frame("f", line), *SERVER), LiveHeap(line, 1)) for line in (1, 2, 3)]
    new = [*held[1:], ((frame("g"), *SERVER), LiveHeap(7, 1))]
    found = list(match_callstacks.join(held, new, match_callstacks.OF_TWO_BUILDS))
    assert sorted(held.bytes for one in found for _, held in one.old) == [1, 2, 3]
    assert sorted(held.bytes for one in found for _, held in one.new) == [2, 3, 7]
