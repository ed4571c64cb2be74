"""Block sizes that tell an object of a TLS library, counted in sites runs; memtest/tls_sizes.toml has them."""

import re
from collections import defaultdict
from collections.abc import Container, Iterable, Mapping
from contextlib import suppress
from typing import NamedTuple

from tlsmem.base.paths import ROOT
from tlsmem.config.libraries import libraries, library_key
from tlsmem.config.tls_rules import SIZES, tls_libraries
from tlsmem.explore.short_function_names import short
from tlsmem.profile import sites_reader
from tlsmem.profile.buckets import rules
from tlsmem.profile.errors import Unreadable
from tlsmem.profile.frames import skip_containers
from tlsmem.store import read_runs
from tlsmem.store.record import Record

SMALLEST = 512  # bytes; smaller blocks have the size of many objects
MOST_SIZES = 3
LEAST_SUITES = 0.2
HARNESS = ("harness-c/", "memtest/")  # what our drivers allocate is no library's
VARYING = (rules.OTHER, "peer certificates")  # buckets of what a session may hold, and another not
HOLDERS = {"client": "sessions", "server": "sessions", "client context": "contexts", "server context": "contexts"}
FILE = ROOT / f"memtest/{SIZES}.toml"
HEAD = """\
# Written by tools/dev/write_tls_sizes.py from the sites runs in data/.
# Sizes of blocks that tell an object of a TLS library where its functions have no names, by release.
# of: whether sessions hold blocks of this size, contexts, or either. by: who allocates them, and what for.
"""


class Holder(NamedTuple):
    """Who holds blocks of a size, and by whom they are allocated; None where that function has no name."""

    of: str
    function: str | None
    bucket: str


Sizes = dict[int, dict[Holder, set[str]]]  # the suites, by size in bytes and by who holds it


def release_series(record: Record) -> str | None:
    """Return `OpenSSL 3.0`; None where the library has no files of its own, or says no number."""
    key = library_key(record.stack)
    library = tls_libraries().get(key)
    number = re.search(r"\d+\.\d+", (record.reported or "") if record.stack.endswith("@system") else record.stack)
    return f"{libraries()[key].name} {number[0]}" if library and library.modules and number else None


def count_sizes(record: Record, sizes: Sizes) -> None:
    """Add the blocks of sessions and contexts in a sites run, at all moments."""
    profile = sites_reader.read_profile(record, None)
    family = rules.family_of(record.stack)
    for moment in profile.moments.values():
        for stack, held in moment.live.items():
            of = HOLDERS.get(profile.stacks.owner(stack))
            if of and held.blocks and held.bytes % held.blocks == 0 and held.bytes // held.blocks >= SMALLEST:
                frames = profile.stacks.frames(stack)
                caller = skip_containers(frames)[0]
                if (caller.file or "").startswith(HARNESS):
                    continue
                has_names = all(frame.function for frame in frames)  # else no rule finds the bucket
                holder = Holder(of, caller.function if has_names else None, rules.find_bucket(frames, family))
                sizes[held.bytes // held.blocks][holder].add(record.suite)


def format_series(sizes: Sizes, of_contexts: Container[int]) -> list[str]:
    """Return the lines of a release's sizes, the smallest first. Contexts are recorded of some releases only:
    `of_contexts` are sizes that they have in any of them."""
    of_function: dict[str | None, set[int]] = defaultdict(set)
    for size, holders in sizes.items():
        for holder in holders:
            of_function[holder.function].add(size)
    every = set[str]().union(*(suites for holders in sizes.values() for suites in holders.values()))
    lines = []
    for size, holders in sorted(sizes.items()):
        named = [one for one in holders if one.function]
        fixed = all(len(of_function[one.function]) <= MOST_SIZES and one.bucket not in VARYING for one in named)
        suites = set[str]().union(*holders.values())
        of = {one.of for one in holders} | ({"contexts"} if size in of_contexts else set())
        if named and fixed and ("contexts" in of or len(suites) >= LEAST_SUITES * len(every)):
            names = ", ".join(f'"{name}"' for name in describe(named))
            lines.append(f'    {{ bytes = {size}, of = "{of.pop() if len(of) == 1 else "either"}", by = [{names}] }},')
    return lines


def describe(holders: Iterable[Holder]) -> list[str]:
    """Return each function with its buckets: `ssl3_setup_read_buffer: record buffers, read`."""
    buckets: dict[str, set[str]] = defaultdict(set)
    for one in holders:
        buckets[short(one.function or "")].add(one.bucket)
    return [f"{function}: {' or '.join(sorted(of))}" for function, of in sorted(buckets.items())]


def collect(records: Iterable[Record]) -> dict[str, Sizes]:
    """Return the sizes of every release that has measured sites runs. A run in which a session's call allocated what
    a context holds is left out: it does not tell whose the size is."""
    found: dict[str, Sizes] = defaultdict(lambda: defaultdict(lambda: defaultdict(set)))
    for record in records:
        if record.meter == "sites" and record.status == "measured" and (series := release_series(record)):
            with suppress(Unreadable):
                count_sizes(record, found[series])
    return found


def format_file(found: Mapping[str, Sizes]) -> str:
    """Return the text of memtest/tls_sizes.toml."""
    parts = [HEAD]
    contexts: dict[str, set[int]] = defaultdict(set)
    for series, sizes in found.items():
        of_contexts = (size for size, holders in sizes.items() if any(one.of == "contexts" for one in holders))
        contexts[series.rpartition(" ")[0]].update(of_contexts)
    for series in sorted(found):
        if lines := format_series(found[series], contexts[series.rpartition(" ")[0]]):
            parts.append("\n".join([f'["{series}"]', "sizes = [", *lines, "]", ""]))
    return "\n".join(parts)


def recorded() -> Iterable[Record]:
    for file in sorted((ROOT / "data").glob("20*/*.jsonl.zst")):
        yield from read_runs.load(file)
