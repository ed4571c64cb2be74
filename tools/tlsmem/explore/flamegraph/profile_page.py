"""One page of a heap profile that needs nothing else: its figure, all moments of it, and what draws them."""

import base64
import hashlib
from collections.abc import Mapping, Sequence

import jinja2
from markupsafe import Markup

from tlsmem.base.paths import PACKAGE
from tlsmem.base.phase_names import PEAK_OF, READABLE_NAMES
from tlsmem.explore import profile_selection
from tlsmem.explore.diff import sentences
from tlsmem.explore.diff.profile_diff import Diff, DiffSide
from tlsmem.explore.diff.rows import WARM_UP
from tlsmem.explore.flamegraph import call_tree, page_data, page_scripts
from tlsmem.explore.profile_tables import COLUMNS
from tlsmem.plots.bucket_panel import bucket_look, ordered_buckets, style_of_bucket, text_on
from tlsmem.profile.heap_profile import BASE, PEAK, Profile, profiler_name
from tlsmem.schema.roles import Owner

MOST = 2_000_000  # bytes of a page
DIFF_MOMENTS = ("OLD", "NEW", "change")  # the moments of a diff
COLUMN = {owner: column for column, owners in COLUMNS.items() for owner in owners}


def page(
    profile: Profile, moment: str | None = None, owner: Owner | None = None, wanted: profile_selection.Pattern = None
) -> str:
    """Of the stacks that the pattern finds; opens at this moment, with this owner. Raises ValueError with a
    sentence."""
    opens = profile_selection.select_moment(profile, moment).name
    stacks = {stack: None for moment in profile.moments.values() for stack in moment.live}
    found = profile_selection.filter_stacks(profile.stacks, stacks, wanted)
    if stacks and not found:
        raise profile_selection.PatternNotFound(
            f"{profile.file}: no call stack that holds memory at any moment has a frame that --filter finds"
        )
    tree = call_tree.tree_from_profile(profile, found)
    about = heading(profile) | {
        "opens": {"phase": opens, "role": COLUMN[owner] if owner else "all"},
        "base": [*profile.moments].index(BASE) if BASE in profile.moments else None,
        "of_sessions": [profile_selection.why_no_sessions(profile, name) is None for name in profile.moments],
        "at_peak": [name == PEAK for name in profile.moments],
        "alone": [name.startswith(PEAK_OF) for name in profile.moments],
        "ends": find_ends([*profile.moments]),
        "sessions": profile_selection.sessions_per_role(profile),
        "roles": profile_selection.has_roles(profile),
        "pattern": wanted and str(getattr(wanted, "pattern", wanted)),
        "warnings": profile.warnings,
    }
    return render_page(about, [*profile.moments], tree)


def find_ends(moments: Sequence[str]) -> list[int | None]:
    """Return of each moment that is the peak of a phase which one is the end of that phase; None where it is not
    there, and of all other moments."""
    ends = {f"{PEAK_OF}{name}": at for at, name in enumerate(moments)}
    return [ends.get(name) for name in moments]


def heading(profile: Profile) -> dict[str, str]:
    run = profile.run
    if run is None:
        return {
            "title": profile.command or profile.file,
            "subtitle": f"{profile.file}, by {profiler_name(profile.tool)}",
        }
    whole = f"N = {run.sessions:,} sessions"
    by = f"one pair of {whole}, by a sites run" if profile.of_one_pair else f"{whole}, by {profiler_name(profile.tool)}"
    return {"title": f"{run.stack}, {run.suite}", "subtitle": by, "stack": run.stack, "suite": run.suite}


def diff_page(diff: Diff) -> str:
    """OLD, NEW and what changed, as three moments."""
    shared = max(diff.old.sessions or 0, diff.new.sessions or 0) or None
    about = {
        "title": diff_title(diff),
        "stack": diff_title(diff),
        "suite": diff_suite(diff),
        "subtitle": ", ".join(filter(None, [diff_suite(diff), *moment_and_role(diff)])),
        "opens": {"phase": "change", "role": "all"},
        "base": None,
        "sessions": shared,
        "roles": any(profile_selection.has_roles(side.profile) for side in (diff.old, diff.new)),
        "diff": {
            "old": diff.old.label,
            "new": diff.new.label,
            "shared": call_tree.shared_share(diff),
            "least_shared": call_tree.LEAST_SHARED,
            "by_purpose": call_tree.is_by_purpose(diff),
        },
        "at_peak": [PEAK in (diff.old.moment, diff.new.moment)] * len(DIFF_MOMENTS),
        "warnings": [*sentences.describe_sides(diff), *warnings(diff.old), *warnings(diff.new)],
    }
    return render_page(about, DIFF_MOMENTS, call_tree.tree_from_diff(diff))


def warnings(side: DiffSide) -> list[str]:
    return [f"{side.label}: {warning}" for warning in side.profile.warnings]


def diff_title(diff: Diff) -> str:
    return " → ".join(side.label.removeprefix("the run of ") for side in (diff.old, diff.new))


def diff_suite(diff: Diff) -> str:
    """Both, where the comparison is forced."""
    suites = [side.profile.run.suite for side in (diff.old, diff.new) if side.profile.run]
    return " → ".join(dict.fromkeys(suites))


def describe_shared(diff: Diff) -> str:
    share, least = call_tree.shared_share(diff), call_tree.LEAST_SHARED
    return f"by what the bytes are for: {share:.0%} are below a library function that both call, less than {least:.0%}"


def moment_and_role(diff: Diff) -> list[str]:
    """The role where only one is compared."""
    moments = " → ".join(dict.fromkeys(describe_moment(side.moment) for side in (diff.old, diff.new)))
    parts = {row.part for row in diff.rows}
    return [moments, *parts] if len(parts) == 1 and parts <= {*profile_selection.ROLES} else [moments]


def describe_moment(moment: str) -> str:
    return profile_selection.describe_moment(moment).replace("`", "")


def render_page(about: Mapping[str, object], moments: Sequence[str], tree: call_tree.CallTree) -> str:
    """The smallest functions are put together until the page is no larger than it may be."""
    about = {
        **about,
        "moments": moments,
        "columns": COLUMN | {WARM_UP: COLUMN["client context"]},
        "session_roles": profile_selection.ROLES,
        "readable": READABLE_NAMES | readable_peaks(moments),
        "looks": {bucket: looks(bucket) for bucket in tree.known},
    }
    drawn = page_scripts.scripts()
    folder = jinja2.FileSystemLoader(PACKAGE / "explore/flamegraph/assets")
    template = jinja2.Environment(loader=folder, autoescape=True, trim_blocks=True).get_template("page.html.jinja")
    parts = {
        "about": about,
        "scripts": [plain(script) for script in drawn.scripts],
        "policy": " ".join(f"'sha256-{digest(script)}'" for script in drawn.scripts),
        "style": plain(page_scripts.read_asset("page.css") + flamegraph_style()),
        "licences": plain("\n\n".join(drawn.licences)),
        "json": Markup(page_data.pack_json(about)),
    }
    room = MOST - len(template.render(parts, tree="").encode())
    return template.render(parts, tree=Markup(page_data.fit_tree_json(tree, room)))


def readable_peaks(moments: Sequence[str]) -> dict[str, str]:
    """Peaks of phases as people read them."""
    peaks = [name.removeprefix(PEAK_OF) for name in moments if name.startswith(PEAK_OF)]
    return {f"{PEAK_OF}{name}": f"{PEAK_OF}{READABLE_NAMES.get(name, name)}" for name in peaks}


def looks(bucket: str) -> dict[str, str]:
    colour = style_of_bucket(bucket).colour
    return {"colour": colour, "text": text_on(colour)}


def flamegraph_style() -> str:
    """Return the style of flamegraphs, with the text on each bucket's colour, which a style sheet cannot choose by
    itself. It uses --paper, --ink, --line and --quiet of the page."""
    rule = '.flames rect[fill="{colour}"] ~ foreignObject .d3-flame-graph-label {{ color: {text} }}\n'
    rules = [rule.format(**bucket_look(one)) for one in ordered_buckets()]
    return page_scripts.read_asset("flamegraph.css") + "".join(rules)


def plain(text: str) -> Markup:
    """As it stands, between tags: of ours and of pinned libraries only."""
    if "</script" in text.lower() or "<!--" in text or "</style" in text.lower():
        raise ValueError("what draws the page would end its own tag")
    return Markup(text)


def digest(script: str) -> str:
    return base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
