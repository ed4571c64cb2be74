"""Memory by phase: of every stack, suite and role a chart, and of every phase its flamegraph and buckets.

Trees of call stacks: names, frames and rules once, and a tree for each run, in columns by node, callers first: who
called, as a difference; frame; rule; lines; and what the node itself holds: moment, bytes, blocks, again where they
change. They are packed by deflate, which a browser can undo."""

import json
import shlex
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import NamedTuple

from markupsafe import Markup, escape

from tlsmem.base import memo
from tlsmem.base.cache_file import digest_code
from tlsmem.base.phase_names import READABLE_NAMES
from tlsmem.build.commands import BuildFailed
from tlsmem.config import recording_command, releases
from tlsmem.config.libraries import libraries, library_key
from tlsmem.config.stack_names import newest_releases
from tlsmem.explore.flamegraph import call_tree, page_scripts
from tlsmem.explore.flamegraph.call_tree import ANOTHER, LEAST_SHARED, CallTree, FunctionKey
from tlsmem.explore.flamegraph.page_data import Numbering, held_changes, name_frame
from tlsmem.explore.flamegraph.page_scripts import Scripts
from tlsmem.explore.flamegraph.profile_page import flamegraph_style
from tlsmem.plots import buckets
from tlsmem.plots.bucket_panel import bucket_look, ordered_buckets
from tlsmem.profile import sites_reader
from tlsmem.profile.buckets import rules
from tlsmem.profile.buckets.rules import Rule
from tlsmem.profile.buckets.sums import BucketSums
from tlsmem.profile.heap_profile import Profile
from tlsmem.report import phase_figures
from tlsmem.report.packed_json import pack_json
from tlsmem.report.phase_figures import PAIR, Figures, Holder, StackInSuite
from tlsmem.report.recordings import Recording
from tlsmem.report.sections import Picture, Section, read_asset
from tlsmem.schema.roles import ROLES
from tlsmem.stats.selection import Selection
from tlsmem.store.record import Record


@dataclass
class PairTree:
    """One pair's tree at these moments, and which rule says what a node's own bytes are for."""

    tree: CallTree = field(default_factory=CallTree)
    rules: dict[int, Rule | None] = field(default_factory=dict)

    def node_for_rule(self, place: int, rule: Rule | None) -> int:
        """The node for bytes of this rule: the place itself, or one below it where that is taken."""
        while self.rules.setdefault(place, rule) != rule:
            place = self.tree.node(place, (ANOTHER, "", ""))
        return place


ROOM = 340_000  # bytes of the packed figures and call stacks in a page of one file
ROOM_OF_FILE = 20_000_000  # and in a file of their own
FAMILIES = ("openssl", "rustls")  # beside each other when the page is opened
OWN = ("phase_words.js", "phase_chart.js", "phase_flames.js", "phase_details.js", "phases.js")


class PhaseEntry(NamedTuple):
    """A place in a recording; its call stacks where a sites run tells."""

    recording: int
    at: StackInSuite
    names: list[str]
    figures: Mapping[Holder, Figures]
    run: Record | None  # under the sites meter


def section(recordings: Sequence[Recording]) -> Section | None:
    """None where no recording has runs whose phases can be shown."""
    found = [one for at, recording in enumerate(recordings) for one in places(at, recording)]
    if not found:
        return None
    libraries, unflamed = fetched()
    html = Markup(read_asset("phases.html")).format(licences=escape("\n\n".join(libraries.licences)))
    ours = [page_scripts.read_script(page_scripts.DRAWING), *map(page_scripts.drop_comments, map(read_asset, OWN))]
    scripts = (*libraries.scripts, read_asset("charts.js"), "".join(ours))
    styles = (read_asset("charts.css"), read_asset("phases.css"), flamegraph_style())
    return Section(
        "phases",
        "Memory by phase",
        html,
        {"unflamed": unflamed},
        fitting(recordings, found, newest_trees(found), ROOM),
        partial(fitting, recordings, found, trees(found), ROOM_OF_FILE),
        scripts,
        styles,
        files=pictures(recordings, found),
    )


def pictures(recordings: Sequence[Recording], found: Sequence[PhaseEntry]) -> tuple[Picture, ...]:
    """Of the two that stand beside each other when the page is opened."""
    shown = [found[at] for at in opens(found)]
    runs = [one.run for one in shown if one.run]
    if len(runs) < len(shown):
        return ()
    recording, suite = recordings[shown[0].recording], shown[0].at.suite
    profiles = [sites_reader.profile_from_record(run) for run in runs]
    command = ["tools/tls-memtest", "show", "parts", recording.path, "-o", "phases", "--suite", suite]
    command += [word for one in shown for word in ("--stack", one.at.stack)]
    says = f"What a session of {' and of '.join(one.at.stack for one in shown)} holds by phase, in buckets, in {suite}."
    drawn = partial(buckets.figure, profiles)
    return (Picture("phases", "Memory by phase", says, shlex.join(command), drawn),)


def fetched() -> tuple[Scripts, str | None]:
    """What draws flamegraphs; nothing, and why, where it cannot be had: call sites are in a table too."""
    try:
        return page_scripts.libraries(), None
    except BuildFailed as error:
        print(f"memtest: no flamegraphs: {error}", file=sys.stderr)
        return Scripts([], []), f"No flamegraph, since {error}."


def places(number: int, recording: Recording) -> Iterator[PhaseEntry]:
    selection = recording.contents.memory
    if not selection:
        return
    for at in phase_figures.stacks_in_suites(selection):
        names, figures = find_figures(selection, at)
        yield PhaseEntry(number, at, names, figures, phase_figures.sites_run(selection, at))


def find_figures(selection: Selection, at: StackInSuite) -> tuple[list[str], Mapping[Holder, Figures]]:
    """Return the names of the phases, and the figures by role; cached by the records that they are of, and by code."""
    runs = phase_figures.runs_of(selection, at)
    digests = [run.digest for run in runs]

    def make() -> tuple[list[str], Mapping[Holder, Figures]]:
        names, run = phase_figures.phases(selection, at), phase_figures.sites_run(selection, at)
        profile = sites_reader.profile_from_record(run) if run else None
        together = any(one.roles == "together" for some in at.resident.values() for one in some)
        roles: tuple[Holder, ...] = (*ROLES, PAIR) if together else ROLES
        return names, {role: phase_figures.figures(selection, at, role, names, profile) for role in roles}

    code = digest_code(("report/phase_section.py",))
    names, figures = memo.recall("phases of a stack in a suite", [repr(at), digests], code, make)
    return names, figures


def trees(found: Sequence[PhaseEntry]) -> list[int]:
    """Return the places that have call stacks, one of each stack first: of TLS 1.3 before others."""
    there = [at for at, one in enumerate(found) if one.run]
    suites: dict[str, list[str]] = {}
    for at in sorted(there, key=lambda at: not found[at].at.suite.startswith("tls13")):
        known = suites.setdefault(found[at].at.stack, [])
        known += [found[at].at.suite] * (found[at].at.suite not in known)
    return sorted(there, key=lambda at: suites[found[at].at.stack].index(found[at].at.suite))


def newest_trees(found: Sequence[PhaseEntry]) -> list[int]:
    """Return those of each library's newest release; of a stack of no known library, all."""
    names = {at: found[at].at.stack for at in trees(found)}
    newest = newest_releases(names.values()).values()
    return [at for at, stack in names.items() if stack in newest or library_key(stack) not in libraries()]


def fitting(recordings: Sequence[Recording], found: Sequence[PhaseEntry], wanted: Sequence[int], room: int) -> str:
    """Pack the figures, with as many of the wanted trees as fit; cached by figures, records and code.

    Raises ValueError if the figures alone do not fit."""
    make = partial(fit_trees, recordings, found, wanted, room)
    runs = [run for at in wanted if (run := found[at].run)]
    digests = [run.digest for run in runs]
    code = digest_code(("**/*.py",))
    figures = json.dumps(page_data(recordings, found, {}))
    text: str = memo.recall("call trees of a page", [figures, digests, [*wanted], room], code, make)
    return text


def fit_trees(recordings: Sequence[Recording], found: Sequence[PhaseEntry], wanted: Sequence[int], room: int) -> str:
    """Pack them, by leaving out the last trees. Raises ValueError when figures alone do not fit."""
    trees = {at: pair_tree(found[at]) for at in wanted}
    while len(text := pack_json(page_data(recordings, found, trees))) > room:
        if not trees:
            raise ValueError(f"memory by phase of {len(found):,} stacks and suites needs more than {room:,} bytes")
        kept = min(len(trees) - 1, len(trees) * room // len(text))
        trees = {at: trees[at] for at in wanted[:kept]}
    return text


def pair_tree(one: PhaseEntry) -> PairTree:
    """Its moments are the ends of the phases, and after these the peaks of one session alone."""
    assert one.run
    moments = [*one.names, *map(phase_figures.peak_of, one.names)]
    return pair_tree_from_profile(sites_reader.profile_from_record(one.run), moments)


def page_data(
    recordings: Sequence[Recording], found: Sequence[PhaseEntry], kept: Mapping[int, PairTree]
) -> dict[str, object]:
    """Adjacent trees are alike, which packs them small: trees stand in the order of stacks."""
    order = sorted(kept, key=lambda at: (found[at].at.stack, found[at].at.suite, at))
    grown, places = merge_trees([kept[at] for at in order])
    numbers = dict(zip(order, places, strict=True))
    named = [{"name": one.name, "path": shlex.quote(one.path), "machine": one.machine} for one in recordings]
    entries = [entry(one, numbers.get(at)) for at, one in enumerate(found)]
    about: dict[str, object] = {
        "readable": READABLE_NAMES,
        "buckets": [bucket_look(bucket) for bucket in ordered_buckets()],
        "opens": opens(found),
        "least_shared": LEAST_SHARED,
    }
    return about | grown | {"recordings": named, "entries": entries}


def entry(one: PhaseEntry, tree: int | None) -> dict[str, object]:
    kept: dict[str, object] = {
        "recording": one.recording,
        "stack": one.at.stack,
        "suite": one.at.suite,
        "phases": one.names,
        "metered": one.at.metered and one.at.metered.roles,
        "roles": one.figures,
        "pair_of": one.run.sessions if one.run else 0,
    }
    if one.names and not one.run:
        command, reason = recording_command.advise_profile(one.at.stack, one.at.suite)
        kept |= {"profile": command} if command else {"unprofiled": reason}
    return kept | {"tree": tree, "left_out": bool(one.run) and tree is None}


def opens(found: Sequence[PhaseEntry]) -> list[int]:
    """Two entries in one suite of one recording: of these families where they are there, with call stacks if any, the
    newest releases."""
    order = releases.sort_newest_first(one.at.stack for one in found)

    def likeness(at: int) -> tuple[int, bool, bool, int, int]:
        stack, suite = found[at].at.stack, found[at].at.suite
        known = FAMILIES.index(family(found[at])) if family(found[at]) in FAMILIES else len(FAMILIES)
        return known, not found[at].run, not suite.startswith("tls13"), order.index(stack), at

    first = min(range(len(found)), key=likeness)
    beside = [at for at, one in enumerate(found) if at != first and same_row(one, found[first])]
    others = [at for at in beside if family(found[at]) != family(found[first])]
    return [first, *([min(others or beside, key=likeness)] if beside else [])]


def family(one: PhaseEntry) -> str:
    return rules.family_of(one.at.stack)


def same_row(one: PhaseEntry, other: PhaseEntry) -> bool:
    return (one.recording, one.at.suite) == (other.recording, other.at.suite)


def pair_tree_from_profile(profile: Profile, moments: Sequence[str]) -> PairTree:
    """Of a sites run: what its two sessions hold at these moments."""
    made, sums, places = PairTree(), BucketSums(profile), {}
    for at, name in enumerate(moments):
        for stack, held in profile.moments[name].live.items() if name in profile.moments else ():
            if profile.stacks.owner(stack) not in ROLES:
                continue
            if stack not in places:
                frames = call_tree.frames_from_driver(profile.stacks.frames(stack))
                keys = ((call_tree.function_key(frame), frame.line) for frame in frames)
                places[stack] = made.node_for_rule(made.tree.place(profile.stacks.owner(stack), keys), sums.rule(stack))
            made.tree.add(places[stack], at, held)
    return made


def columns(one: PairTree, frames: Numbering[FunctionKey], rules: Numbering[Rule]) -> dict[str, object]:
    tree = one.tree
    chosen = [one.rules.get(node) for node in range(len(tree.keys))]
    return {
        "callers": [node - caller for node, caller in enumerate(tree.callers)],
        "frames": [frames[key] for key in tree.keys],
        "rules": [-1 if rule is None else rules[rule] for rule in chosen],
        "lines": [sorted(lines) for lines in tree.lines],
        "held": [held_changes(held) for held in tree.held],
    }


def merge_trees(trees: Sequence[PairTree]) -> tuple[dict[str, object], list[int]]:
    """Return the trees, where equal ones stand once, and which of these each is."""
    names, frames, rules, texts = Numbering[str](), Numbering[FunctionKey](), Numbering[Rule](), Numbering[str]()
    order = [texts[json.dumps(columns(one, frames, rules), separators=(",", ":"))] for one in trees]
    parts = [[names[part] for part in name_frame(key)] for key in frames]
    said = [[rule.bucket, rule.why] for rule in rules]
    return {"names": [*names], "frames": parts, "rules": said, "trees": list(map(json.loads, texts))}, order
