"""What one session costs, for programs: `tlsmem.costs("openssl@3.5.5")` has the rows of `tls-memtest cost`."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from tlsmem.base.errors import Usage, raise_user_errors
from tlsmem.cost.cost_command import check_suite, newest_costs
from tlsmem.cost.cost_table import CostRow, bytes_cell, cost_rows, recording_name
from tlsmem.cost.find_costs import EVERY_COST, find_chosen_costs
from tlsmem.schema.roles import ROLES, Role
from tlsmem.stats import recorded_stacks
from tlsmem.stats.missing import Missing
from tlsmem.store import recordings


class SessionCost(NamedTuple):
    """What one session of a role costs in one configuration of a stack. Sizes are in bytes and rounded to a tenth; a
    size that is not recorded is None, and `missing` has the reason under its name."""

    stack: str
    suite: str
    role: Role
    configuration: str  # in words: "default", "low memory"
    live_heap_in_use_bytes: float | None  # what the library holds after 16 KiB each way; exact
    live_heap_at_rest_bytes: float | None  # the same once the session is established, before it carries data
    rss_at_rest_bytes: float | None
    rss_in_use_bytes: float | None  # the one to plan with
    state: str
    recording: str | None  # its name; `tlsmem.read` takes it
    missing: Mapping[str, str]


def find_session_costs(
    stacks: Sequence[str], suite: str | None, role: Role | None, among: Sequence[Path]
) -> list[SessionCost]:
    """Return a row for each stack, role and configuration, from the newest of these recordings that has the figures;
    without a stack, of every library's newest release. Raises UserError with a sentence."""
    if suite:
        check_suite(suite, option="")
    if role and role not in ROLES:
        raise Usage(f"role {role}: there are {' and '.join(ROLES)}")
    with raise_user_errors("recordings"):
        known = recordings.find_recordings(among)
        names = recorded_stacks.resolve_stacks(stacks, known, suite)
        found = [find_chosen_costs(name, suite, known) for name in names] or newest_costs(suite, known)
        roles: Sequence[Role] = [role] if role else sorted(ROLES, reverse=True)
        return [read_row(row) for costs in found for row in cost_rows(costs, roles)]


def read_row(row: CostRow) -> SessionCost:
    """Return the figures of a row of the table, as its JSON has them."""
    figures = {cost.key: row.costs.figure(row.role, cost, row.configuration) for cost in EVERY_COST}
    sizes = {key: None if isinstance(one, Missing) else bytes_cell(one).value for key, one in figures.items()}
    return SessionCost(
        row.costs.stack,
        row.costs.suite,
        row.role,
        row.words,
        state=row.costs.describe_state(),
        recording=recording_name(row) or None,
        missing={key: one.reason for key, one in figures.items() if isinstance(one, Missing)},
        **sizes,
    )
