"""The options of a benchmark, checked. Standard library only."""

import argparse

from tlsmem.config import option_check


def parsed(description: str | None, defaults: dict[str, str]) -> argparse.Namespace:
    """Of a benchmark: these knobs, checked."""
    parser = argparse.ArgumentParser(description=description, formatter_class=argparse.RawDescriptionHelpFormatter)
    for knob, default in defaults.items():
        meaning = f"{option_check.MEMORY_OPTIONS[knob]} (default: %(default)s)"
        parser.add_argument(f"--{knob.lower()}", metavar=knob, default=default, help=meaning)
    parser.add_argument("--prefix", metavar="PREFIX", help=option_check.MEMORY_OPTIONS["PREFIX"])
    given = parser.parse_args()
    knobs = {knob: getattr(given, knob.lower()) for knob in (*defaults, "PREFIX")}
    option_check.check_options_or_exit({knob: value for knob, value in knobs.items() if value is not None})
    return given
