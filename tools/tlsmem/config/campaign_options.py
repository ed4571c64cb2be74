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
    turned: dict = {"stacks": stacks(arguments), "suites": parse_list(arguments.suites), "cpus": several(arguments.cpu)}
    turned |= {"allocators": parse_list(arguments.allocator), "repeats": number(arguments.repeats)}
    turned |= {"sizes": numbers(arguments.sizes), "threads": numbers(arguments.threads)}
    turned |= configurations(arguments)
    given = {name: value for name, value in turned.items() if value is not None}
    return asked.model_copy(update=given | must_be_there(arguments))


def apply_memory_options(arguments: argparse.Namespace, asked: Campaign) -> Campaign:
    turned: dict = {"n": number(arguments.n), "repeats": number(arguments.repeats), "heap": number(arguments.heap)}
    turned |= {"stacks": stacks(arguments), "suites": parse_list(arguments.suites)}
    turned |= {"allocators": parse_list(arguments.allocator), "windows": several(number(arguments.window))}
    turned |= {"data": arguments.data} | configurations(arguments)
    turned |= {"cpus": several(arguments.cpu), "roles": several(arguments.roles)} | environments(arguments)
    given = {name: value for name, value in turned.items() if value is not None}
    given |= must_be_there(arguments)
    given |= {"sites": None} if turned["heap"] == 0 else {}  # without the heap meter
    asked = asked.model_copy(update=given)
    return asked.model_copy(update=ends(arguments, asked.n // 2, asked.peers))


def configurations(arguments: argparse.Namespace) -> dict:
    """Options of the library, and tickets."""
    return {"options": several(arguments.options), "tickets": several(number(arguments.tickets))}


def must_be_there(arguments: argparse.Namespace) -> dict:
    """What is named."""
    if not (arguments.stacks or arguments.client):
        return {}
    return {"built_only": toml_tables.split_names(arguments.stacks or "") == [toml_tables.ALL_STACKS]}


def environments(arguments: argparse.Namespace) -> dict:
    """A figure as deployed says nothing without its spread."""
    if arguments.env in (None, "lab"):
        return {"envs": several(arguments.env)}
    envs = ["deployed"] if arguments.env == "deployed" else ["lab", "deployed", *["deployed-thp"] * (not os.geteuid())]
    return {"envs": envs, "repeats": number(arguments.repeats) or DEPLOYED_REPEATS}


def ends(arguments: argparse.Namespace, pairs: int, peers: list[str]) -> dict:
    """Who is measured against whom; kept sessions by windows, since the peers of a window are there until its end."""
    if arguments.client:
        return {"stacks": parse_list(arguments.server), "peers": parse_list(arguments.client), "roles": ["split"]}
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


def number(text: str | None) -> int | str | None:
    return int(text) if text and text.isdigit() else text


def numbers(text: str | None) -> list[int] | None:
    return None if text is None else list(dict.fromkeys(map(int, toml_tables.split_names(text))))


def several(value: int | str | None) -> list | None:
    return None if value is None else [value]


def parse_list(text: str | None) -> list[str] | None:
    return None if text is None else list(dict.fromkeys(toml_tables.split_names(text)))
