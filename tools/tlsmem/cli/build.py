"""Build the harnesses of stacks: build/harness/STACK with its manifest STACK.json. Unchanged harnesses are kept.

Two are built at a time, and a failure does not stop the others. The exit status is then 1, or 77 if the only cause is
that registries no longer offer a pinned source.
"""

import argparse

from tlsmem.base import nearest, venv
from tlsmem.config import toml_tables
from tlsmem.config.option_kinds import TREE_STACK_NAME, Build
from tlsmem.config.option_parser import CommandParser, make_parser

EXAMPLES = """examples:
  tools/build.py                                   every stack
  tools/build.py openssl@3.5.5 rustls+ring@0.23.46
  tools/build.py --campaign mem                    the stacks of a table of memtest/campaigns.toml
  tools/build.py openssl@path --prefix /opt/openssl
  tools/build.py openssl@path:. rustls+ring@git:main --git ~/src/rustls     trees, copied below build/trees"""


def parser() -> CommandParser:
    return make_parser("build", __doc__, EXAMPLES)


def unknown(given: argparse.Namespace) -> str | None:
    """A sentence about the first name that is not defined; raises ValueError where definitions cannot be read."""
    campaigns, stacks = toml_tables.read_tables("campaigns"), toml_tables.read_tables("stacks")
    if given.campaign and given.campaign not in campaigns:
        near = nearest.suggest_nearest(given.campaign, campaigns)
        return f"no campaign {given.campaign} in memtest/campaigns.toml{near}"
    for name in toml_tables.expand_stacks(" ".join(given.stacks) or toml_tables.ALL_STACKS, given.prefix):
        if TREE_STACK_NAME.fullmatch(name):
            try:
                Build().check("STACKS", name)
            except ValueError as error:
                return str(error)
        elif name not in stacks:
            return f"no stack {name} among those of memtest/stacks.toml{nearest.suggest_nearest(name, stacks)}"
    return None


def main() -> None:
    asked = parser()
    given = asked.parse_args()
    try:
        if wrong := unknown(given):
            asked.error(wrong)
    except toml_tables.Unreadable:
        pass  # definitions.check() says it
    venv.activate(core=True)
    from tlsmem.build import build_stacks

    build_stacks.run_and_exit(given)
