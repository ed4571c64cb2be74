"""The call stacks that hold one pair's live heap: the largest of each role, and all others in one row."""

import re
from collections import Counter
from collections.abc import Iterator

import costs
from accounts import names
from call_stacks import Frame
from lines import Role
from records import Record
from selection import Selection
from settings import columns_of
from tables import Cell, Column, Table, word

AT = "established"
ROWS = 10  # of a role
FRAMES = 3  # of a stack
WRAPPERS = (  # functions that allocate for others; who called them is what a reader looks for
    r"(__libc_)?(malloc|calloc|realloc|memalign|aligned_alloc|posix_memalign|str(n)?dup)",
    r"CRYPTO_(\w*alloc|memdup|str(n)?dup)",
    r"(\w+_)?OPENSSL_(\w*alloc|memdup|str(n)?dup)",  # aws-lc's have a prefix
    r"__(rust|rdl|rg)_(alloc|alloc_zeroed|realloc)",
    r"<*alloc::.*|<T as alloc::.*|.*::to_vec(_in)?(::.*)?",  # Rust's own: Box, Vec, Arc
)
WRAPPER = re.compile("|".join(f"(?:{one})" for one in WRAPPERS))
CAPTION = (
    "Of one pair, which all others are like: bytes and blocks live at the end of `{}`, the phase that allocated them, "
    "and who called the allocator, innermost first. The {} largest of a role; its rows add up to all that it holds."
)

Site = tuple[str, tuple[Frame, ...]]  # the phase that allocated, and by whom


def callers(run: Record, stack: int) -> tuple[Frame, ...]:
    """The first frames that are no allocator's; all that there is where every frame is one."""
    frames = [run.sites.frames[at] for at in run.sites.stacks[stack]]
    inner = next((at for at, frame in enumerate(frames) if not WRAPPER.fullmatch(frame.function or "")), 0)
    return tuple(frames[inner : inner + FRAMES])


def said(frame: Frame, whole: bool = False) -> str:
    """`function (file:line)`; what has no name is where it is in its module."""
    file = frame.file if whole or not frame.file else frame.file.rpartition("/")[2]
    where = f"{file}:{frame.line}" if file and frame.line else file or f"{frame.module}+{frame.offset:#x}"
    return f"{frame.function or '?'} ({where})"


def held(run: Record, role: Role, phase: str = AT) -> tuple[Counter[Site], Counter[Site]]:
    """Bytes and blocks by site. ValueError with a sentence when the phase is missing."""
    sizes: Counter[Site] = Counter()
    blocks: Counter[Site] = Counter()
    for live in costs.phase_of(run, phase).sites.live:
        if live.role == role:
            site = (live.since, callers(run, live.stack))
            sizes[site] += live.bytes
            blocks[site] += live.blocks
    return sizes, blocks


def rows(run: Record, role: Role, phase: str = AT) -> Iterator[list[Cell]]:
    """Bytes, blocks, phase, callers; the last row is the sum of those that are not shown."""
    sizes, blocks = held(run, role, phase)
    largest = [site for site, _ in sizes.most_common()]
    for site in largest[:ROWS]:
        since, frames = site
        path = Cell(" < ".join(map(said, frames)), " < ".join(said(frame, whole=True) for frame in frames))
        yield [whole(sizes[site]), whole(blocks[site]), word(since), path]
    if rest := largest[ROWS:]:
        others = word(f"{len(rest):,} other{'s'[: len(rest) > 1]}")
        yield [whole(sum(sizes[site] for site in rest)), whole(sum(blocks[site] for site in rest)), word("any"), others]


def whole(number: int) -> Cell:
    return Cell(f"{number:,}", number)


def call_sites(selection: Selection) -> Table:
    """Of the largest sites run of every stack in each setting."""
    named = [*columns_of(selection), Column("stack", "stack", left=True), Column("role", "role", left=True)]
    figures = [Column("bytes", "bytes"), Column("blocks", "blocks"), Column("since", "allocated in", left=True)]
    columns = [*named, *figures, Column("callers", "by", left=True)]
    table = Table("call-sites", "What a session's memory was allocated by", CAPTION.format(AT, ROWS), columns)
    for setting in selection.settings:
        for stack in selection.stacks:
            for role, process in setting.processes.items():
                series = selection.series(stack, setting, process)
                for run in series.runs("sites")[-1:]:
                    named_by = names(selection, series)[:-1]  # the role says which process it is
                    table.rows += [[*named_by, word(role), *row] for row in rows(run, role)]
    return table
