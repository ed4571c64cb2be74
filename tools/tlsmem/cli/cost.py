"""tls-memtest cost: what one TLS session costs in memory."""

import argparse

from tlsmem.base.errors import raise_user_errors
from tlsmem.cli.command import CORE, IN_WORDS, Command, CommandParser, each
from tlsmem.cli.options import Words
from tlsmem.cli.output import PICTURES
from tlsmem.config import choices

USUAL_SUITE = Words(f"{choices.PLAN_SUITE}; for a stack without it, one that it has")
NEWEST = Words("the newest in data/ that has the figures; data/local only when named")


def check(given: argparse.Namespace, asked: CommandParser) -> None:
    if given.output and given.output.suffix in PICTURES and (given.format or given.recorded):
        asked.error(f"-o writes a picture and {'--format' if given.format else '--recorded'} a table; leave one out")
    if given.recorded and (given.explain or given.page or given.role):
        asked.error("--recorded takes stacks, --suite, --recording, --format and -o only")
    if given.low_memory and (given.explain or given.page or given.recorded or given.output):
        asked.error("--low-memory takes stacks, a suite, --role, --recording and --format only")


def run(given: argparse.Namespace, asked: CommandParser) -> int:
    from tlsmem.cost import cost_command
    from tlsmem.schema import recording_files

    with raise_user_errors(given.into):
        cost_command.print_costs(given, asked)
    return 1 if recording_files.skipped_lines else 0


COMMANDS = (
    Command(
        "cost",
        "what one TLS session costs in memory, from the committed recordings",
        {"stacks asked": None, "suite costed": USUAL_SUITE, "role": Words("both"), "low memory": None}
        | each("explain", "recorded", "page", "output picture", "format", "into", *IN_WORDS)
        | {"recording read": NEWEST},
        run,
        """\
What one TLS session costs in memory: live heap in use, RSS at rest and RSS in use, from the committed recordings.

Nothing is built or measured. A STACK is a library (openssl), which means its newest release, or a stack of
memtest/stacks.toml (openssl@3.5.5). Without one, every library's newest release.""",
        """\
  tools/tls-memtest cost                                        every library's newest release
  tools/tls-memtest cost openssl@3.5.5                          one release: its costs, and the three largest reasons
  tools/tls-memtest cost openssl@3.5.5 openssl@4.0.3            two stacks: the difference, then each of them
  tools/tls-memtest cost rustls --role server --explain         all that a server session's live heap is for
  tools/tls-memtest cost --role server --low-memory             every library with its option to hold less, ranked
  tools/tls-memtest cost openssl gnutls --format csv
  tools/tls-memtest cost gnutls --suite tls13-mldsa65-aes256    one suite: what is recorded, or how to record it
  tools/tls-memtest cost --recorded openssl                     the suites and states in which it is recorded
  tools/tls-memtest cost -o docs/figures/server                 every library's newest release as a picture""",
        check,
        CORE,
    ),
)
