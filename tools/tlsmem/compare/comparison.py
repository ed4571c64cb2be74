"""OLD against NEW: every figure that both have, with what changed, and what could not be compared and why."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from functools import cached_property

from tlsmem.compare import declared_settings, run_matching
from tlsmem.compare.figure_places import CUMULATIVE_METERS, TIMED_METERS, Place, place_order
from tlsmem.compare.figures import Figure, figures_by_place
from tlsmem.compare.run_matching import MEMORY_WORK, Match
from tlsmem.compare.side_names import NEW, OLD, shorten_names
from tlsmem.config.choices import COMPARED_STAGES
from tlsmem.schema.harness_output import Meter
from tlsmem.stats.change import Change, compare_figures
from tlsmem.stats.series import Series, Setting
from tlsmem.store.record import Record

SETTINGS = ("stack", "allocator", "window", "roles", "env", "cpu")
HANDSHAKE = "established"  # what was allocated up to here is a handshake's
NO_SUCH = "its runs did not reach this phase, or not at these numbers of sessions"


@dataclass(frozen=True)
class FigureFilter:
    """What of all figures is looked at; None is the usual: the stages of a session."""

    phases: tuple[str, ...] | None = None  # ("all",): the ends of all phases too
    roles: tuple[str, ...] | None = None
    meters: tuple[str, ...] | None = None

    def includes(self, place: Place) -> bool:
        meter = "heap" if place.meter == "blocks" else place.meter  # bytes are in blocks: none without the other
        meters = self.meters and {"heap" if one == "blocks" else one for one in self.meters}
        if (self.roles and place.role not in self.roles) or (meters and meter not in meters):
            return False
        if place.meter in TIMED_METERS or self.phases == ("all",):
            return True
        if self.phases is None and place.meter in CUMULATIVE_METERS:
            return place.phase == HANDSHAKE
        return place.phase in (self.phases or COMPARED_STAGES)


@dataclass(frozen=True)
class ComparedFigure:
    """One figure of both sides."""

    match: Match
    place: Place  # its suite is OLD's -> NEW's where these differ
    old: Figure
    new: Figure

    @cached_property
    def change(self) -> Change:
        return compare_figures(self.old, self.new)


@dataclass(frozen=True)
class Comparison:
    labels: tuple[str, str]  # what the two sides are
    rows: tuple[ComparedFigure, ...]
    refused: tuple[Match, ...]  # settings differ
    alone: tuple[str, ...]  # sentences: what one side has, and why the other has not
    notes: tuple[str, ...]
    forced: tuple[declared_settings.SettingDifference, ...] = ()
    between: tuple[ComparedFigure, ...] = ()  # live heap at the ends of phases that are not asked for

    @cached_property
    def sides(self) -> tuple[str, str]:
        """Short names of the two sides, for headings and sentences."""
        return shorten_names(self.labels)

    @cached_property
    def varying(self) -> tuple[str, ...]:
        """The settings, and the stack, that are not the same in all rows."""
        matches = {id(row.match): row.match for row in self.rows}.values()
        return tuple(name for name in SETTINGS if len({describe_setting(match, name) for match in matches}) > 1)

    def describe_match(self, match: Match) -> str:
        """Its suite, with what varies."""
        said = [(f"{name} " if name != "stack" else "") + describe_setting(match, name) for name in self.varying]
        return ", ".join([match.suite, *said])

    @property
    def changed(self) -> list[ComparedFigure]:
        return [row for row in self.rows if row.change.changed]

    @property
    def unknown(self) -> list[ComparedFigure]:
        return [row for row in self.rows if row.change.verdict == "not known"]


def compare(
    old: Sequence[Record],
    new: Sequence[Record],
    labels: tuple[str, str] = (OLD, NEW),
    by: Collection[str] = (),
    stacks: dict[str, str] | None = None,
    force: bool = False,
    wanted: FigureFilter | None = None,
) -> Comparison:
    """Of runs as recorded: the newest comparable ones of each side are chosen, and paired as matching.match has it.

    `labels`: what people call the sides. With `force` rows whose settings differ are compared, and it is said."""
    (old, of_old), (new, of_new) = run_matching.select_comparable(old), run_matching.select_comparable(new)
    found = run_matching.match_runs(old, new, by, stacks)
    refused = [] if force else [one for one in found.matches if one.apart]
    kept = [one for one in found.matches if one not in refused]
    sides = shorten_names(labels)
    names = dict(zip((OLD, NEW), sides, strict=True))
    rows, between = list[ComparedFigure](), list[ComparedFigure]()
    alone = [f"Only {names[side]} has {kind}." for side, kind in found.only]
    for one in kept:
        made, others, holes = compare_match(one, wanted or FigureFilter(), sides)
        rows += made
        between += others
        alone += holes
    left_out = [f"{side}: {said}." for side, some in zip(sides, (of_old, of_new), strict=True) for said in some]
    notes = [*left_out, *declared_settings.comparison_notes(old, new, sides)]
    forced = dict.fromkeys(difference for one in kept for difference in one.apart)
    return Comparison(labels, tuple(rows), tuple(refused), tuple(alone), tuple(notes), tuple(forced), tuple(between))


def describe_setting(match: Match, name: str) -> str:
    """Of OLD -> of NEW where they differ."""
    return run_matching.join_arrow(*(getattr(kind, name) for kind in match.kinds))


def compare_match(
    match: Match, wanted: FigureFilter, sides: tuple[str, str]
) -> tuple[list[ComparedFigure], list[ComparedFigure], list[str]]:
    """The figures that are asked for; live heap in other phases; and sentences of what one side lacks."""
    old, new = (figures_by_place(side) for side in with_counts_shared(match))
    old, new = ({place._replace(suite=match.suite): one for place, one in side.items()} for side in (old, new))
    places = sorted((place for place in {**old, **new} if wanted.includes(place)), key=place_order)
    both = [ComparedFigure(match, place, old[place], new[place]) for place in old if place in new]
    rows = sorted((row for row in both if wanted.includes(row.place)), key=lambda row: place_order(row.place))
    between = [row for row in both if row.place.meter in ("heap", "blocks") and not wanted.includes(row.place)]
    missing: dict[tuple[bool, str], list[Place]] = {}
    for place in places:
        if place not in old or place not in new:
            in_old = place in old
            missing.setdefault((in_old, reason(match, not in_old, place.meter)), []).append(place)
    holes = [hole(match, sides if in_old else sides[::-1], why, some) for (in_old, why), some in missing.items()]
    return rows, between, holes


def with_counts_shared(match: Match) -> tuple[Sequence[Record], Sequence[Record]]:
    """RSS runs at the numbers of sessions of both only, where these are two: a line through others is another line."""
    sides = (match.old, match.new)
    counts = [{one.sessions for one in side if one.meter == "rss" and one.status == "measured"} for side in sides]
    shared = counts[0] & counts[1]
    if match.kinds[0].work != MEMORY_WORK or counts[0] == counts[1] or not shared:
        return sides
    old, new = ([one for one in side if one.meter != "rss" or one.sessions in shared] for side in sides)
    return old, new


def reason(match: Match, of_old: bool, meter: str) -> str:
    """Why a side has no such figure."""
    runs = match.old if of_old else match.new
    of: Meter = "rss" if meter in ("rss", "peak-rss") else "time" if meter in TIMED_METERS else "heap"
    series = Series(runs[0].stack, Setting.from_record(runs[0]), runs)
    return NO_SUCH if series.runs(of) else series.reason(of)


def hole(match: Match, sides: tuple[str, str], why: str, places: Sequence[Place]) -> str:
    """Return a sentence of what the first of the sides alone has, and why the second has not."""
    there, other = sides
    meters = ", ".join(dict.fromkeys(place.meter for place in places))
    many = f"{len(places)} figures" if len(places) > 1 else "1 figure"
    return f"Only {there} has {many} of {match.suite}, {match.stack} ({meters}); in {other}: {why}."
