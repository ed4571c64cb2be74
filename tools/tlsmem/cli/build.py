"""tls-memtest build: from a pinned source to a harness; and what make checks, installs and builds before that."""

import argparse
import os
from typing import NamedTuple

from tlsmem.base.errors import UserError, raise_user_errors
from tlsmem.base.nearest import suggest_nearest
from tlsmem.build import system_packages
from tlsmem.cli import checks
from tlsmem.cli.command import CORE, NONE, TREES, Command, CommandParser, each
from tlsmem.cli.options import Words
from tlsmem.config import toml_tables
from tlsmem.config.choices import ALL_SERVERS, EVERY_SERVER, PACKAGED

UNAVAILABLE = 77  # what is missing is not to be had
USUAL_ALLOCATOR = "system"


class Needs(NamedTuple):
    """What a target of make needs before it can begin."""

    purposes: tuple[str, ...] = ()  # of system packages
    campaign: str = ""  # whose stacks are built if none are named
    may_lack: bool = False  # stacks that are not to be had, even if they were named


MEMORY, TIMED = Needs(("mem",), "mem"), Needs(("timed",), "throughput")
NEEDS = {
    "mem": MEMORY,
    "axes": MEMORY,
    "prove": MEMORY,
    "bench-loop": MEMORY,
    "bench": Needs(("mem", "check-pages"), "mem"),
    "bench-attribution": Needs(("mem", "selfcheck"), "mem"),
    "selfcheck": Needs(("mem", "selfcheck"), "mem"),
    "throughput": TIMED,
    "threads": TIMED,
    "measure": TIMED,
    "handshake": Needs(("timed",), "handshake"),
    "c1m": Needs(("mem",), "c1m"),
    "check": Needs(("check",), "check", may_lack=True),
    "check-stacks": Needs(("check",), "check-stacks", may_lack=True),
    "profile": Needs(("profile",)),
    "compare": Needs(("compare",)),
    "compare-versions": Needs(("compare",)),
}


def build_named(given: argparse.Namespace, asked: CommandParser) -> int:
    from tlsmem.build import schedule

    given.stacks = [name for names in given.stacks for name in names]
    return schedule.build_requested(given)


def parse_for_make(given: argparse.Namespace) -> tuple[Command, argparse.Namespace]:
    """Return the command of a target of make, and the values of its options, all checked."""
    from tlsmem.cli.registry import all_commands

    known = {one.target: one for one in all_commands() if one.target}
    if given.target not in known:
        raise UserError(f"make has no target {given.target} with options{suggest_nearest(given.target, known)}", 2)
    command = known[given.target]
    parser = command.parser()
    parser.for_make = True
    options = command.parse(given.options, parser)
    if command.check:
        command.check(options, parser)
    return command, options


def check_target(given: argparse.Namespace, asked: CommandParser) -> None:
    command, options = parse_for_make(given)
    needs = NEEDS.get(command.target, Needs())
    purposes = live_purposes(options) if command.target == "live" else needs.purposes
    stacks = stacks_of_target(command, options)
    allocator = getattr(options, "allocator", None) or USUAL_ALLOCATOR
    with raise_user_errors("packages"):
        for purpose in purposes:
            system_packages.install(purpose, stacks, allocator, getattr(options, "tool", None))


def live_purposes(options: argparse.Namespace) -> list[str]:
    """Return what packages are for that live runs need: a server as it is packaged, or what builds it from source."""
    names = EVERY_SERVER if options.server == [ALL_SERVERS] else options.server
    packaged = names if {PACKAGED, ALL_SERVERS} & set(options.stack or [PACKAGED]) else []
    found = [f"live-{one.partition(':')[0]}" for one in packaged or ["source"]]
    return [*found, "live-sites"] if options.sites else found


def stacks_of_target(command: Command, options: argparse.Namespace) -> list[str]:
    """Return the stacks that a target builds: those that were named, or its campaign's."""
    campaign = NEEDS.get(command.target, Needs()).campaign
    found = toml_tables.read_tables("campaigns").get(campaign, {})
    return checks.named_stacks(options, trees=True) or list(found.get("stacks", []))


def build_target(given: argparse.Namespace, asked: CommandParser) -> int:
    """Build what a target of make is to measure. Where no stacks were named, those that are to be had will do."""
    from tlsmem.build import schedule

    command, options = parse_for_make(given)
    needs = NEEDS[command.target]
    named = checks.named_stacks(options, trees=True)
    if not named and needs.may_lack:
        os.environ["GOPROXY"] = "off"  # no toolchain of Go is fetched for a check
    asked_for = argparse.Namespace(
        stacks=named,
        campaign=None if named else needs.campaign,
        prefix=getattr(options, "prefix", None),
        git=getattr(options, "git", None),
        like=getattr(options, "like", None),
    )
    status = schedule.build_requested(asked_for)
    is_all = getattr(options, "stacks", None) == [toml_tables.ALL_STACKS]
    return 0 if status == UNAVAILABLE and (not named or is_all or needs.may_lack) else status


def install(given: argparse.Namespace, asked: CommandParser) -> None:
    with raise_user_errors("packages"):
        system_packages.install(given.purpose, [], USUAL_ALLOCATOR, None)


COMMANDS = (
    Command(
        "build --check",
        "check the options of a make target, and install the system packages that it needs",
        each("target", "target options"),
        check_target,
        """Check the options of a make target before anything is installed or built, and install its system packages.

Whether the thing is there is asked, not the package: a compiler of your own will do. What is missing is installed if
you are root on a system with apt-get; else it is named in one line that can be pasted. Exit status 2, with a sentence:
the target does not take the option, the value is invalid, or a file of memtest/*.toml cannot be read.""",
        """\
  tools/tls-memtest build --check mem N=10000 STACKS="openssl@3.5.5 null@c"
  tools/tls-memtest build --check profile TOOL=heaptrack""",
        packages=NONE,
    ),
    Command(
        "build --for",
        "build the stacks that a make target measures",
        each("target", "target options"),
        build_target,
        examples="  tools/tls-memtest build --for mem STACKS=openssl@3.5.5",
        packages=CORE,
    ),
    Command(
        "build --packages",
        "install the system packages that a purpose needs",
        {"purpose": None},
        install,
        examples="  tools/tls-memtest build --packages check-pages",
        packages=NONE,
    ),
    Command(
        "build",
        "build the harnesses of stacks, each from its pinned source",
        {"build stacks": Words("all, or those of --campaign"), "campaign stacks": None} | TREES,
        build_named,
        """\
Build the harnesses of stacks: build/harness/STACK with its manifest STACK.json. Unchanged harnesses are kept.

Two are built at a time, and a failure does not stop the others. The exit status is then 1, or 77 if the only cause is
that registries no longer offer a pinned source.""",
        """\
  tools/tls-memtest build                                   every stack
  tools/tls-memtest build openssl@3.5.5 rustls+ring@0.23.46
  tools/tls-memtest build --campaign mem                    the stacks of a table of memtest/campaigns.toml
  tools/tls-memtest build openssl@path --prefix /opt/openssl
  tools/tls-memtest build openssl@path:. rustls+ring@git:main --git ~/src/rustls     trees, copied below build/trees""",
        packages=CORE,
    ),
)
