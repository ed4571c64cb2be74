"""What a suite adds to the plain one: client certificates, a post-quantum key exchange, post-quantum certificates."""

import re
from collections.abc import Iterator, Sequence
from pathlib import Path

from rich.text import Text

from tlsmem.config import definitions
from tlsmem.config.suite_title import suite_difference
from tlsmem.cost.find_costs import StackCosts, find_costs, find_peaks
from tlsmem.schema.roles import Role
from tlsmem.stats.costs import COSTS, LIVE_AT_REST, RSS_COSTS, Cost
from tlsmem.stats.missing import Missing

ADDING = re.compile("-(?:pq|mutual)(?=-|$)")  # in the name of a suite: what it has and the plain one has not
COMPARED: tuple[Cost, ...] = (LIVE_AT_REST, *COSTS)
PEAK = "Handshake peak"  # of live heap


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
    for name, sizes in rows:
        cells = "".join(f"{'not recorded' if size is None else f'{size:+,.0f} B':>14}" for size in sizes)
        lines.append(f"  {name:<18}{cells}\n")
    return lines
