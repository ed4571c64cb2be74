"""The matrix of a campaign: every run that it asks for, of memory the biggest first."""

from collections.abc import Iterable, Iterator
from fractions import Fraction

from tlsmem.config import timed_matrix
from tlsmem.config.campaigns import Campaign, TimedCampaign
from tlsmem.config.definitions import stacks
from tlsmem.config.run import SYSTEM, Run
from tlsmem.config.scenarios import combine_settings
from tlsmem.schema.harness_output import Meter


def session_counts(campaign: Campaign) -> list[int]:
    """Fractions of n in whole pairs: even, at least 2, each once, increasing."""
    return sorted({sessions(campaign, part) for part in campaign.sessions})


def sessions(campaign: Campaign, part: str) -> int:
    return max(2, 2 * round(Fraction(part) * campaign.n / 2))


def campaign_runs(campaign: Campaign | TimedCampaign) -> list[Run]:
    return [*timed_matrix.timed_runs(campaign)] if isinstance(campaign, TimedCampaign) else memory_runs(campaign)


def memory_runs(campaign: Campaign) -> list[Run]:
    """Biggest first: no long run is left for the end, and memory is at its most at once, where it was forecast."""
    every = stacks()
    known = {name: every[name] for name in (*campaign.stacks, *campaign.peers) if name in every}
    own = {name for name, stack in known.items() if stack.brings}
    nulls = {name for name, stack in known.items() if not stack.tls}
    shipped = {name for name, stack in known.items() if stack.is_shipped}
    runs = {
        Run(
            stack,
            suite,
            allocator,
            window,
            count,
            meter,
            repeat,
            roles,
            peer,
            env,
            cpu,
            scenario=campaign.scenario,
            data=campaign.data,
            settings=settings,
        ): None
        for allocator in campaign.allocators
        for env in campaign.envs
        for cpu in campaign.cpus
        for repeat in range(1, campaign.repeats + 1)
        for roles in campaign.roles
        for window in campaign.windows
        for stack, peer in ends(campaign, nulls)
        for given in campaign.settings
        for settings in combine_settings(campaign.scenario, given)
        for suite in (["none"] if stack in nulls else campaign.configurations)
        for meter, count in metered(campaign, (allocator, env) == (SYSTEM, "lab") and not own & {stack, peer})
        if meter != "sites" or ((repeat, window) == (1, campaign.windows[0]) and not shipped & {stack, peer})
    }
    return sorted(runs, key=lambda run: -run.sessions)


def ends(campaign: Campaign, nulls: set[str]) -> Iterator[tuple[str, str | None]]:
    """Server and client, which is None where it is of the same stack; nothing speaks to a null stack but another."""
    for server in campaign.stacks:
        for client in campaign.peers or [server]:
            if (server in nulls) == (client in nulls):
                yield server, None if client == server else client


def metered(campaign: Campaign, requested: bool) -> Iterator[tuple[Meter, int]]:
    """Meters and sessions; those of requested bytes where they tell something new."""
    counts = session_counts(campaign)
    yield from (("rss", count) for count in counts if campaign.rss)
    if requested:
        yield from (("heap", count) for count in (counts if campaign.heap == "all" else counts[: campaign.heap]))
        yield from (("sites", sessions(campaign, part)) for part in [campaign.sites] if part)


def unmetered_reason(campaign: Campaign | TimedCampaign) -> str | None:
    """Why some runs have no heap runs beside them though the campaign has some."""
    if isinstance(campaign, TimedCampaign) or not campaign.heap:
        return None
    own = [name for name in dict.fromkeys([*campaign.stacks, *campaign.peers]) if stacks()[name].brings]
    if set(campaign.allocators) - {SYSTEM}:
        return f"on the {SYSTEM} allocator only: requested bytes are alike"
    if set(campaign.envs) - {"lab"}:
        return "in the controlled environment only: requested bytes are the same elsewhere"
    return f"without {own[0]}: the heap meter does not see the allocator that it brings along" if own else None


def has_tls(stack: str) -> bool:
    return stacks()[stack].tls


def distinct_stacks(runs: Iterable[Run]) -> list[str]:
    """Return each stack once, in order."""
    return list(dict.fromkeys(run.stack for run in runs))


def distinct_suites(runs: Iterable[Run]) -> list[str]:
    """Return each suite once, in order."""
    return list(dict.fromkeys(run.suite for run in runs))
