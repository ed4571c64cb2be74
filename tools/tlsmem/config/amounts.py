"""Amounts as people write them in options: 16GiB, 10M, 5%, 200ms, 500/s. Standard library only.

Each function here is the type of an argument: argparse turns its errors into exit 2."""

import math
import re
from argparse import ArgumentTypeError
from collections.abc import Callable, Mapping
from fractions import Fraction
from pathlib import Path

SIZES = {"": 1, "B": 1, "KB": 10**3, "MB": 10**6, "GB": 10**9, "TB": 10**12}
SIZES |= {f"{sign}{end}": 2 ** (10 * place) for place, sign in enumerate("KMGT", 1) for end in ("iB", "i", "")}
COUNTS = {"": 1, "k": 10**3, "K": 10**3, "M": 10**6, "G": 10**9}
TIMES: dict[str, int | Fraction] = {
    "": 1,
    "s": 1,
    "ms": Fraction(1, 1000),
    "us": Fraction(1, 10**6),
    "min": 60,
    "h": 3600,
}
NUMBER = re.compile(r"((?:\d[\d,_]*(?:\.\d+)?|\.\d+)(?:[eE]\+?\d{1,2})?)\s*([A-Za-z]*)", re.ASCII)
MOST_DIGITS = 40  # int() refuses some thousands
MOST = 10**15  # beyond it no plan has a meaning, and floats lose count
MOST_COUNTED = 10**10  # of what is counted in a profile
MOST_PAIRS = 100_000
LAST_PORT = 65535
HOST = r"[\w-]{1,63}(?:\.[\w-]{1,63})*\.?"  # a name with longer parts, or empty ones, cannot be looked up

Share = Fraction | int  # of all connections, or so many


def number(text: str, units: Mapping[str, int | Fraction], example: str) -> Fraction:
    found = NUMBER.fullmatch(text.strip())
    if not found or found[2] not in units:
        raise ArgumentTypeError(f"{text!r} is not an amount (example: {example})")
    if len(found[1]) > MOST_DIGITS:
        raise ArgumentTypeError(f"{text[:MOST_DIGITS]}... has more than {MOST_DIGITS} digits")
    value = Fraction(re.sub("[,_]", "", found[1])) * units[found[2]]
    if value > MOST:
        raise ArgumentTypeError(f"{text!r} is too large")
    return value


def write_digits(text: str, units: Mapping[str, int] = COUNTS) -> str:
    """Return an amount in digits: 1000000 of 1e6 and 1M. A text that is no whole amount stays as it is."""
    try:
        value = number(text, units, "10M")
    except ArgumentTypeError:
        return text
    return f"{value}" if value.denominator == 1 else text


def make_whole_number_parser(example: str, units: Mapping[str, int], least: int) -> Callable[[str], int]:
    def parsed(text: str) -> int:
        value = number(text, units, example)
        if value.denominator != 1 or value < least:
            raise ArgumentTypeError(f"{text!r} must be a whole number, at least {least} (example: {example})")
        return int(value)

    return parsed


parse_size = make_whole_number_parser("16GiB", SIZES, 1)
parse_size_or_zero = make_whole_number_parser("4096", SIZES, 0)
parse_count = make_whole_number_parser("10M", COUNTS, 1)
parse_count_or_zero = make_whole_number_parser("1", COUNTS, 0)


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


def parse_loopback(text: str) -> str:
    """An address on this machine to listen at: what is served there has no password."""
    found = re.fullmatch(r"(127\.[0-9]{1,3}\.[0-9]{1,3}\.[0-9]{1,3}|\[::1\]):([0-9]{1,5})", text)
    if not found or int(found[2]) > LAST_PORT:
        raise ArgumentTypeError(f"{text!r} is no port of this machine's own: write 127.0.0.1:PORT or [::1]:PORT")
    return text


def parse_connections(text: str) -> int:
    """How to count connections: by the local port."""
    found = re.fullmatch(r"port:([0-9]{1,5})", text)
    if not found or not 0 < int(found[1]) <= LAST_PORT:
        raise ArgumentTypeError(f"{text!r} says not what to count: write port:NUMBER, such as port:8443")
    return int(found[1])


def parse_scheduler(text: str) -> str:
    """The address of a cluster's scheduler."""
    found = re.fullmatch(rf"(tcp|tls)://(\[[0-9a-fA-F:.]+\]|{HOST}):([0-9]{{1,5}})", text, re.ASCII)
    if not found or not 0 < int(found[3]) <= LAST_PORT:
        raise ArgumentTypeError(
            f"{text!r} is not a scheduler address: write tls://HOST:PORT, or tcp://HOST:PORT without TLS"
        )
    return text


def parse_share(text: str) -> Share:
    """5% of all, or 5000 of them."""
    if not text.endswith("%"):
        return parse_count_or_zero(text)
    value = number(text.removesuffix("%"), {"": 1}, "5%") / 100
    if value > 1:
        raise ArgumentTypeError(f"{text} is more than all: a share is at most 100%")
    return value


def parse_time_limit(text: str) -> float:
    """Seconds that a run may take."""
    if not (value := float_or_nan(text)) > 0:
        raise ArgumentTypeError(f"{text!r} is no number of seconds above 0")
    return value


def parse_pid(text: str) -> int:
    """The number of a process."""
    if not re.fullmatch(r"[1-9][0-9]{0,9}", text):
        raise ArgumentTypeError(f"{text!r} is not the number of a process; pgrep NAME lists those of a program")
    return int(text)


def parse_process(text: str) -> int | Path:
    """The number of a process, or the path of a core file."""
    if text.isascii() and text.isdigit():
        return parse_pid(text)
    if not text.strip() or not Path(text).exists():
        raise ArgumentTypeError(
            f"{text!r} is not the number of a process and no core file; pgrep NAME lists the processes of a program"
        )
    return Path(text)


def parse_interval(text: str) -> float:
    """Seconds between two reports."""
    if not 0.01 <= (value := float_or_nan(text)) <= 3600:
        raise ArgumentTypeError(f"{text}: from 0.01 to 3600 seconds")
    return value


def float_or_nan(text: str) -> float:
    """Not a number, which is in no range, where the text is none."""
    try:
        return float(text)
    except ValueError:
        return math.nan


def parse_positive(text: str) -> int:
    """What is counted in a profile: sites, sessions."""
    text = write_digits(text)
    if not text.isascii() or not text.isdecimal() or not text.strip("0"):
        raise ArgumentTypeError(f"{text} must be a whole number, at least 1")
    if len(text.lstrip("0")) > len(f"{MOST_COUNTED}") or int(text) > MOST_COUNTED:
        raise ArgumentTypeError(f"{text} is too large: at most {MOST_COUNTED:,}")
    return int(text)


def parse_pairs(text: str) -> int:
    """Connections of which both ends are here."""
    text = write_digits(text)
    if not re.fullmatch(r"[0-9]{1,9}", text) or not 0 < int(text) <= MOST_PAIRS:
        raise ArgumentTypeError(f"{text} is no whole number from 1 to {MOST_PAIRS}")
    return int(text)
