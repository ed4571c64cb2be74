"""Slide 2: what a server session in use holds, by bucket: why OpenSSL's is the largest."""

from collections.abc import Mapping, Sequence
from pathlib import Path

from matplotlib.figure import Figure
from matplotlib.patches import Patch

from tlsmem.config import definitions
from tlsmem.config.libraries import stack_title
from tlsmem.config.recording_command import advise_recording
from tlsmem.config.stack_names import newest_releases
from tlsmem.config.suite_variants import LIBRARY, name_variant
from tlsmem.cost.find_costs import find_costs
from tlsmem.plan import recordings
from tlsmem.plots.bucket_panel import BucketStyle, draw_parts, fill, style_of_bucket
from tlsmem.plots.frame import add_frame, describe_records
from tlsmem.plots.rows import list_rows, write_beside
from tlsmem.profile import sites_reader
from tlsmem.profile.buckets.rules import OTHER
from tlsmem.profile.buckets.sums import BucketSums
from tlsmem.schema.harness_arguments import has_full_records
from tlsmem.schema.records import Record
from tlsmem.slides.slide import SUITE, create_slide
from tlsmem.stats.configured_stack import IN_USE
from tlsmem.stats.costs import LIVE_IN_USE

OPENSSL = "openssl"
REPLY = "reply"  # the phase in which a session was used, where runs have no full records
SHORT = {"record buffers, read": "read buffer", "record buffers, write": "write buffer"}
REST = BucketStyle("everything else", "rest", "#8a8a8a")
LARGEST = 3  # buckets of OpenSSL's, in the title
LARGE = 0.2  # of the longest bar: a bucket that has a colour
Parts = Mapping[str, float]  # bytes by bucket


def is_in_use(run: Record) -> bool:
    """Return whether the run's sessions carried full records, with the library's own number of tickets."""
    return run.suite == name_variant(SUITE, tickets=LIBRARY) and has_full_records(run)


def find_run(stack: str, among: Sequence[Path]) -> Record | None:
    """Return the newest run with call stacks of sessions in use; without any, of sessions that carried little data."""
    every = (run for path in among for run in recordings.load_stack(path, stack))
    runs = [run for run in every if run.has_sites and run.status == "measured"]
    in_use = (run for run in runs if is_in_use(run))
    return next(in_use, None) or next((run for run in runs if run.suite == SUITE), None)


def parts_of_session(run: Record) -> Parts:
    """Return the bytes of a server session by bucket, when it was used."""
    sums = BucketSums(sites_reader.profile_from_record(run))
    heaps = sums.live_by_bucket(IN_USE if is_in_use(run) else REPLY, "server")
    return {bucket: float(sums.each(heap)) for bucket, heap in heaps.items()}


def exact_size(stack: str, parts: Parts, among: Sequence[Path]) -> float:
    """Return the live heap in use, as everywhere; where it is not recorded, the sum of the parts."""
    return find_costs(stack, SUITE, among).sizes("server").get(LIVE_IN_USE, sum(parts.values()))


def name_buckets(found: Mapping[str, Parts], ours: Parts) -> list[str]:
    """Return the buckets that are large in any session, those that are OpenSSL's largest first."""
    widest = max(sum(parts.values()) for parts in found.values())
    large = {bucket for parts in found.values() for bucket, size in parts.items() if size > LARGE * widest}
    return sorted(large, key=lambda bucket: -ours.get(bucket, 0))


def is_explained(parts: Parts) -> bool:
    """Return whether the buckets say what most of the bytes are for."""
    return bool(parts) and parts.get(OTHER, 0) < sum(parts.values()) / 2


def list_parts(parts: Parts, named: Sequence[str]) -> list[tuple[BucketStyle, float]]:
    """Return the named buckets of a bar, and the rest."""
    rest = sum(size for bucket, size in parts.items() if bucket not in named)
    return [*((style_of_bucket(bucket), parts.get(bucket, 0)) for bucket in named), (REST, rest)]


def draw(among: Sequence[Path]) -> Figure:
    """Draw the newest release of each library whose buckets are known. Raises ValueError where OpenSSL has no call
    stacks."""
    newest = newest_releases(stack for path in among for stack in recordings.stacks(path))
    runs = {stack: run for stack in newest.values() if (run := find_run(stack, among))}
    found = {stack: parts for stack, run in runs.items() if is_explained(parts := parts_of_session(run))}
    if newest.get(OPENSSL) not in found:
        stack = newest.get(OPENSSL) or newest_releases(definitions.stacks())[OPENSSL]
        raise ValueError(
            f"no call stacks of {stack}; {advise_recording('in-use-sites', stack, SUITE, 'sites').sentence}"
        )
    ours = found[newest[OPENSSL]]
    sizes = {stack: exact_size(stack, parts, among) for stack, parts in found.items()}
    named, widest = name_buckets(found, ours), max(sizes.values())
    ordered = sorted(found, key=sizes.__getitem__)
    made, (axes,) = create_slide()
    for at, stack in enumerate(ordered):
        draw_parts(axes, at, list_parts(found[stack], named), widest)
        write_beside(axes, sum(found[stack].values()), at, f"{sizes[stack]:,.0f} B", bold=True)
    list_rows(axes, [stack_title(stack) for stack in ordered])
    axes.set_xlim(0, 1.17 * widest)
    largest = sorted(ours, key=lambda bucket: -ours[bucket])[:LARGEST]
    share = sum(ours[bucket] for bucket in largest) / sum(ours.values())
    title = f"OpenSSL: {share:.0%} is {', '.join(SHORT.get(bucket, bucket) for bucket in largest)}"
    subtitle = "Live heap of a server session in use, by what the bytes are for."
    handles = [Patch(label=style.bucket, **fill(style)) for style, _ in list_parts({}, named)]
    add_frame(made, title, subtitle, describe_records(runs[stack] for stack in ordered), handles)
    return made
