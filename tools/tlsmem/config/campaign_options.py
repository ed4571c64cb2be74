"""The campaign that was asked for: a table of campaigns.toml with options on top, or a sentence about the wrong one."""

import argparse
import os
import sys

from tlsmem.config import definitions, toml_tables
from tlsmem.config.definitions import Campaign, TimedCampaign

DEPLOYED_REPEATS = 5
KEEP_WINDOW = 100  # pairs


def campaign_from_arguments(arguments: argparse.Namespace) -> Campaign | TimedCampaign:
    """The campaign as asked for, its names checked before; raises UserError where it cannot be."""
    asked = definitions.campaigns()[arguments.campaign]
    return timed(arguments, asked) if isinstance(asked, TimedCampaign) else apply_memory_options(arguments, asked)


def timed(arguments: argparse.Namespace, asked: TimedCampaign) -> TimedCampaign:
    turned: dict = {"stacks": stacks(arguments), "suites": arguments.suites, "cpus": several(arguments.cpu)}
    turned |= {"allocators": several(arguments.allocator), "repeats": arguments.repeats}
    turned |= {"sizes": arguments.sizes, "threads": arguments.threads}
    turned |= configurations(arguments)
    given = {name: value for name, value in turned.items() if value is not None}
    return asked.model_copy(update=given | must_be_there(arguments))


def apply_memory_options(arguments: argparse.Namespace, asked: Campaign) -> Campaign:
    turned: dict = {"n": arguments.n, "repeats": arguments.repeats, "heap": arguments.heap}
    turned |= {"stacks": stacks(arguments), "suites": arguments.suites}
    turned |= {"allocators": several(arguments.allocator), "windows": several(arguments.window)}
    turned |= {"data": arguments.data} | configurations(arguments)
    turned |= {"cpus": several(arguments.cpu), "roles": several(arguments.roles)} | environments(arguments)
    given = {name: value for name, value in turned.items() if value is not None}
    given |= must_be_there(arguments)
    given |= {"sites": None} if turned["heap"] == 0 else {}  # without the heap meter
    asked = asked.model_copy(update=given)
    return asked.model_copy(update=ends(arguments, asked.n // 2, asked.peers))


def configurations(arguments: argparse.Namespace) -> dict:
    """Options of the library, and tickets."""
    return {"options": several(arguments.options), "tickets": several(arguments.tickets)}


def must_be_there(arguments: argparse.Namespace) -> dict:
    """What is named."""
    if not (arguments.stacks or arguments.client):
        return {}
    return {"built_only": arguments.stacks == [toml_tables.ALL_STACKS]}


def environments(arguments: argparse.Namespace) -> dict:
    """A figure as deployed says nothing without its spread."""
    if arguments.env in (None, "lab"):
        return {"envs": several(arguments.env)}
    envs = ["deployed"] if arguments.env == "deployed" else ["lab", "deployed", *["deployed-thp"] * (not os.geteuid())]
    return {"envs": envs, "repeats": arguments.repeats or DEPLOYED_REPEATS}


def ends(arguments: argparse.Namespace, pairs: int, peers: list[str]) -> dict:
    """Who is measured against whom; kept sessions by windows, since the peers of a window are there until its end."""
    if arguments.client:
        return {"stacks": [arguments.server], "peers": [arguments.client], "roles": ["split"]}
    if arguments.keep:
        windows = {} if arguments.window else {"windows": [KEEP_WINDOW if pairs > KEEP_WINDOW else "all"]}
        if KEEP_WINDOW in windows.get("windows", []):
            print(f"memtest: KEEP={arguments.keep} is by windows: WINDOW={KEEP_WINDOW}", file=sys.stderr)
        return {"roles": [f"keep-{arguments.keep}"], "peers": []} | windows
    if arguments.roles == "together":
        return {"peers": []}
    return {"peers": stacks(arguments)} if arguments.stacks and peers else {}


def stacks(arguments: argparse.Namespace) -> list[str] | None:
    return None if arguments.stacks is None else toml_tables.expand_stacks(arguments.stacks, arguments.prefix)


def several(value: int | str | None) -> list | None:
    return None if value is None else [value]
