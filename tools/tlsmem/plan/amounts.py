"""Amounts as people write them: 16GiB, 10M, 5%, 200ms, 500/s. argparse turns the errors here into exit 2."""

import re
from argparse import ArgumentTypeError
from collections.abc import Callable, Mapping
from fractions import Fraction

from tlsmem.tables.table import Cell

SIZES = {"": 1, "B": 1, "KB": 10**3, "MB": 10**6, "GB": 10**9, "TB": 10**12}
SIZES |= {f"{sign}{end}": 2 ** (10 * place) for place, sign in enumerate("KMGT", 1) for end in ("iB", "i", "")}
COUNTS = {"": 1, "k": 10**3, "K": 10**3, "M": 10**6, "G": 10**9}
TIMES = {"": 1, "s": 1, "ms": Fraction(1, 1000), "us": Fraction(1, 10**6), "min": 60, "h": 3600}
NUMBER = re.compile(r"(\d[\d,_]*(?:\.\d+)?|\.\d+)\s*([A-Za-z]*)")
MOST = 10**15  # beyond it no plan has a meaning, and floats lose count

Share = Fraction | int  # of all connections, or so many


def number(text: str, units: Mapping[str, int | Fraction], example: str) -> Fraction:
    found = NUMBER.fullmatch(text.strip())
    if not found or found[2] not in units:
        raise ArgumentTypeError(f"{text!r} is no amount like {example}")
    value = Fraction(re.sub("[,_]", "", found[1])) * units[found[2]]
    if value > MOST:
        raise ArgumentTypeError(f"{text!r} is too large")
    return value


def whole_number_parser(example: str, units: Mapping[str, int], least: int) -> Callable[[str], int]:
    def parsed(text: str) -> int:
        value = number(text, units, example)
        if value.denominator != 1 or value < least:
            raise ArgumentTypeError(f"{text!r} is no whole number from {least} on, like {example}")
        return int(value)

    return parsed


parse_size = whole_number_parser("16GiB", SIZES, 1)
parse_size_or_zero = whole_number_parser("4096", SIZES, 0)
parse_count = whole_number_parser("10M", COUNTS, 1)
some = whole_number_parser("1", COUNTS, 0)


def parse_seconds(text: str) -> float:
    return float(number(text, TIMES, "200ms or 10s"))


def parse_duration(text: str) -> float:
    """More than none."""
    if not (value := parse_seconds(text)):
        raise ArgumentTypeError(f"{text!r} is no time: it must be more than 0")
    return value


def parse_rate(text: str) -> float:
    return float(number(text.removesuffix("/s"), COUNTS, "500/s"))


def parse_positive_rate(text: str) -> float:
    """A rate of more than none."""
    if not (value := parse_rate(text)):
        raise ArgumentTypeError(f"{text!r} is no rate: it must be more than 0")
    return value


def parse_share(text: str) -> Share:
    """5% of all, or 5000 of them."""
    if not text.endswith("%"):
        return some(text)
    value = number(text.removesuffix("%"), {"": 1}, "5%") / 100
    if value > 1:
        raise ArgumentTypeError(f"{text} is more than all: a share is at most 100%")
    return value


def take_share(part: Share, whole: int) -> Fraction:
    """So many of them."""
    return part * whole if isinstance(part, Fraction) else Fraction(part)


def format_size(size: float) -> str:
    for unit, bytes_each in (("TiB", 2**40), ("GiB", 2**30), ("MiB", 2**20), ("KiB", 2**10)):
        if abs(size) >= bytes_each:
            return (
                f"{size / bytes_each:,.2f} {unit}"
                if abs(size) < 100 * bytes_each
                else f"{size / bytes_each:,.0f} {unit}"
            )
    return f"{size:,.0f} B"


def memory_cell(size: float, note: str | None = None) -> Cell:
    return Cell(format_size(size), round(size), note)
