"""What was asked for on the command line: a campaign with its knobs turned, or a sentence about the wrong one."""

import argparse
import os
import sys

from tlsmem.config import definitions, option_check
from tlsmem.config.definitions import Campaign, TimedCampaign
from tlsmem.config.options import MULTIPLIER, OF_TIME, TIMED

DEPLOYED_REPEATS = 5
KEEP_WINDOW = 100  # pairs

EXAMPLES = """examples:
  tools/measure.py mem                                     the campaign [mem] as it stands
  tools/measure.py mem --n 1000 --suites tls13-rsa-aes256  one suite, at most 1,000 sessions
  tools/measure.py mem --window 100 --out data/local/window      100 pairs in the handshake at a time
  tools/measure.py mem --roles split --n 20000             10,000 server sessions in a process of their own
  tools/measure.py interop                                 every stack against every other
  tools/measure.py throughput --sizes 16,1024,65536        short and long writes
  tools/measure.py handshake --suites tls13-rsa-aes256     one suite of 36, which take a quarter of an hour
  BENCH_MULTIPLIER=0.1 tools/measure.py handshake          a tenth of the rounds: for a try, no figure
  tools/measure.py mem --list                              what would run, and what is recorded already
  tools/measure.py --verify                                every built stack and suite once, with 2 sessions

Stopped half-way, the same command goes on where it stopped. Exit 1 when a run failed; its record says why."""


def parser(description: str) -> argparse.ArgumentParser:
    made = argparse.ArgumentParser(
        description=description, epilog=EXAMPLES, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    made.add_argument("campaign", nargs="?", default="mem", help="a table of memtest/campaigns.toml (default: mem)")
    for knob, meaning in (option_check.KNOBS | options_of_time()).items():
        if knob == "FRESH":
            made.add_argument("--fresh", action="store_true", help="measure again what has been measured")
        else:
            made.add_argument(f"--{knob.lower()}", metavar=knob, help=meaning)
    made.add_argument("--timeout", type=seconds, metavar="SECONDS", help="time limit of a run (default: by its size)")
    made.add_argument("--list", action="store_true", help="print the runs and which are recorded; run nothing")
    made.add_argument("--verify", action="store_true", help="every built stack and suite, 2 sessions; record nothing")
    return made


def options_of_time() -> dict[str, str]:
    return {knob: meaning for knob, meaning in OF_TIME.items() if knob != MULTIPLIER}


def seconds(text: str) -> float:
    value = float(text)
    if not value > 0:
        raise argparse.ArgumentTypeError(f"{text} is not a time")
    return value


def check(arguments: argparse.Namespace) -> None:
    """Names and numbers: exits with 2 and a sentence."""
    option_check.insist({})
    campaigns = option_check.table("campaigns")
    if arguments.campaign not in campaigns:
        near = option_check.nearest(arguments.campaign, campaigns)
        print(f"memtest: no campaign {arguments.campaign} in memtest/campaigns.toml{near}", file=sys.stderr)
        sys.exit(2)
    knobs = {
        knob: getattr(arguments, knob.lower()) for knob in (*option_check.KNOBS, *options_of_time()) if knob != "FRESH"
    }
    given = {knob: value for knob, value in knobs.items() if value is not None}
    option_check.insist(given, TIMED.get(campaigns[arguments.campaign]["scenario"]))


def campaign(arguments: argparse.Namespace) -> Campaign | TimedCampaign:
    """The campaign as asked for, its names checked before; exits with a sentence where it cannot be."""
    asked = definitions.campaigns()[arguments.campaign]
    return timed(arguments, asked) if isinstance(asked, TimedCampaign) else of_memory(arguments, asked)


def timed(arguments: argparse.Namespace, asked: TimedCampaign) -> TimedCampaign:
    turned: dict = {"stacks": stacks(arguments), "suites": listed(arguments.suites), "cpus": several(arguments.cpu)}
    turned |= {"allocators": listed(arguments.allocator), "repeats": number(arguments.repeats)}
    turned |= {"sizes": numbers(arguments.sizes), "threads": numbers(arguments.threads)}
    given = {name: value for name, value in turned.items() if value is not None}
    return asked.model_copy(update=given | must_be_there(arguments))


def of_memory(arguments: argparse.Namespace, asked: Campaign) -> Campaign:
    """Exits with a sentence when the window is wider than all."""
    turned: dict = {"n": number(arguments.n), "repeats": number(arguments.repeats), "heap": number(arguments.heap)}
    turned |= {"stacks": stacks(arguments), "suites": listed(arguments.suites)}
    turned |= {"allocators": listed(arguments.allocator), "windows": several(number(arguments.window))}
    turned |= {"cpus": several(arguments.cpu), "roles": several(arguments.roles)} | environments(arguments)
    given = {name: value for name, value in turned.items() if value is not None}
    given |= must_be_there(arguments)
    given |= {"sites": None} if turned["heap"] == 0 else {}  # without the heap meter
    asked = asked.model_copy(update=given)
    if arguments.window and any(window != "all" and window > asked.n // 2 for window in asked.windows):
        sys.exit(f"memtest: WINDOW={arguments.window}: N={asked.n} is {asked.n // 2} pairs; all of them at once is all")
    return asked.model_copy(update=ends(arguments, asked.n // 2, asked.peers))


def must_be_there(arguments: argparse.Namespace) -> dict:
    """What is named."""
    if not (arguments.stacks or arguments.client):
        return {}
    return {"built_only": option_check.listed(arguments.stacks or "") == [option_check.ALL]}


def environments(arguments: argparse.Namespace) -> dict:
    """A figure as deployed says nothing without its spread."""
    if arguments.env in (None, "lab"):
        return {"envs": several(arguments.env)}
    envs = ["deployed"] if arguments.env == "deployed" else ["lab", "deployed", *["deployed-thp"] * (not os.geteuid())]
    return {"envs": envs, "repeats": number(arguments.repeats) or DEPLOYED_REPEATS}


def ends(arguments: argparse.Namespace, pairs: int, peers: list[str]) -> dict:
    """Who is measured against whom; kept sessions by windows, since the peers of a window are there until its end."""
    if arguments.client:
        return {"stacks": listed(arguments.server), "peers": listed(arguments.client), "roles": ["split"]}
    if arguments.keep:
        windows = {} if arguments.window else {"windows": [KEEP_WINDOW if pairs > KEEP_WINDOW else "all"]}
        if KEEP_WINDOW in windows.get("windows", []):
            print(f"memtest: KEEP={arguments.keep} is by windows: WINDOW={KEEP_WINDOW}", file=sys.stderr)
        return {"roles": [f"keep-{arguments.keep}"], "peers": []} | windows
    if arguments.roles == "together":
        return {"peers": []}
    return {"peers": stacks(arguments)} if arguments.stacks and peers else {}


def stacks(arguments: argparse.Namespace) -> list[str] | None:
    return None if arguments.stacks is None else option_check.stacks(arguments.stacks, arguments.prefix)


def number(text: str | None) -> int | str | None:
    return int(text) if text and text.isdigit() else text


def numbers(text: str | None) -> list[int] | None:
    return None if text is None else list(dict.fromkeys(map(int, option_check.listed(text))))


def several(value: int | str | None) -> list | None:
    return None if value is None else [value]


def listed(text: str | None) -> list[str] | None:
    return None if text is None else list(dict.fromkeys(option_check.listed(text)))
