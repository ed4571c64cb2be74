"""A heap profile, or two, as tls-memtest heap read is asked: tables, a tree of callers, and files."""

import argparse
import sys
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

import rich.console

from tlsmem.base import markdown_embedding, phase_names, stdout
from tlsmem.base.errors import Usage, UserError
from tlsmem.config import choices
from tlsmem.config.choices import OF_RUN, PROFILE_FILES, ROWS, VIEWS, By
from tlsmem.explore import (
    block_sizes,
    callers_tree,
    folded_stacks,
    profile_input,
    profile_output,
    profile_selection,
    profile_tables,
    tls_table,
    top_sites,
)
from tlsmem.profile.heap_profile import Profile
from tlsmem.schema import recording_files
from tlsmem.tables import render
from tlsmem.tables.table import Table

if TYPE_CHECKING:
    from tlsmem.explore.diff.profile_diff import Diff


def inspect(given: argparse.Namespace, parser: argparse.ArgumentParser) -> int:
    """0, or 1 when a part of the profile is missing. Raises ValueError or OSError with a sentence."""
    named = [given.profile] if given.profile else given.diff
    profile_output.check_outputs([getattr(given, name) for name in ("into", *PROFILE_FILES)], named)
    asked = argparse.Namespace(**vars(given))  # as it stands in a page
    sources = [profile_input.find_profile(file, given.stack) for file in named]
    given.phase = given.phase and phase_names.recorded_name(given.phase)
    given.filter = profile_selection.pattern(given.filter) if given.filter else None
    profiles = [profile_input.read_profile(file, given.suite, given.stack) for file in sources]
    for profile in profiles:
        if profile_selection.has_roles(profile):
            profile.sessions_of_role = profile_selection.sessions_per_role(profile, given.sessions)
    if given.diff:
        page = difference(profiles, given)
    else:
        page = show(profiles[0], given)
    if given.into:
        markdown_embedding.replace_block(given.into, asked, parser, page)
    return int(any(profile.torn for profile in profiles))


def show_profile(given: argparse.Namespace, parser: argparse.ArgumentParser) -> int:
    """Return the exit status. Raises UserError: Usage for what no profile has."""
    try:
        status = inspect(given, parser)
    except UserError:
        raise
    except ValueError as error:
        raise Usage(str(error)) from None
    except OSError as error:
        raise UserError(f"{error.filename}: {error.strerror}") from None
    return 1 if recording_files.skipped_lines else status


def show(profile: Profile, given: argparse.Namespace) -> str:
    """Tables, then the tree, then files; with --into nothing, but what is to stand in a page is returned.

    Raises ValueError or OSError with a sentence."""
    moment = "" if shows_run_only(profile, given) else profile_selection.select_moment(profile, given.phase).name
    made = list(tables(profile, given, moment))
    people = moment and form(given) in (choices.TABLE, choices.MARKDOWN) and (made or given.callers)
    first = tls_table.describe_shares(profile, moment, given.sessions) if people else ""
    if given.into:
        return f"{first}\n\n{page(made, reasons(profile) if given.buckets else [])}"
    if first:
        tell_first(first)
    if made:
        render.print_all(made, given.format)
    if given.callers and not given.format:
        root = callers_tree.tree(profile, moment, given.role, given.filter)
        draw(root, title(moment), given.top or ROWS)
    if given.buckets and form(given) in (choices.TABLE, choices.MARKDOWN):
        tell(reasons(profile), form(given))
    write(profile, given, moment)
    return ""


def shows_run_only(profile: Profile, given: argparse.Namespace) -> bool:
    """Whether only what happened over the run is asked for, of a profile that knows nothing of what was live."""
    asks_for_moment = (
        given.phase
        or given.callers
        or given.buckets
        or given.tls
        or any(getattr(given, name) for name in PROFILE_FILES)
    )
    return bool(profile.why_no_moments) and not asks_for_moment and given.by in (None, *OF_RUN)


def page(made: Sequence[Table], sentences: Sequence[str] = ()) -> str:
    """Markdown, as a page takes it."""
    return "\n".join([render.format_tables(made, choices.MARKDOWN), *map(item, sentences)])


def item(sentence: str) -> str:
    return f"- {sentence}"


def tables(profile: Profile, given: argparse.Namespace, moment: str) -> Iterator[Table]:
    """All where nothing is chosen; the sites where some are, or --by asks for them; and what has its own option."""
    rows = given.top or ROWS
    alone = not any(getattr(given, name) for name in (*VIEWS, *PROFILE_FILES))
    if given.by or (alone and (given.phase or given.role or given.filter)):
        by: By = given.by or ("allocated" if profile.why_no_moments else "bytes")
        yield top_sites.top_sites_table(profile, moment, given.role, by, rows, given.filter, given.sessions)
    elif alone:
        yield from profile_tables.overview(profile, rows=rows, sessions=given.sessions)
    if given.sizes:
        bars = form(given) == choices.TABLE
        yield from block_sizes.size_tables(profile, moment, given.role, given.filter, bars)
    if given.callers and (given.format or given.into):
        root = callers_tree.tree(profile, moment, given.role, given.filter)
        yield callers_tree.callers_table(profile, root, title(moment), rows)
    if given.buckets:
        yield bucket_table(profile)
    if given.tls:
        yield tls_table.share_table(profile, moment, given.sessions)
        if unnamed := tls_table.unnamed_blocks_table(profile, moment, rows):
            yield unnamed


def bucket_table(profile: Profile) -> Table:
    """Raises ValueError with a sentence without the run's record, which says whose rules and how many sessions."""
    from tlsmem.tables import buckets

    if profile.run is None:
        raise ValueError(f"{profile.file}: no record of a run is beside it; --buckets is for what `make profile` keeps")
    return buckets.bucket_table([profile])


def reasons(profile: Profile) -> list[str]:
    from tlsmem.profile.buckets import reasons as bucket_reasons

    return bucket_reasons.explain_profile(profile)


def form(given: argparse.Namespace) -> str:
    return given.format or (choices.TABLE if stdout.is_terminal() and not given.into else choices.MARKDOWN)


def title(moment: str) -> str:
    return f"Who called the allocator for what is live {profile_selection.describe_moment(moment)}"


def draw(root: callers_tree.CallerNode, heading: str, rows: int) -> None:
    """On a terminal in its width; else as wide as it is."""
    console = rich.console.Console(width=None if stdout.is_terminal() else WIDE, highlight=False)
    width = console.width
    with stdout.raise_write_errors():
        with console.capture() as drawn:
            console.print(callers_tree.draw_tree(root, heading, rows, width))
        sys.stdout.write("".join(f"{line.rstrip()}\n" for line in drawn.get().splitlines()))


WIDE = 10_000


def tell_first(sentence: str) -> None:
    """As the first line of a view."""
    with stdout.raise_write_errors():
        if stdout.is_terminal():
            render.print_text(rich.console.Console(), sentence)
        else:
            print(f"{sentence}\n")


def tell(sentences: Sequence[str], form: str) -> None:
    """In words, below the tables: in Markdown a list, after a line that ends the table; on a terminal in its width."""
    if not sentences:
        return
    with stdout.raise_write_errors():
        if form == choices.MARKDOWN:
            print("", *map(item, sentences), sep="\n")
        else:
            for sentence in sentences:
                render.print_text(rich.console.Console(), sentence.replace("**", ""))


def write(profile: Profile, given: argparse.Namespace, moment: str) -> None:
    chosen = {"owner": given.role, "pattern": given.filter}
    if given.folded:
        profile_output.write_text(folded_stacks.lines(folded_stacks.folded(profile, moment, **chosen)), given.folded)
    if given.speedscope:
        profile_output.write_text(folded_stacks.speedscope(profile, moment, **chosen), given.speedscope)
    if given.pprof:
        from tlsmem.explore import pprof_file

        profile_output.write_bytes(pprof_file.pack(profile, given.phase, **chosen), given.pprof)
        if not given.phase and len(profile.moments) > 1:
            advice = pprof_file.advise([*profile.moments])
            print(f"{given.pprof}: {len(profile.moments)} moments; {advice}", file=sys.stderr)
    if given.parquet:
        from tlsmem.explore import parquet_file

        profile_output.write_bytes(parquet_file.pack(profile, given.phase, **chosen), given.parquet)
    if given.flamegraph:
        from tlsmem.explore.flamegraph import write_flamegraph

        write_flamegraph.write(profile, given.flamegraph, moment=moment, **chosen)


def compare(profiles: Sequence[Profile], given: argparse.Namespace) -> "Diff":
    """Raises ValueError with a sentence."""
    from tlsmem.explore.diff import profile_diff

    for profile in profiles:
        profile_selection.refuse_without_moments(profile)
    if given.profile:
        (profile,) = profiles
        return profile_diff.compare_moments(profile, *map(phase_names.recorded_name, given.diff))
    old, new = profiles
    return profile_diff.compare(old, new, given.phase, force=given.force)


def difference(profiles: Sequence[Profile], given: argparse.Namespace) -> str:
    """As show, of two profiles, or of two moments of one. Raises ValueError with a sentence when the two cannot be
    compared."""
    from tlsmem.explore.diff import sentences, tables, tls_change

    whole = compare(profiles, given)
    found = whole.select(given.role, given.filter)
    if not found.rows:
        parts = ", ".join(dict.fromkeys(row.part for row in whole.rows)) or "nobody's"
        files = " and ".join(dict.fromkeys(profile.file for profile in profiles))
        raise profile_selection.PatternNotFound(
            f"{files}: no call stack of either side is among those asked for; what is live then is of {parts}"
        )
    first = tls_change.describe_change(whole)
    if given.tls:
        made, told = [tls_change.change_table(whole)], [*sentences.describe_sides(whole)]
        told += sentences.describe_conditions(whole)
    else:
        made, told = tables.tables(found, given.top or ROWS), sentences.describe_diff(found)
    if given.into:
        return f"{first}\n\n{page(made, told)}"
    if given.tls or not (given.folded or given.flamegraph):
        people = form(given) in (choices.TABLE, choices.MARKDOWN)
        if people:
            tell_first(first)
        render.print_all(made, given.format)
        if people:
            tell(told, form(given))
    if given.folded:
        profile_output.write_text("".join(f"{stack} {was} {now}\n" for stack, was, now in found.folded()), given.folded)
    if given.flamegraph:
        from tlsmem.explore.flamegraph import write_flamegraph

        write_flamegraph.write_diff(found, given.flamegraph)
    return ""
