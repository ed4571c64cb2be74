"""What targets of make take that are for developers: they have no command, or a script in tools/dev."""

import argparse

from tlsmem.cli import checks
from tlsmem.cli.command import Command, CommandParser, Takes, campaign_default, each
from tlsmem.cli.options import Words
from tlsmem.cli.show import ON_TERMINAL

TWO_STACKS = "openssl@3.5.5 rustls+aws-lc@0.23.46"
PREFIX: Takes = {"prefix": Words("none")}


def check(given: argparse.Namespace, asked: CommandParser) -> None:
    checks.check_runs(given)


def developers_command(words: str, target: str, takes: Takes) -> Command:
    return Command(words, f"what make {target} takes", takes, check=check, target=target)


COMMANDS = (
    developers_command("", "check", {"stacks": campaign_default("stacks", "check"), **PREFIX}),
    developers_command("", "check-stacks", {"stacks": campaign_default("stacks", "check-stacks"), **PREFIX}),
    developers_command(
        "dev bench_meter",
        "bench",
        {
            "n": "2000",
            "stacks": campaign_default("stacks", is_set=True),
            "suites": campaign_default("suites", is_set=True),
            "repeats": "7",
            **PREFIX,
        },
    ),
    developers_command(
        "dev bench_attribution",
        "bench-attribution",
        {"n": "10000", "stacks": TWO_STACKS, "suites": "tls13-rsa-aes256", "repeats": "5", **PREFIX},
    ),
    developers_command("dev bench_loop", "bench-loop", {"stacks": TWO_STACKS, "repeats": "15"}),
    developers_command(
        "dev selfcheck",
        "selfcheck",
        {
            "n": "40",
            "stacks": campaign_default("stacks", is_set=True),
            "suites": "tls13-rsa-aes256 tls12-rsa-aes256",
            **PREFIX,
            "jobs": "2",
            "format": ON_TERMINAL,
            **each("quick", "leave out", "other meter"),
        },
    ),
    developers_command(
        "dev prove",
        "prove",
        {
            "recording or none": Words("what this machine recorded today in data/local"),
            "jobs": Words("2"),
            "fresh": None,
            "out": Words("data/local/DATE-CPU-pPATH"),
            "into": None,
        },
    ),
)
