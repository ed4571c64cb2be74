"""Differences of costs: what a suite adds to the plain one, as client certificates or a post-quantum key exchange do,
and how much more or less one stack holds than another."""

import re
import textwrap
from collections.abc import Iterator, Sequence
from pathlib import Path

from rich.text import Text

from tlsmem.config import definitions
from tlsmem.config.libraries import stack_title
from tlsmem.config.suite_title import suite_difference
from tlsmem.cost.find_costs import StackCosts, find_costs, find_peaks
from tlsmem.schema.roles import Role
from tlsmem.stats.costs import COSTS, LIVE_AT_REST, LIVE_IN_USE, RSS_COSTS, Cost
from tlsmem.stats.missing import Missing

ADDING = re.compile("-(?:pq|mutual)(?=-|$)")  # in the name of a suite: what it has and the plain one has not
COMPARED: tuple[Cost, ...] = (LIVE_AT_REST, *COSTS)
PEAK = "Handshake peak"  # of live heap
COLUMNS = 80


def find_plain_suite(suite: str) -> str | None:
    """Return the suite with X25519, an RSA-2048 certificate and without client certificates; None for that itself, and
    where there is no such suite."""
    plain = ADDING.sub("", suite).replace("-mldsa65-", "-rsa-")
    return plain if plain != suite and plain in definitions.suites() else None


def find_added(
    costs: StackCosts, plain: StackCosts, roles: Sequence[Role], among: Sequence[Path]
) -> Iterator[tuple[str, list[int | None]]]:
    """Yield each figure that any role has in both suites: its name, and what the suite adds for each role, in bytes.

    RSS is compared within one recording only, as recordings may be of different machines."""
    for cost in COMPARED:
        if cost in RSS_COSTS and costs.recording != plain.recording:
            continue
        sizes = [subtract(costs.figure(role, cost), plain.figure(role, cost)) for role in roles]
        if any(size is not None for size in sizes):
            yield cost.name, sizes
    peaks = [[find_peak(one, role, among) for one in (costs, plain)] for role in roles]
    sizes = [subtract(*pair) for pair in peaks]
    if any(size is not None for size in sizes):
        yield PEAK, sizes


def find_peak(costs: StackCosts, role: Role, among: Sequence[Path]) -> float | Missing:
    """Return what one more session of many adds to the peak of live heap, in bytes."""
    found = find_peaks(costs.stack, costs.suite, role, among).one_more
    return found if isinstance(found, Missing) else found.size


def subtract(size: float | Missing, other: float | Missing) -> int | None:
    """Return the difference of whole bytes, as both are printed; None where one is not recorded."""
    return None if isinstance(size, Missing) or isinstance(other, Missing) else round(size) - round(other)


def added_lines(costs: StackCosts, roles: Sequence[Role], among: Sequence[Path]) -> Text:
    """Return what the suite adds, a line for each figure; nothing where the plain suite is not recorded, or is it."""
    plain_suite = find_plain_suite(costs.suite)
    if not plain_suite:
        return Text()
    plain = find_costs(costs.stack, plain_suite, among)
    rows = [*find_added(costs, plain, roles, among)] if plain.state else []
    if not rows:
        return Text()
    lines = Text(f"\nAdded by {suite_difference(costs.suite, plain_suite)} ({plain_suite} is without):\n\n")
    return lines.append_text(signed_lines(rows))


def signed_lines(rows: Sequence[tuple[str, list[int | None]]]) -> Text:
    """Return a line for each figure: differences with their signs, a column for each role."""
    lines = Text()
    for name, sizes in rows:
        cells = "".join(f"{'not recorded' if size is None else f'{size:+,.0f} B':>14}" for size in sizes)
        lines.append(f"  {name:<18}{cells}\n")
    return lines


def difference_lines(old: StackCosts, new: StackCosts, roles: Sequence[Role], among: Sequence[Path]) -> Text:
    """Return how much more or less a session of the new stack holds than one of the old: a sentence on live heap in
    use, and a line for each figure; nothing where the suites differ, or where no figure is recorded of both."""
    rows = [*find_added(new, old, roles, among)] if old.suite == new.suite and old.state and new.state else []
    if not rows:
        return Text()
    lines = Text()
    if sentence := describe_difference(old, new, roles[0]):
        lines.append(f"{textwrap.fill(sentence, COLUMNS)}\n\n", style="bold")
    lines.append("  " + f"{'difference':<18}" + "".join(f"{role:>14}" for role in roles) + "\n")
    lines.append_text(signed_lines(rows))
    if old.recording != new.recording:
        lines.append("\nRSS is not compared: the two are of different recordings.\n")
    return lines.append("\n")


def describe_difference(old: StackCosts, new: StackCosts, role: Role) -> str:
    """Return a sentence on the difference in live heap in use; nothing where that is not recorded of both."""
    before, after = (one.figure(role, LIVE_IN_USE) for one in (old, new))
    size = subtract(after, before)
    if size is None or isinstance(before, Missing):
        return ""
    share = f" ({abs(size) / before:.1%})".replace("%", " %") if size else ""
    than = f"{abs(size):,} B{share} {'more' if size > 0 else 'less'} live heap in use than"
    amount = than if size else "as much live heap in use as"
    return f"A {role} session of {stack_title(new.stack)} holds {amount} one of {stack_title(old.stack)}."
