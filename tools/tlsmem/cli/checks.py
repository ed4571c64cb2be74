"""What options cannot be together, and what of memtest/*.toml is read before anything is installed or built.

What one option cannot be is in kinds.py. Each function raises UserError with one sentence and status 2. Standard
library only."""

import argparse
import os
import re
from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager

from tlsmem.base import repository
from tlsmem.base.errors import UserError
from tlsmem.base.nearest import suggest_nearest
from tlsmem.base.paths import ROOT
from tlsmem.cli.kinds import TREE_STACK_NAME, TREES_ELSEWHERE, Multiplier
from tlsmem.config.choices import PACKAGED, TIME_MULTIPLIER
from tlsmem.config.toml_tables import Tables, expand_stacks, read_tables

NAMED_IN_CAMPAIGNS = {"stacks": "stacks", "peers": "stacks", "allocators": "allocators"}
NAMED_IN_CAMPAIGNS |= dict.fromkeys(("suites", "instructions"), "suites")


@contextmanager
def refuse() -> Iterator[None]:
    """Turn a ValueError about what was asked for into a UserError of status 2."""
    try:
        yield
    except ValueError as error:
        raise UserError(str(error), 2) from None


def check_definitions() -> None:
    """What the defaults of options are read from, and where this clone stands."""
    with refuse():
        check_place()
        check_campaigns()


def check_place() -> None:
    """LD_PRELOAD splits at spaces and colons, and so do makefiles of stacks."""
    if re.search(r"[\s:]", str(ROOT)):
        raise UserError(
            f"{ROOT}: there is a space or a colon in this path, and preloading takes neither; move the clone", 2
        )


def check_campaigns() -> None:
    """What the tables of memtest/campaigns.toml name is there."""
    known = {kind: read_tables(kind) for kind in NAMED_IN_CAMPAIGNS.values()}
    for name, campaign in read_tables("campaigns").items():
        for key, kind in NAMED_IN_CAMPAIGNS.items():
            place, names = f"memtest/campaigns.toml: [{name}]: {key}", campaign.get(key, [])
            if not isinstance(names, list) or not all(isinstance(one, str) for one in names):
                raise ValueError(f"{place} must be a list of names")
            for one in names:
                if one not in known[kind]:
                    near = suggest_nearest(one, known[kind])
                    raise ValueError(f"{place}: memtest/{kind}.toml has no {kind[:-1]} {one}{near}")


def check_runs(given: argparse.Namespace) -> None:
    """What runs are asked for, by any command that builds or measures: an option that it does not take is not given."""
    check_definitions()
    with refuse():
        check_multiplier(given)
        stacks = read_tables("stacks")
        if hasattr(given, "client"):
            check_ends(given, {name for name, entry in stacks.items() if entry.get("tls") is False})
        check_prefix(given, named_stacks(given), stacks)
        check_window(given)
    if not hasattr(given, "git"):
        check_no_trees(given)
    if (out := getattr(given, "out", None)) is not None and not getattr(given, "list", False):
        repository.check_recording(out)


def check_multiplier(given: argparse.Namespace) -> None:
    """The length of timed runs, which may come from the environment and goes there: it is the runs' own."""
    if not hasattr(given, "bench_multiplier"):
        return
    if given.bench_multiplier:
        os.environ[TIME_MULTIPLIER] = str(given.bench_multiplier)
    elif value := os.environ.get(TIME_MULTIPLIER, ""):
        Multiplier().parse(TIME_MULTIPLIER, value)


def check_ends(given: argparse.Namespace, nulls: Collection[str]) -> None:
    """Options about the ends of a session do not contradict each other. `nulls` are stacks without TLS."""
    mixed = [name for name in ("CLIENT", "SERVER") if getattr(given, name.lower())]
    if len(mixed) == 1:
        other = "SERVER" if mixed == ["CLIENT"] else "CLIENT"
        raise ValueError(f"{mixed[0]} needs {other} too: a mixed pair has two ends")
    if mixed and given.stacks:
        raise ValueError("CLIENT and SERVER name the stacks; leave STACKS out")
    if mixed and given.roles == "together":
        raise ValueError("CLIENT and SERVER run in separate processes; leave ROLES=together out")
    if mixed and (given.client in nulls) != (given.server in nulls):
        raise ValueError("a null stack does no TLS; give it another null stack as its peer")
    if given.keep and (mixed or given.roles == "split"):
        raise ValueError(
            f"KEEP={given.keep} needs ROLES=together; leave KEEP or {', '.join(mixed) or 'ROLES=split'} out"
        )


def check_prefix(given: argparse.Namespace, named: Sequence[str], known: Tables) -> None:
    """What is linked with a library of the user's own says where that is, and nothing else does."""
    linked = [name for name in named if name in known and known[name].get("prefix")]
    prefix = getattr(given, "prefix", None)
    if linked and not prefix:
        raise ValueError(f"{linked[0]} needs PREFIX=<OpenSSL install directory>")
    if prefix and not linked:
        theirs = " or ".join(name for name, entry in known.items() if entry.get("prefix"))
        raise ValueError(f"PREFIX={prefix} applies to {theirs} only; add that stack, or leave PREFIX out")


def named_stacks(given: argparse.Namespace, trees: bool = False) -> list[str]:
    """Return every stack that these options ask for; trees too, if they are wanted."""
    sides = [getattr(given, name, None) for name in ("a", "b", "client", "server" if hasattr(given, "client") else "")]
    stack = getattr(given, "stack", None) or []
    names = [
        *filter(None, sides),
        *([stack] if isinstance(stack, str) else stack),
        *(getattr(given, "stacks", None) or ()),
    ]
    names = [one for one in names if one != PACKAGED]
    if not trees:
        names = [one for one in names if not TREE_STACK_NAME.fullmatch(one)]
    return [stack for one in names for stack in expand_stacks([one], getattr(given, "prefix", None))]


def check_no_trees(given: argparse.Namespace) -> None:
    """Only some campaigns build trees."""
    for one in filter(TREE_STACK_NAME.fullmatch, getattr(given, "stacks", None) or ()):
        raise UserError(f"STACKS: {one}: {TREES_ELSEWHERE}", 2)


def check_resumed(suites: Sequence[str]) -> None:
    """Suites that resume sessions are for handshakes and memory, not for transfers."""
    known = read_tables("suites")
    for name in suites:
        if known[name].get("resume") == "on":
            raise UserError(f"SUITES: {name} resumes sessions, which the target throughput does not; leave it out", 2)


def check_window(given: argparse.Namespace) -> None:
    """The window is not wider than all pairs: of the campaign's unless N is given."""
    if not hasattr(given, "keep") or not isinstance(given.window, int):
        return
    campaigns = read_tables("campaigns")
    sessions = given.n or campaigns[given.campaigns[0]].get("n") or campaigns["mem"]["n"]
    if given.window > sessions // 2:
        pairs = f"{sessions // 2} pairs of N={sessions}"
        raise ValueError(f"WINDOW={given.window} is more than the {pairs}; give WINDOW=all")


def check_million(window: int, sessions: int) -> None:
    """The runs that predict have fewer sessions than the one that is predicted."""
    if sessions <= 20 * window:
        raise UserError(
            f"N={sessions} is predicted from runs of {10 * window} and {20 * window} sessions, 10 and 20 times WINDOW; "
            f"give more than {20 * window}, or a smaller WINDOW",
            2,
        )
