"""Files that are damaged, a thousand ways for each: whatever reads them says what is wrong in one sentence."""

import random
from collections.abc import Iterator
from pathlib import Path

from tlsmem.profile.errors import Unreadable
from tlsmem.profile.open_profile import open_profile
from tlsmem.schema.read_records import without_collection

COUNT = 1000
HUGE = [
    b"18446744073709551616",
    b"99999999999999999999999",
    b"-1",
    b"\xff" * 10,
    b"\x80" * 11,
    b"0x" + b"f" * 40,
    b"",
    b"\0",
]


def mutations(whole: bytes, count: int = COUNT, seed: int = 1) -> Iterator[bytes]:
    """Yield damaged contents, the same each time: cut off, with bits turned, parts lost, doubled, replaced."""
    chance = random.Random(seed)
    for _ in range(count):
        content = whole
        for _ in range(chance.choice((1, 1, 1, 3, 10))):
            at, end = sorted(chance.randrange(len(content) + 1) for _ in range(2))
            end = min(end, at + chance.choice((1, 2, 10, 1000)))
            part = content[at:end]
            turned = bytes(one ^ 1 << chance.randrange(8) for one in part[:1]) + part[1:]
            change = chance.choice((b"", turned, part + part, chance.choice(HUGE), chance.randbytes(len(part))))
            content = content[:at] + change + content[end:]
        yield content[: chance.randrange(len(content) + 1)] if chance.random() < 0.2 else content


def check_mutations(folder: Path, whole: bytes, count: int = COUNT) -> int:
    """Open every damaged content, and return how many were refused: each by one sentence, which names the file. None
    stays open, also where no garbage is collected."""
    file, refused = folder / "damaged", 0
    with without_collection():
        for content in mutations(whole, count):
            file.write_bytes(content)
            try:
                open_profile(file)
            except Unreadable as error:
                refused += 1
                assert str(error).startswith(f"{file}: ") and "\n" not in str(error), str(error)
        assert count_open(file) == 0
    return refused


def count_open(file: Path) -> int:
    """Return how many descriptors of this process lead to the file."""
    return sum(one.exists() and one.samefile(file) for one in Path("/proc/self/fd").iterdir())
