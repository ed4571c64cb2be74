"""Show which functions hold the memory in a heap profile, at which moment, and per session.

PROFILE is a heaptrack, massif or DHAT file of any program, plain or compressed; or a recording of this repository, of
which the sites run is read. By default you see a summary, a session by phase, and the largest sites. Tables are drawn
on a terminal and are Markdown in a pipe, unless --format says otherwise."""

import argparse
from itertools import product

from tlsmem.base import venv
from tlsmem.base.errors import Usage
from tlsmem.config.choices import OF_RUN, PROFILE_FILES, VIEWS, flamegraph_suffix
from tlsmem.config.option_parser import CommandParser, make_parser

EXAMPLES = """examples:
  tools/inspect_heaptrack.py heaptrack.nginx.1234.zst                  any program's profile
  tools/inspect_heaptrack.py PROFILE --phase "server 1" --role server  call sites of a server's bytes at its peak
  tools/inspect_heaptrack.py PROFILE --phase end                       what was never freed
  tools/inspect_heaptrack.py PROFILE --by temporary --top 20           allocated and freed at once
  tools/inspect_heaptrack.py PROFILE --callers --filter 'X509|ASN1'    who called, as a tree
  tools/inspect_heaptrack.py PROFILE --sessions 1000                   per session, if there is no record beside it
  tools/inspect_heaptrack.py data/local/2026-01-31-some-cpu --stack openssl@3.5.5 --suite tls13-rsa-aes256 --phase idle
  tools/inspect_heaptrack.py PROFILE --flamegraph flames.html          all moments, in one page
  tools/inspect_heaptrack.py PROFILE --folded - | flamegraph.pl        --folded comes after PROFILE
  tools/inspect_heaptrack.py --diff OLD NEW --phase established        what changed

--into replaces what is between <!-- begin: COMMAND --> and <!-- end -->; COMMAND is this one, without --into."""

NAMED = ("phase", "filter", "suite", "stack", "into", *PROFILE_FILES)
NOT_OF_DIFFS = ("by", "speedscope", *VIEWS)
OF_ALL = {"buckets": "every phase and role", "sizes": "the whole run"}
NOT_OF_ALL = ("phase", "role", "filter", "by", "top")


def parser() -> CommandParser:
    return make_parser("inspect_heaptrack", __doc__, EXAMPLES)


def check(given: argparse.Namespace) -> None:
    """Raises ValueError with a sentence for what cannot go together, before anything is read."""
    sources = given.diff or [given.profile]
    for name in NAMED:
        if getattr(given, name) == "":
            raise ValueError(f"--{name} is empty; give a value, or leave it out")
    if not all(sources):
        after = f" before --folded, or as --folded={given.folded}" if given.folded not in (None, "-") else ""
        raise ValueError(f"give a PROFILE{after}, or --diff OLD NEW")
    if given.diff and given.profile:
        raise ValueError(f"--diff takes two profiles; leave {given.profile} out")
    if given.force and not given.diff:
        raise ValueError("--force needs --diff; leave it out")
    for name in NOT_OF_DIFFS:
        if given.diff and getattr(given, name):
            raise ValueError(f"--{name} needs a single profile; leave it out with --diff")
    for view, name in product(OF_ALL, NOT_OF_ALL):
        if getattr(given, view) and getattr(given, name):
            raise ValueError(f"--{view} covers {OF_ALL[view]}; leave --{name} out")
    for name in ("format", *PROFILE_FILES):
        if given.into and getattr(given, name):
            raise ValueError(f"--into writes Markdown tables; leave --{name} out")
    if given.by in OF_RUN and given.phase:
        raise ValueError(f"--by {given.by} covers the whole run; leave --phase out")
    if given.flamegraph:
        flamegraph_suffix(given.flamegraph)


def main() -> int:
    asked = parser()
    given = asked.parse_args()
    try:
        check(given)
    except ValueError as error:
        raise Usage(str(error)) from None
    venv.activate(core=True)
    from tlsmem.explore import inspect_profile

    return inspect_profile.show_profile(given, asked)
