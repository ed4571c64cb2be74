"""Where the bytes are: who holds the memory of a heap profile, at which moment, and for how many sessions.

PROFILE is a file of heaptrack, massif or DHAT, of any program, as the tool left it or compressed; or a recording of
this repository, whose sites run is taken. Without a choice of what to see: a summary, a session by phase, the top
sites. Tables are drawn on a terminal, Markdown in a pipe, or as --format says."""

import argparse
import sys
from itertools import product

from tlsmem.base import venv
from tlsmem.explore.view_options import BY, FILES, OF_RUN, ROWS, VIEWS, flamegraph_suffix
from tlsmem.profile.frames import OWNERS
from tlsmem.tables.forms import FORMATS, JSON

EXAMPLES = """examples:
  tools/inspect_heaptrack.py heaptrack.nginx.1234.zst                  any program's profile
  tools/inspect_heaptrack.py PROFILE --phase "server 1" --role server  who holds a server's bytes at its peak
  tools/inspect_heaptrack.py PROFILE --phase end                       what was never freed
  tools/inspect_heaptrack.py PROFILE --by temporary --top 20           allocated and freed at once
  tools/inspect_heaptrack.py PROFILE --callers --filter 'X509|ASN1'    who called, as a tree
  tools/inspect_heaptrack.py PROFILE --sessions 1000                   per session, where the record is not there
  tools/inspect_heaptrack.py data/local/2026-01-31-some-cpu --stack openssl@3.5.5 --suite tls13-rsa-aes256 --phase idle
  tools/inspect_heaptrack.py PROFILE --flamegraph flames.html          all moments, in one page
  tools/inspect_heaptrack.py PROFILE --folded - | flamegraph.pl        --folded comes after PROFILE
  tools/inspect_heaptrack.py --diff OLD NEW --phase established        what changed

--into replaces what is between <!-- begin: COMMAND --> and <!-- end -->; COMMAND is this one, without --into."""

MOST = 10**10  # of any count that is given
NAMED = ("phase", "filter", "suite", "stack", "into", *FILES)
NOT_OF_DIFFS = ("by", "speedscope", *VIEWS)
OF_ALL = {"buckets": "every phase and role", "sizes": "the whole run"}
NOT_OF_ALL = ("phase", "role", "filter", "by", "top")


def parser() -> argparse.ArgumentParser:
    kept = argparse.RawDescriptionHelpFormatter
    made = argparse.ArgumentParser(description=__doc__, epilog=EXAMPLES, formatter_class=kept)
    made.add_argument("profile", nargs="?", metavar="PROFILE", help="what to look at")
    made.add_argument("--diff", nargs=2, metavar=("OLD", "NEW"), help="two profiles instead: what NEW holds more")
    made.add_argument("--force", action="store_true", help="compare although suite or N differ")
    made.add_argument("--suite", help="of a recording: of which suite, where it has several")
    made.add_argument("--stack", help="of a recording, a directory: of which stack, such as openssl@3.5.5")
    chosen = made.add_argument_group("what to look at")
    moment = "a phase, `peak` or `end` (default: where most is live; with --diff established)"
    chosen.add_argument("--phase", metavar="MOMENT", help=moment)
    chosen.add_argument("--role", choices=OWNERS, help="whose memory (default: everybody's)")
    chosen.add_argument("--by", choices=BY, help="what makes a site large (default: bytes that are live)")
    chosen.add_argument("--top", type=count, metavar="K", help=f"sites to show (default: {ROWS})")
    chosen.add_argument("--sessions", type=count, metavar="N", help="of both roles together, where no record says it")
    chosen.add_argument("--filter", metavar="REGEX", help="stacks with such a function, file or module")
    views = made.add_argument_group("how; may be combined")
    views.add_argument("--callers", action="store_true", help="a tree of who called the allocator")
    views.add_argument("--sizes", action="store_true", help="how many blocks of which size")
    views.add_argument("--buckets", action="store_true", help="what a session's bytes are for, and why")
    views.add_argument("--folded", nargs="?", const="-", metavar="FILE", help="folded stacks (default FILE: stdout)")
    views.add_argument("--speedscope", metavar="FILE", help="for speedscope: every moment; - is stdout")
    views.add_argument("--flamegraph", metavar="FILE", help="FILE.svg: one moment; FILE.html: a page with all moments")
    views.add_argument("--into", metavar="FILE", help="tables into this Markdown file, where the command stands")
    views.add_argument("--format", choices=FORMATS, help="of tables; default: table on a terminal, else markdown")
    views.add_argument("--json", dest="format", action="store_const", const=JSON, help="as --format json")
    return made


def count(text: str) -> int:
    if not text.isascii() or not text.isdecimal() or not text.strip("0"):
        raise argparse.ArgumentTypeError(f"{text} is no whole number from 1 on")
    if len(text.lstrip("0")) > len(f"{MOST}") or int(text) > MOST:
        raise argparse.ArgumentTypeError(f"{text} is too large: at most {MOST:,}")
    return int(text)


def check(given: argparse.Namespace) -> None:
    """ValueError with a sentence for what cannot go together, before anything is read."""
    sources = given.diff or [given.profile]
    for name in NAMED:
        if getattr(given, name) == "":
            raise ValueError(f"--{name} is empty; name something, or leave it out")
    if not all(sources):
        after = f" before --folded, or as --folded={given.folded}" if given.folded not in (None, "-") else ""
        raise ValueError(f"name a PROFILE{after}, or --diff OLD NEW")
    if given.diff and given.profile:
        raise ValueError(f"--diff has its two profiles; {given.profile} is one too many")
    if given.force and not given.diff:
        raise ValueError("--force is for --diff")
    for name in NOT_OF_DIFFS:
        if given.diff and getattr(given, name):
            raise ValueError(f"--{name} is of one profile; leave it out with --diff")
    for view, name in product(OF_ALL, NOT_OF_ALL):
        if getattr(given, view) and getattr(given, name):
            raise ValueError(f"--{view} is of {OF_ALL[view]}; leave --{name} out")
    for name in ("format", *FILES):
        if given.into and getattr(given, name):
            raise ValueError(f"--into takes tables as Markdown; leave --{name} out")
    if given.by in OF_RUN and given.phase:
        raise ValueError(f"--by {given.by} is of the whole run; leave --phase out")
    if given.flamegraph:
        flamegraph_suffix(given.flamegraph)


def main() -> None:
    asked = parser()
    given = asked.parse_args()
    try:
        check(given)
    except ValueError as error:
        print(f"memtest: {error}", file=sys.stderr)
        sys.exit(2)
    venv.activate()
    from tlsmem.explore import inspect_profile

    inspect_profile.ended(given, asked)
