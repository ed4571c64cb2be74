"""The limits of a budget: what they come to, that they are printed as they are read, and what is no limit."""

from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as some

from tlsmem.config.choices import METERS
from tlsmem.gate import budget_meters, limits, scenario_meters
from tlsmem.gate.limits import Limit

KNOWN = [
    ("52 KiB", "heap", None, 53_248),
    ("37286 B", "heap", None, 37_286),
    ("37,286B", "heap", None, 37_286),
    ("1.5 MiB", "rss", None, 1_572_864),
    ("2 GiB", "peak-rss", None, 2_147_483_648),
    ("14 blocks", "blocks", None, 14),
    ("1 block", "blocks", None, 1),
    ("+0B", "heap", Fraction(47_592), 47_592),
    ("+16 B", "heap", Fraction(47_592), 47_608),
    ("+1%", "heap", Fraction(10_000), 10_100),
    ("+0.5 %", "rss", 10_000.0, 10_050.0),
    ("+1 KiB", "rss", 1_000.0, 2_024.0),
    ("+2 blocks", "allocations", Fraction(81, 2), Fraction(85, 2)),
    ("4000/s", "handshakes", None, 4_000),
    ("-3%", "handshakes", 4_000.0, 3_880.0),
    ("-100/s", "handshakes", 4_000.0, 3_900.0),
    ("900 MiB/s", "send", None, 900),
    ("-0%", "receive", 900.0, 900.0),
    ("100", "amplification", None, 100),
    ("1.5x", "amplification", None, Fraction(3, 2)),
    ("100 ×", "amplification", None, 100),
    ("+10x", "amplification", Fraction(5, 2), Fraction(25, 2)),
    ("16 KiB", "pinned", None, 16_384),
]
WRONG = [
    ("", "heap"),
    ("52", "heap"),
    ("52 KB", "heap"),
    ("14 blocks", "rss"),
    ("52 KiB", "blocks"),
    ("4000/s", "heap"),
    ("52 KiB", "handshakes"),
    ("-5 B", "heap"),
    ("-3%", "rss"),
    ("+3%", "send"),
    ("+x%", "heap"),
    ("1%", "heap"),
    ("3%", "send"),
    ("-100%", "send"),
    ("0/s", "handshakes"),
    ("1e3 B", "heap"),
    ("++1 B", "heap"),
    ("1,00 B", "heap"),
    ("9999999999999999 B", "heap"),
    ("٣ B", "heap"),
    ("100 B", "amplification"),
    ("52 KiB", "amplification"),
    ("100x", "pinned"),
]


@pytest.mark.parametrize("text, meter, baseline, allowed", KNOWN)
def test_a_limit_comes_to_a_known_amount(text, meter, baseline, allowed):
    assert limits.parse_limit(text, meter).threshold(baseline) == allowed


@pytest.mark.parametrize("text, meter", WRONG)
def test_what_is_no_limit_is_a_sentence(text, meter, snapshot):
    with pytest.raises(ValueError) as error:
        limits.parse_limit(text, meter)
    assert str(error.value) == snapshot


def test_every_meter_has_units_roles_and_an_example():
    of_memory_and_time = METERS.keys() - {"rest"}
    assert budget_meters.ROLES_BY_METER.keys() == of_memory_and_time
    assert limits.UNITS_BY_METER.keys() == of_memory_and_time | scenario_meters.METERS.keys()
    for meter in limits.UNITS_BY_METER:
        for text in limits.EXAMPLES[next(iter(limits.UNITS_BY_METER[meter]))]:
            limits.parse_limit(text, meter)


@some.composite
def meters_and_limits(draw) -> tuple[str, Limit]:
    meter = draw(some.sampled_from(sorted(limits.UNITS_BY_METER)))
    sign = draw(some.sampled_from(["", "-" if meter in limits.RATE_UNITS else "+"]))
    names = limits.UNITS_BY_METER[meter]
    units = sorted({limits.canonical_unit(name, names) for name in names}) + [limits.PERCENT] * bool(sign)
    unit = draw(some.sampled_from(units))
    most = 99 * 10**6 if unit == limits.PERCENT else 10**15 - 1
    return meter, Limit(Fraction(draw(some.integers(1, most)), 10**6), unit, sign)


@given(meters_and_limits())
def test_a_limit_is_read_as_it_was_printed(case):
    meter, limit = case
    assert limits.parse_limit(str(limit), meter) == limit


@pytest.mark.thorough
@given(
    some.text() | some.from_regex(limits.LIMIT_PATTERN, fullmatch=True),
    some.sampled_from(sorted(limits.UNITS_BY_METER)),
)
def test_any_text_is_a_limit_or_a_sentence(text, meter):
    try:
        found = limits.parse_limit(text, meter)
    except ValueError as error:
        assert str(error)
    else:
        assert limits.parse_limit(str(found), meter) == found
