"""A small heaptrack file by hand, and what is in it."""

from pathlib import Path

from tlsmem.profile.heap_profile import LiveHeap, Profile

# Two modules; place 2 is `other`, inlined into main. Sites: 1 B at a mark, 16 B, 32 B of a place without a name, and
# 32 B of the stack that has the 16 B. Bytes and stacks of the four:
TABLES = """\
v 10400 3
X ./harness memory
I 1000 5e298d
s 7 harness
s e libstdc++.so.6
s a meter_mark
s 5 other
s 4 main
s 6 main.c
i 100 1 3 6 a
i 200 1 4 6 b 5 6 c
i 300 2
t 1 0
t 2 0
t 3 2
a 1 1
a 10 2
a 20 3
a 20 2
"""
SIZES, STACKS = [1, 16, 32, 32], [1, 2, 3, 2]
END_COUNTS = "# strings: 6\n# ips: 3\n"


def written(folder: Path, events: str, tables: str = TABLES, end: str = END_COUNTS) -> Path:
    file = folder / "heaptrack.1"
    file.write_text(tables + events + end)
    return file


def held(*blocks: int) -> tuple[int, dict[int, LiveHeap]]:
    """A moment by blocks of each site."""
    live: dict[int, LiveHeap] = {}
    for count, size, stack in zip(blocks, SIZES, STACKS, strict=True):
        if count:
            before = live.get(stack, LiveHeap(0, 0))
            live[stack] = LiveHeap(before.bytes + count * size, before.blocks + count)
    return sum(one.bytes for one in live.values()), live


def moments(profile: Profile) -> dict[str, tuple[int, dict[int, LiveHeap]]]:
    return {name: (moment.bytes, moment.live) for name, moment in profile.moments.items()}
