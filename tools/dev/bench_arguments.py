"""The options of a benchmark, checked. Standard library only."""

import argparse

from tlsmem.config import option_check
from tlsmem.config.option_parser import make_parser
from tlsmem.config.options import options_of_goal


def parsed(goal: str, script: str, about: str | None, examples: str) -> argparse.Namespace:
    """Of a benchmark that a target of make calls. Exits with 2 and a sentence for what cannot be."""
    given = make_parser(f"dev/{script}", about, examples).parse_args()
    option_check.check_goal_or_exit(goal, {name: getattr(given, name.lower()) for name in options_of_goal(goal)})
    return given
