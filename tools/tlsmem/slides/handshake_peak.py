"""Slides 16 and 17: what OpenSSL's peak inside the handshake is for, and what each handshake of a storm adds."""

from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import Patch

from tlsmem.config import definitions
from tlsmem.config.libraries import library_key, stack_title
from tlsmem.config.recording_command import advise_recording
from tlsmem.config.stack_names import newest_releases
from tlsmem.config.suite_title import suite_difference
from tlsmem.config.suite_variants import split_variant
from tlsmem.plots.bucket_panel import BucketSizes, draw_parts, fill, list_buckets, sort_buckets
from tlsmem.plots.frame import add_frame, describe_records, list_rows, write_beside
from tlsmem.plots.in_use import DIAMOND
from tlsmem.profile import sites_reader
from tlsmem.profile.buckets.sums import BucketSums
from tlsmem.schema.roles import Owner
from tlsmem.slides.slide import SUITE, create_slide, describe_absent
from tlsmem.slides.why_openssl import OPENSSL, UNKNOWN, is_explained, is_in_use
from tlsmem.stats.configured_stack import IN_USE
from tlsmem.store import recordings
from tlsmem.store.record import Record

MESSAGES = "handshake messages and transcript"
OTHER_SUITE = "tls12-rsa-aes256"  # of a library without TLS 1.3
ROLES: tuple[Owner, ...] = "server", "client"
NARROW = 1.9  # a slide with long names: only wide parts have room for their figures
NO_STACKS = {"go": "no call stacks"}


class Session(NamedTuple):
    """Bytes of one session of a role by bucket at three moments."""

    run: Record
    in_use: BucketSizes
    one_more: BucketSizes  # of many at once: at the end of its fullest phase
    alone: BucketSizes  # at its peak

    @property
    def title(self) -> str:
        """The stack, and in what its suite differs from that of the slides."""
        other = suite_difference(split_variant(self.run.suite)[0], SUITE)
        return stack_title(self.run.stack) + (f", {other}" if other else "")


def find_run(stack: str, among: Sequence[Path]) -> Record | None:
    """Return the newest run of sessions in use whose peaks have call stacks."""
    runs = [run for path in among for run in recordings.load_stack(path, stack) if run.has_sites]
    for suite in (SUITE, OTHER_SUITE):
        for run in runs:
            if run.status == "measured" and is_in_use(run, suite) and read_sums(run).has_peaks:
                return run
    return None


def read_sums(run: Record) -> BucketSums:
    return BucketSums(sites_reader.profile_from_record(run))


def read_session(run: Record, role: Owner) -> Session:
    """Return what a session of the role holds. The run has call stacks at peaks."""
    sums = read_sums(run)

    def parts(moment: str | None) -> BucketSizes:
        heaps = sums.live_by_bucket(moment, role) if moment else {}
        return {bucket: float(sums.each(heap)) for bucket, heap in heaps.items()}

    return Session(run, parts(IN_USE), parts(sums.fullest(role)), parts(sums.alone_peak(role)))


def find_runs(among: Sequence[Path]) -> list[Record]:
    """Return the run of each library's newest release that has one. Raises ValueError where OpenSSL has none."""
    newest = newest_releases(stack for path in among for stack in recordings.stacks(path))
    found = [run for stack in newest.values() if (run := find_run(stack, among))]
    if not any(library_key(run.stack) == OPENSSL for run in found):
        stack = newest.get(OPENSSL) or newest_releases(definitions.stacks())[OPENSSL]
        advice = advise_recording("common-suites-sites", stack, SUITE, "sites").sentence
        raise ValueError(f"no call stacks of {stack} at the peak of one session alone; {advice}")
    return found


def draw_openssl(among: Sequence[Path]) -> Figure:
    """Draw the three moments of an OpenSSL server and of a client. Raises ValueError where call stacks are missing."""
    (run,) = [run for run in find_runs(among) if library_key(run.stack) == OPENSSL]
    made, (axes,) = create_slide()
    sessions = {role: read_session(run, role) for role in ROLES}
    rows = {
        f"{role}: {words}": parts
        for role, session in sessions.items()
        for words, parts in (
            ("in use", session.in_use),
            ("one more of many", session.one_more),
            ("one alone, peak", session.alone),
        )
    }
    widest = max(sum(parts.values()) for parts in rows.values())
    for at, parts in enumerate(rows.values()):
        draw_parts(axes, at, sort_buckets(parts), widest)
        write_beside(axes, sum(parts.values()), at, f"{sum(parts.values()):,.0f} B", bold=True)
    list_rows(axes, list(rows))
    axes.set_xlim(0, 1.13 * widest)
    server = sessions["server"]
    alone = sum(server.alone.values())
    times, share = alone / sum(server.in_use.values()), server.alone[MESSAGES] / alone
    title = (
        f"{stack_title(run.stack)}: a server's handshake peaks at {times:.1f} times a session in use, "
        f"{share:.0%} of it handshake messages"
    )
    subtitle = "Live heap of one session, TLS 1.3, by what the bytes are for. One more of many: what each of many adds."
    caption = (
        "One session alone has its transients to itself; many at once share them, since each frees its own before the "
        f"next takes its step. {describe_records([run])}"
    )
    add_frame(made, title, subtitle, caption, list_buckets(rows.values(), widest))
    return made


def draw_storm(among: Sequence[Path]) -> Figure:
    """Draw what one more concurrent handshake adds to a server, for every library. Raises ValueError without OpenSSL's
    call stacks."""
    sessions = [read_session(run, "server") for run in find_runs(among)]
    sessions.sort(key=lambda session: sum(session.one_more.values()))
    made, (axes,) = create_slide()
    widest = max(sum(session.alone.values()) for session in sessions)
    for at, session in enumerate(sessions):
        more, alone = sum(session.one_more.values()), sum(session.alone.values())
        parts = sort_buckets(session.one_more) if is_explained(session.one_more) else [(UNKNOWN, more)]
        draw_parts(axes, at, parts, NARROW * widest)
        axes.plot(alone, at, markersize=10, zorder=4, **DIAMOND)
        write_beside(axes, max(more, alone), at, f" {more:,.0f} B (alone {alone:,.0f} B)")
    list_rows(axes, [session.title for session in sessions])
    axes.set_xlim(0, 1.45 * widest)
    (openssl,) = [session for session in sessions if library_key(session.run.stack) == OPENSSL]
    title = (
        f"Each handshake of a storm adds {sum(openssl.one_more.values()):,.0f} B to a server of "
        f"{stack_title(openssl.run.stack)}: {openssl.one_more[MESSAGES]:,.0f} B are handshake messages"
    )
    subtitle = "Live heap that one more of many concurrent handshakes adds to a server, by what the bytes are for."
    absent = describe_absent(among, (session.run.stack for session in sessions), NO_STACKS)
    explained = [session.one_more for session in sessions if is_explained(session.one_more)]
    handles = [
        *list_buckets(explained, widest),
        Patch(label=UNKNOWN.bucket, **fill(UNKNOWN)),
        Line2D([], [], markersize=9, label="peak of one session alone", **DIAMOND),
    ]
    add_frame(made, title, subtitle, absent + describe_records(session.run for session in sessions), handles)
    return made
