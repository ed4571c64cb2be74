"""The time limit of a run, as --timeout has it. Standard library only."""

import argparse


def seconds(text: str) -> float:
    value = float(text)
    if not value > 0:
        raise argparse.ArgumentTypeError(f"{text} is not a time")
    return value
