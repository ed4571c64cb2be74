"""What parsers of commands that show tables have in common. Standard library only."""

import argparse
from pathlib import Path

from tlsmem.tables.forms import FORMATS


def parser(about: str | None, examples: str) -> argparse.ArgumentParser:
    kept = argparse.RawDescriptionHelpFormatter
    made = argparse.ArgumentParser(description=about, epilog=examples, formatter_class=kept)
    made.add_argument(
        "--into", type=Path, metavar="FILE", help="write into this Markdown file, where the command stands"
    )
    return made


def add_format(to: argparse.ArgumentParser) -> None:
    to.add_argument("--format", choices=FORMATS, help="default: table on a terminal, else markdown")
