"""Sizes of blocks: of those that are live at a moment, and of those that were allocated over the run.

heaptrack, and pprof files of Go and of tcmalloc, tell the size of each block. Of other tools the size of a block is the
mean of its call stack, which is exact where that has one block."""

from collections import Counter
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from tlsmem.explore import profile_selection
from tlsmem.explore.profile_selection import Pattern
from tlsmem.explore.top_sites import share, words_of_run
from tlsmem.profile.heap_profile import Profile, SizedBlocks, describe_unit
from tlsmem.schema.roles import Owner
from tlsmem.tables.table import Cell, Heading, Table, integer_cell, text_cell

BAR = 24  # characters of the longest
FEW = 12  # sizes, up to which each has a row
BY_TOOLS = "heaptrack does (heaptrack PROGRAM), and DHAT their mean by call stack (valgrind --tool=dhat PROGRAM)"


class Sizes(NamedTuple):
    """Blocks and bytes by size in bytes. `exact`: how many of the blocks have that size for certain."""

    blocks: Counter[int]
    bytes: Counter[int]
    exact: int


def size_tables(
    profile: Profile, moment: str, owner: Owner | None = None, pattern: Pattern = None, bars: bool = False
) -> list[Table]:
    """What is live at a moment (empty: not known), and what was allocated over the run, as far as the tool tells.

    Raises ValueError where it counts no blocks, PatternNotFound where no call stack is found."""
    live = live_sizes(profile, moment, owner, pattern) if moment else None
    allocated = allocated_sizes(profile, owner, pattern)
    of = f" of {owner}" if owner else ""
    found = []
    if live:
        when = profile_selection.describe_moment(moment)
        found.append(make_table("live-sizes", f"Sizes of live blocks {when}", f"Live{of} {when}", profile, live, bars))
    if allocated:
        words = words_of_run(profile)
        title = f"Sizes of {words.done} blocks"
        found.append(make_table("sizes", title, f"Over the whole run{of}", profile, allocated, bars))
    if not found:
        tool = profile_selection.describe_tool(profile)
        raise ValueError(f"{profile.file}: {tool} does not count blocks, so it does not tell their sizes; {BY_TOOLS}")
    return found


def live_sizes(profile: Profile, moment: str, owner: Owner | None, pattern: Pattern) -> Sizes | None:
    """None where blocks are not counted."""
    held = profile_selection.live_by_stack(profile, moment, owner, pattern)
    sized = profile.moment(moment).sizes
    if sized is not None:
        return sum_exact(one for one in sized() if one.stack in held)
    if any(one.blocks is None for one in held.values()):
        return None
    return sum_means((one.bytes, one.blocks or 0) for one in held.values())


def allocated_sizes(profile: Profile, owner: Owner | None, pattern: Pattern) -> Sizes | None:
    """None where allocations are not recorded."""
    if profile.sizes is not None and owner is None and pattern is None:
        return sum_exact(SizedBlocks(0, size, blocks) for size, blocks in profile.sizes.items())
    if profile.allocated is None or profile.sizes is not None:
        return None  # the exact sizes of some call stacks are not known, and a mean beside them would mislead
    chosen = profile_selection.filter_stacks(profile.stacks, profile.allocated, pattern)
    return sum_means(
        (one.bytes, one.blocks) for stack, one in chosen.items() if owner in (None, profile.stacks.owner(stack))
    )


def sum_exact(blocks: Iterable[SizedBlocks]) -> Sizes:
    found = Sizes(Counter(), Counter(), 0)
    for _, size, count in blocks:
        found.blocks[size] += count
        found.bytes[size] += size * count
    return found._replace(exact=found.blocks.total())


def sum_means(stacks: Iterable[tuple[int, int]]) -> Sizes:
    """Of bytes and blocks of call stacks; the mean is rounded up."""
    found = Sizes(Counter(), Counter(), 0)
    exact = 0
    for size, count in stacks:
        mean = -(-size // max(count, 1))
        found.blocks[mean] += count
        found.bytes[mean] += size
        exact += count == 1
    return found._replace(exact=exact)


def make_table(name: str, title: str, about: str, profile: Profile, sizes: Sizes, bars: bool) -> Table:
    """A row for each size where they are few, else for each power of two."""
    every, size = sizes.blocks.total(), sizes.bytes.total()
    columns = [Heading("size", "size (B)"), Heading("blocks", "blocks"), Heading("share_of_blocks", "share")]
    columns += [Heading("bytes", "bytes"), Heading("share_of_bytes", "share of bytes")]
    columns += [Heading("bar", "blocks", left=True)] if bars else []
    is_requested = profile.unit == "requested" and profile.sampled_every_bytes is None
    about += f": {every:,} blocks, {size:,} B"
    about += " requested." if is_requested else f". {describe_unit(profile)}"
    if sizes.exact < every:
        about += (
            " The size of a block is the mean of its call stack: exact where that has one block, as for "
            f"{sizes.exact:,} of {every:,} blocks."
        )
    table = Table(name, title, about, columns)
    rows = list(list_rows(sizes))
    most = max((blocks for _, blocks, _ in rows), default=1) or 1
    for text, blocks, total in rows:
        cells = [integer_cell(blocks), share(blocks, every), integer_cell(total), share(total, size)]
        bar: list[Cell] = [text_cell("█" * round(BAR * blocks / most) or "▏"[:blocks])] if bars else []
        table.rows.append([text_cell(text), *cells, *bar])
    return table


def list_rows(sizes: Sizes) -> Iterator[tuple[str, int, int]]:
    """Yield size, blocks, bytes."""
    if len(sizes.blocks) <= FEW:
        yield from ((f"{size:,}", sizes.blocks[size], sizes.bytes[size]) for size in sorted(sizes.blocks))
        return
    blocks, size = Counter[int](), Counter[int]()
    for one, count in sizes.blocks.items():
        blocks[power(one)] += count
        size[power(one)] += sizes.bytes[one]
    yield from ((span(at), blocks[at], size[at]) for at in range(min(blocks), max(blocks) + 1))


def power(size: int) -> int:
    """-1 for blocks of nothing; 0 for 1, 1 for 2, 2 for 3 and 4, 3 for 5 to 8."""
    return (size - 1).bit_length() if size else -1


def span(at: int) -> str:
    least = 2 ** (at - 1) + 1 if at > 0 else at + 1
    most = 2**at if at >= 0 else 0
    return f"{least:,} to {most:,}" if least < most else f"{most:,}"
