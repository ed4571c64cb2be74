"""Build the harnesses of stacks: build/harness/STACK with its manifest STACK.json. Unchanged harnesses are kept.

Two are built at a time, and a failure does not stop the others. The exit status is then 1, or 77 if the only cause is
that registries no longer offer a pinned source.
"""

import argparse

from tlsmem.base import nearest, venv
from tlsmem.config import toml_tables
from tlsmem.config.option_kinds import STACKS
from tlsmem.config.option_parser import CommandParser, make_parser

EXAMPLES = """examples:
  tools/build.py                                   every stack
  tools/build.py openssl@3.5.5 rustls+ring@0.23.46
  tools/build.py --campaign mem                    the stacks of a table of memtest/campaigns.toml
  tools/build.py openssl@path --prefix /opt/openssl
  tools/build.py openssl@path:. rustls+ring@git:main --git ~/src/rustls     trees, copied below build/trees"""


def parser() -> CommandParser:
    return make_parser("build", __doc__, EXAMPLES)


def check_names(given: argparse.Namespace) -> None:
    """Raises ValueError with a sentence about the first name that is not defined; Unreadable where definitions cannot
    be read."""
    campaigns = toml_tables.read_tables("campaigns")
    if given.campaign and given.campaign not in campaigns:
        near = nearest.suggest_nearest(given.campaign, campaigns)
        raise ValueError(f"no campaign {given.campaign} in memtest/campaigns.toml{near}")
    if given.stacks:
        STACKS.check("stacks", " ".join(given.stacks))


def main() -> int:
    asked = parser()
    given = asked.parse_args()
    try:
        check_names(given)
    except toml_tables.Unreadable:
        pass  # definitions.check() says it
    except ValueError as error:
        asked.error(str(error))
    venv.activate(core=True)
    from tlsmem.build import build_stacks

    return build_stacks.build_requested(given)
