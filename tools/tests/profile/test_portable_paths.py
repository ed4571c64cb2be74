"""Names of places: from the root of the clone, or from a package on; and strings of heaptrack's of the right length."""

import asyncio
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tlsmem.base.source_paths import shorten_path
from tlsmem.profile.capture import heaptrack_interpreter
from tlsmem.profile.capture.portable_paths import make_portable

ROOT = Path("/work of/mine+yours")
HOST = "cargo/registry/src/some-host.example-1949cf8c6b5b557f"


@pytest.mark.parametrize(
    ("text", "kept"),
    [
        (f"{ROOT}/build/harness/null@c", "build/harness/null@c"),
        (f"0x1A: main (in {ROOT}/build/harness/null@c)", "0x1A: main (in build/harness/null@c)"),
        (f'"cmd":"{ROOT}/a b={ROOT}/b"', '"cmd":"a b=b"'),
        (f"/other{ROOT}/a", f"/other{ROOT}/a"),
        (f"{ROOT}-2/a {ROOT}", f"{ROOT}-2/a {ROOT}"),
        (f"cfi=(10) ./rustls/{HOST}/rustls-0.23.46/src/conn.rs", "cfi=(10) rustls-0.23.46/src/conn.rs"),
        (f"fl={HOST}/a-1/{HOST}/a-1/mem.c", "fl=a-1/mem.c"),
        (f"main (/home/me/.{HOST}/a-1/src/lib.rs:7)", "main (a-1/src/lib.rs:7)"),
        ("core::ops::function (/usr/lib/libc.so.6)", "core::ops::function (/usr/lib/libc.so.6)"),
    ],
)
def test_places_are_named_from_the_root_or_from_the_package_on(text, kept):
    assert make_portable(text.encode(), ROOT).decode() == kept


@pytest.mark.parametrize("file", [f"./x/{HOST}/a-1/{HOST}/a-1/mem.c", f"{HOST}/a-1/src/lib.rs"])
def test_readers_see_the_same_name(file):
    assert shorten_path(make_portable(file.encode(), ROOT).decode()) == shorten_path(file)


PIECES = st.sampled_from([f"{heaptrack_interpreter.ROOT}/", f"{HOST}/", "a", "/", " ", "é", "(", "s 3 abc"])
TEXTS = st.lists(st.lists(PIECES).map("".join), max_size=20)


@given(texts=TEXTS, sizes=st.lists(st.integers(1, 40), min_size=1))
def test_strings_have_the_length_that_they_say_however_they_come(texts, sizes):
    """And no other line is changed."""
    lines = [b"v 10400 3", *(f"s {len(text.encode()):x} {text}".encode() for text in texts), f"X {ROOT}/s 3".encode()]
    content = b"\n".join(lines)

    async def read() -> bytes:
        output = asyncio.StreamReader()
        for at, size in enumerate([*sizes, len(content)]):
            output.feed_data(content[sum(sizes[:at]) : sum(sizes[:at]) + size])
        output.feed_eof()
        return b"".join(
            [
                heaptrack_interpreter.make_paths_relative(part)
                async for part in heaptrack_interpreter.read_whole_lines(output)
            ]
        )

    found = asyncio.run(read()).split(b"\n")
    assert (found[0], found[-1]) == (lines[0], lines[-1])
    for line, text in zip(found[1:-1], texts, strict=True):
        kind, size, kept = line.split(b" ", 2)
        assert (
            kind == b"s"
            and int(size, 16) == len(kept)
            and kept == make_portable(text.encode(), heaptrack_interpreter.ROOT)
        )
