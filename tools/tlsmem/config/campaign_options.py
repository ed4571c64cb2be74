"""The campaign that was asked for: a table of campaigns.toml with options on top, or a sentence about the wrong one."""

import argparse
import os
import sys

from tlsmem.config import definitions, toml_tables
from tlsmem.config.campaigns import Campaign, TimedCampaign

DEPLOYED_REPEATS = 5
KEEP_WINDOW = 100  # pairs
Turned = dict[str, object]  # keys of a campaign that options have turned


def campaign_from_arguments(arguments: argparse.Namespace) -> Campaign | TimedCampaign:
    """Return the campaign as asked for, its names checked before. Raises UserError where it cannot be."""
    asked = definitions.campaigns()[arguments.campaign]
    if isinstance(asked, TimedCampaign):
        return apply_timed_options(arguments, asked)
    return apply_memory_options(arguments, asked)


def apply_timed_options(arguments: argparse.Namespace, asked: TimedCampaign) -> TimedCampaign:
    turned: Turned = {"stacks": choose_stacks(arguments), "suites": arguments.suites}
    turned |= {
        "cpus": list_single(arguments.cpu),
        "allocators": list_single(arguments.allocator),
        "repeats": arguments.repeats,
    }
    turned |= {"sizes": arguments.sizes, "threads": arguments.threads}
    turned |= choose_configurations(arguments)
    given = {name: value for name, value in turned.items() if value is not None}
    return asked.model_copy(update=given | choose_built_only(arguments))


def apply_memory_options(arguments: argparse.Namespace, asked: Campaign) -> Campaign:
    turned: Turned = {"n": arguments.n, "repeats": arguments.repeats, "heap": arguments.heap}
    turned |= {"stacks": choose_stacks(arguments), "suites": arguments.suites}
    turned |= {"allocators": list_single(arguments.allocator), "windows": list_single(arguments.window)}
    turned |= {"data": arguments.data} | choose_configurations(arguments)
    turned |= {"cpus": list_single(arguments.cpu), "roles": list_single(arguments.roles)}
    turned |= choose_environments(arguments)
    given = {name: value for name, value in turned.items() if value is not None}
    given |= choose_built_only(arguments)
    given |= {"sites": None} if turned["heap"] == 0 else {}  # without the heap meter
    asked = asked.model_copy(update=given)
    return asked.model_copy(update=choose_ends(arguments, asked.n // 2, asked.peers))


def choose_configurations(arguments: argparse.Namespace) -> Turned:
    """Return the library options and tickets."""
    return {"options": list_single(arguments.options), "tickets": list_single(arguments.tickets)}


def choose_built_only(arguments: argparse.Namespace) -> Turned:
    """Return that every named stack must be built; of all stacks, those that are."""
    if not (arguments.stacks or arguments.client):
        return {}
    return {"built_only": arguments.stacks == [toml_tables.ALL_STACKS]}


def choose_environments(arguments: argparse.Namespace) -> Turned:
    """Return environments, and repeats: a figure as deployed says nothing without its spread."""
    if arguments.env in (None, "lab"):
        return {"envs": list_single(arguments.env)}
    envs = ["deployed"] if arguments.env == "deployed" else ["lab", "deployed", *["deployed-thp"] * (not os.geteuid())]
    return {"envs": envs, "repeats": arguments.repeats or DEPLOYED_REPEATS}


def choose_ends(arguments: argparse.Namespace, pairs: int, peers: list[str]) -> Turned:
    """Return who is measured against whom; kept sessions by windows, since the peers of a window are there until its
    end."""
    if arguments.client:
        return {"stacks": [arguments.server], "peers": [arguments.client], "roles": ["split"]}
    if arguments.keep:
        kept: Turned = {"roles": [f"keep-{arguments.keep}"], "peers": []}
        if arguments.window:
            return kept
        if pairs <= KEEP_WINDOW:
            return kept | {"windows": ["all"]}
        print(f"memtest: KEEP={arguments.keep} is by windows: WINDOW={KEEP_WINDOW}", file=sys.stderr)
        return kept | {"windows": [KEEP_WINDOW]}
    if arguments.roles == "together":
        return {"peers": []}
    return {"peers": choose_stacks(arguments)} if arguments.stacks and peers else {}


def choose_stacks(arguments: argparse.Namespace) -> list[str] | None:
    return None if arguments.stacks is None else toml_tables.expand_stacks(arguments.stacks, arguments.prefix)


def list_single(value: int | str | None) -> list[int | str] | None:
    return None if value is None else [value]
