"""Slide 2: what a server session in use holds, by bucket: why OpenSSL's is the largest."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from matplotlib.figure import Figure
from matplotlib.patches import Patch

from tlsmem.config import definitions
from tlsmem.config.libraries import stack_title
from tlsmem.config.recording_command import advise_recording
from tlsmem.config.stack_names import newest_releases
from tlsmem.config.suite_title import suite_difference
from tlsmem.config.suite_variants import LIBRARY, name_variant
from tlsmem.cost.find_costs import find_chosen_costs
from tlsmem.plots.bucket_panel import BucketStyle, draw_parts, fill, style_of_bucket
from tlsmem.plots.frame import add_frame, describe_records, list_rows, write_beside
from tlsmem.profile import sites_reader
from tlsmem.profile.buckets.rules import OTHER
from tlsmem.profile.buckets.sums import BucketSums
from tlsmem.schema.recorded_arguments import has_full_records
from tlsmem.slides.slide import SUITE, create_slide, describe_absent
from tlsmem.stats.configured_stack import IN_USE
from tlsmem.stats.costs import LIVE_IN_USE
from tlsmem.store import recordings
from tlsmem.store.record import Record

OPENSSL = "openssl"
REPLY = "reply"  # the phase in which a session was used, where runs have no full records
SHORT = {"record buffers, read": "read buffer", "record buffers, write": "write buffer"}
REST = BucketStyle("everything else", "rest", "#949494")
UNKNOWN = BucketStyle("not known what for", "unknown", "#bbbbbb", "xx")
LARGEST = 3  # buckets of OpenSSL's, in the title
LARGE = 0.2  # of the longest bar: a bucket that has a colour
Parts = Mapping[str, float]  # bytes by bucket


class Bar(NamedTuple):
    """A library's newest release: live heap of a server session in use, and its parts, which are none where call stacks
    do not tell them."""

    stack: str
    suite: str
    size: float
    parts: Parts
    runs: tuple[Record, ...]

    @property
    def title(self) -> str:
        """The stack, and in what its suite differs from that of the slides."""
        other = suite_difference(self.suite, SUITE)
        return stack_title(self.stack) + (f", {other}" if other else "")


def is_in_use(run: Record, suite: str) -> bool:
    """Return whether the run's sessions carried full records, with the library's own number of tickets."""
    return run.suite == name_variant(suite, tickets=LIBRARY) and has_full_records(run)


def find_run(stack: str, suite: str, among: Sequence[Path]) -> Record | None:
    """Return the newest run with call stacks of sessions in use; without any, of sessions that carried little data."""
    every = (run for path in among for run in recordings.load_stack(path, stack))
    runs = [run for run in every if run.has_sites and run.status == "measured"]
    in_use = (run for run in runs if is_in_use(run, suite))
    return next(in_use, None) or next((run for run in runs if run.suite == suite), None)


def parts_of_session(run: Record) -> Parts:
    """Return the bytes of a server session by bucket, when it was used."""
    sums = BucketSums(sites_reader.profile_from_record(run))
    heaps = sums.live_by_bucket(IN_USE if IN_USE in sums.phases() else REPLY, "server")
    return {bucket: float(sums.each(heap)) for bucket, heap in heaps.items()}


def find_bar(stack: str, among: Sequence[Path]) -> Bar | None:
    """Return the bar of a stack; None where neither its live heap in use nor its call stacks are recorded."""
    costs = find_chosen_costs(stack, None, among)
    run = find_run(stack, costs.suite, among)
    parts = parts_of_session(run) if run else {}
    size = costs.sizes("server").get(LIVE_IN_USE, sum(parts.values()))
    runs = (run,) if run else tuple(costs.records)
    return Bar(stack, costs.suite, size, parts if is_explained(parts) else {}, runs) if size else None


def name_buckets(bars: Sequence[Bar], ours: Parts) -> list[str]:
    """Return the buckets that are large in any session, those that are OpenSSL's largest first."""
    widest = max(bar.size for bar in bars)
    large = {bucket for bar in bars for bucket, size in bar.parts.items() if size > LARGE * widest}
    return sorted(large, key=lambda bucket: -ours.get(bucket, 0))


def is_explained(parts: Parts) -> bool:
    """Return whether the buckets say what most of the bytes are for."""
    return bool(parts) and parts.get(OTHER, 0) < sum(parts.values()) / 2


def list_parts(bar: Bar, named: Sequence[str]) -> list[tuple[BucketStyle, float]]:
    """Return the named buckets of a bar, and the rest; of one that is not explained, all of it."""
    if not bar.parts:
        return [(UNKNOWN, bar.size)]
    rest = sum(size for bucket, size in bar.parts.items() if bucket not in named)
    return [*((style_of_bucket(bucket), bar.parts.get(bucket, 0)) for bucket in named), (REST, rest)]


def describe_unknown(bars: Sequence[Bar]) -> str:
    """Return why bars have no parts: no call stacks, or no rules that know them."""
    unknown = [bar for bar in bars if not bar.parts]
    with_stacks = [stack_title(bar.stack) for bar in unknown if any(run.has_sites for run in bar.runs)]
    without = [stack_title(bar.stack) for bar in unknown if not any(run.has_sites for run in bar.runs)]
    said = f"No call stacks of {', '.join(without)}. " if without else ""
    return said + (f"No rules for the call stacks of {', '.join(with_stacks)}. " if with_stacks else "")


def draw(among: Sequence[Path]) -> Figure:
    """Draw the newest release of each library. Raises ValueError where OpenSSL has no call stacks."""
    newest = newest_releases(stack for path in among for stack in recordings.stacks(path))
    bars = [bar for stack in newest.values() if (bar := find_bar(stack, among))]
    openssl = next((bar for bar in bars if bar.stack == newest.get(OPENSSL) and bar.parts), None)
    if not openssl:
        stack = newest.get(OPENSSL) or newest_releases(definitions.stacks())[OPENSSL]
        raise ValueError(
            f"no call stacks of {stack}; {advise_recording('in-use-sites', stack, SUITE, 'sites').sentence}"
        )
    named, widest = name_buckets(bars, openssl.parts), max(bar.size for bar in bars)
    bars.sort(key=lambda bar: bar.size)
    made, (axes,) = create_slide()
    for at, bar in enumerate(bars):
        draw_parts(axes, at, list_parts(bar, named), widest)
        write_beside(axes, max(bar.size, sum(bar.parts.values())), at, f"{bar.size:,.0f} B", bold=True)
    list_rows(axes, [bar.title for bar in bars])
    axes.set_xlim(0, 1.17 * widest)
    largest = sorted(openssl.parts, key=lambda bucket: -openssl.parts[bucket])[:LARGEST]
    share = sum(openssl.parts[bucket] for bucket in largest) / sum(openssl.parts.values())
    words = [SHORT.get(bucket, bucket) for bucket in largest]
    title = f"{stack_title(openssl.stack)}: {share:.0%} of a session in use is {', '.join(words)}"
    subtitle = "Live heap of a server session in use, by what the bytes are for."
    styles = dict.fromkeys(style for bar in [openssl, *bars] for style, _ in list_parts(bar, named))
    handles = [Patch(label=style.bucket, **fill(style)) for style in styles]
    absent = describe_absent(among, (bar.stack for bar in bars))
    records = describe_records(run for bar in bars for run in bar.runs)
    add_frame(made, title, subtitle, f"{describe_unknown(bars)}{absent}{records}", handles)
    return made
