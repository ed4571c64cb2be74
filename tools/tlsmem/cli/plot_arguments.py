"""What parsers of commands that draw a picture of a recording have in common. Standard library only."""

import argparse
from pathlib import Path


def parser(about: str | None, examples: str) -> argparse.ArgumentParser:
    made = bare(about, examples)
    made.add_argument("recording", type=Path, help="a directory under data/, or one of its files")
    add_output(made)
    made.add_argument("--stack", action="append", help="may be repeated, in this order")
    add_campaign(made)
    return made


def bare(about: str | None, examples: str) -> argparse.ArgumentParser:
    kept = argparse.RawDescriptionHelpFormatter
    return argparse.ArgumentParser(description=about, epilog=examples, formatter_class=kept)


def add_output(to: argparse.ArgumentParser) -> None:
    to.add_argument("-o", "--output", type=Path, required=True, help="FILE.png, FILE.svg, or FILE for both")


def add_campaign(to: argparse.ArgumentParser) -> None:
    to.add_argument("--campaign", metavar="NAME", help="only runs of this table of memtest/campaigns.toml")
