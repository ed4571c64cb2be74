"""Limits as people write them: "52 KiB", "14 blocks", "+1%", "+0 B", "4000/s", "-3%"; read, checked, and printed again.

A meter of cost has a most: an amount, or how much more than a baseline. A rate has a least: an amount, or how much
less."""

import re
from dataclasses import dataclass
from fractions import Fraction

from tlsmem.base.nearest import suggest_nearest
from tlsmem.gate import scenario_meters

SIZES = {"B": 1, "KiB": 2**10, "MiB": 2**20, "GiB": 2**30}
BLOCKS = {"blocks": 1, "block": 1}
TIMES = {"×": 1, "x": 1, "": 1}  # the last two as people write it
HANDSHAKES, TRANSFER = {"/s": 1}, {"MiB/s": 1}
UNITS_BY_METER = {"heap": SIZES, "blocks": BLOCKS, "allocations": BLOCKS, "allocated": SIZES}  # of cost
UNITS_BY_METER |= {"rss": SIZES, "peak-rss": SIZES}
RATE_UNITS = {"handshakes": HANDSHAKES, "send": TRANSFER, "receive": TRANSFER}
UNITS_BY_METER |= RATE_UNITS
SCENARIO_UNITS = {"B": SIZES, "blocks": BLOCKS, "×": TIMES}
UNITS_BY_METER |= {meter: SCENARIO_UNITS[one.unit] for meter, one in scenario_meters.METERS.items()}
EXAMPLES = {"B": ("52 KiB", "+1%"), "blocks": ("14 blocks", "+0 blocks"), "/s": ("4000/s", "-3%")}
EXAMPLES |= {"×": ("100x", "+1%")}
EXAMPLES |= {"MiB/s": ("900 MiB/s", "-3%")}
PERCENT = "%"
LIMIT_PATTERN = re.compile(r"([+-]?) ?([0-9]{1,15}|[0-9]{1,3}(?:,[0-9]{3}){1,4})(\.[0-9]{1,6})? ?(\D*)", re.ASCII)


@dataclass(frozen=True)
class Limit:
    """An amount in a unit; with a sign it is how far from the baseline, and may then be percent."""

    amount: Fraction  # at least nought
    unit: str
    sign: str = ""

    @property
    def relative(self) -> bool:
        return bool(self.sign)

    def threshold(self, baseline: Fraction | float | None) -> Fraction | float:
        """The most that is allowed, of a rate the least: bytes, blocks, of a second. A sign needs a baseline."""
        value = self.amount * SIZES.get(self.unit, 1)
        if not self.relative:
            return value
        assert baseline is not None
        more = baseline * (self.amount / 100 if isinstance(baseline, Fraction) else float(self.amount) / 100)
        return baseline + (-1 if self.sign == "-" else 1) * (more if self.unit == PERCENT else value)

    def __str__(self) -> str:
        blank = "" if self.unit in (PERCENT, "/s") else " "
        return f"{self.sign}{decimal(self.amount)}{blank}{self.unit}"


def decimal(amount: Fraction) -> str:
    """Exact: a limit has at most six digits after the point."""
    whole, rest = divmod(amount, 1)
    digits = f"{int(rest * 10**6):06}".rstrip("0")
    return f"{int(whole):,}" + (f".{digits}" if digits else "")


def parse_limit(text: str, meter: str) -> Limit:
    """Raises ValueError with half a sentence when this is no limit, or none that the meter can have."""
    units = UNITS_BY_METER[meter]
    found = LIMIT_PATTERN.fullmatch(text.strip())
    sign, whole, rest, unit = found.groups() if found else ("", "", "", "")
    unit = unit.strip()
    if unit not in (*units, PERCENT):
        near = (unit and suggest_nearest(unit, units)) or "; it is written as {} or {}".format(
            *EXAMPLES[next(iter(units))]
        )
        raise ValueError(f"{text!r} is no limit of {meter}{near}")
    amount = Fraction(whole.replace(",", "") + (rest or ""))
    limit = Limit(amount, canonical_unit(unit, units), sign)
    check(limit, text, meter)
    return limit


def canonical_unit(unit: str, units: dict[str, int]) -> str:
    """The first of the names of one unit."""
    return next((name for name, size in units.items() if size == units.get(unit)), unit)


def check(limit: Limit, text: str, meter: str) -> None:
    """Raises ValueError with half a sentence where it is written well and yet cannot be."""
    if limit.unit == PERCENT and not limit.relative:
        way = "-" if meter in RATE_UNITS else "+"
        raise ValueError(f"{text!r} says not of what; against the baseline it is {way}{text.strip()}")
    if meter in RATE_UNITS:
        if limit.sign == "+":
            raise ValueError(f"{text!r} asks for more than the baseline; a limit of {meter} is how much less it may be")
        if limit.unit == PERCENT and limit.amount >= 100:
            raise ValueError(f"{text!r} leaves nothing to exceed")
        if not limit.relative and not limit.amount:
            raise ValueError(f"{text!r} leaves nothing to exceed")
    elif limit.sign == "-":
        raise ValueError(f"{text!r} is negative; a limit of {meter} is the most it may be, or with + how much more")
