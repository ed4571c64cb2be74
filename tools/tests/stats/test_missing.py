"""A missing value passes through arithmetic with its reason, and can be mistaken for nothing else."""

import operator
import pickle
from collections.abc import Callable
from dataclasses import FrozenInstanceError
from fractions import Fraction
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tlsmem.stats.missing import Missing, find_missing, keep_present, map_present, replace_missing

OPERATORS = (operator.add, operator.sub, operator.mul, operator.truediv, operator.floordiv)
missing = st.builds(Missing, st.text())
numbers = st.integers() | st.floats() | st.fractions()
values = numbers | missing


@given(missing, numbers)
@pytest.mark.parametrize("apply", OPERATORS)
def test_either_side_of_an_operator(apply: Callable[[Any, Any], Any], gap: Missing, number: float) -> None:
    assert apply(gap, number) is gap
    assert apply(number, gap) is gap


@given(missing, missing)
@pytest.mark.parametrize("apply", OPERATORS)
def test_the_left_reason_wins(apply: Callable[[Any, Any], Any], left: Missing, right: Missing) -> None:
    assert apply(left, right) is left
    assert apply(apply(1, left), right) is left


@given(missing)
def test_of_one_operand(gap: Missing) -> None:
    assert -gap is gap
    assert abs(gap) is gap
    assert round(gap) is gap
    assert round(gap, 2) is gap


@pytest.mark.thorough
@given(st.lists(numbers), missing, st.lists(values))
def test_a_sum_is_its_first_missing(before: list[float], gap: Missing, after: list[float | Missing]) -> None:
    assert sum([*before, gap, *after]) is gap


@given(missing, st.text() | st.none() | st.lists(st.integers()))
@pytest.mark.parametrize("apply", OPERATORS)
def test_only_with_numbers(apply: Callable[[Any, Any], Any], gap: Missing, other: object) -> None:
    with pytest.raises(TypeError):
        apply(gap, other)
    with pytest.raises(TypeError):
        apply(other, gap)


@given(missing, values)
@pytest.mark.parametrize("compare", [operator.lt, operator.le, operator.gt, operator.ge])
def test_it_has_no_order(compare: Callable[[Any, Any], Any], gap: Missing, other: object) -> None:
    with pytest.raises(TypeError):
        compare(gap, other)
    with pytest.raises(TypeError):
        compare(other, gap)


@given(missing)
def test_it_has_no_truth(gap: Missing) -> None:
    for ask in (bool, operator.not_, lambda value: value or 1, lambda value: any([value])):
        with pytest.raises(TypeError, match="neither true nor false"):
            ask(gap)


@given(st.text(), st.text())
def test_equal_where_the_reason_is(reason: str, other: str) -> None:
    assert Missing(reason) == Missing(reason)
    assert hash(Missing(reason)) == hash(Missing(reason))
    assert (Missing(reason) == Missing(other)) == (reason == other)
    assert Missing(reason) != reason
    assert Missing(reason) not in (0, None, reason)


@given(missing)
def test_it_survives_a_pickle(gap: Missing) -> None:
    assert pickle.loads(pickle.dumps(gap)) == gap


@given(missing, st.text())
def test_it_cannot_be_changed(gap: Missing, reason: str) -> None:
    with pytest.raises(FrozenInstanceError):
        gap.reason = reason  # type: ignore[misc]


@pytest.mark.thorough
@given(st.lists(numbers), missing, st.lists(values))
def test_the_first_that_is_missing(before: list[float], gap: Missing, after: list[float | Missing]) -> None:
    assert find_missing(*before) is None
    assert find_missing(*before, gap, *after) is gap


@pytest.mark.thorough
@given(st.lists(values))
def test_those_that_are_present(several: list[float | Missing]) -> None:
    assert keep_present(several) == [one for one in several if not isinstance(one, Missing)]


@given(values, st.none() | st.integers())
def test_another_value_instead(value: float | Missing, otherwise: int | None) -> None:
    assert replace_missing(value, otherwise) is (otherwise if isinstance(value, Missing) else value)


@pytest.mark.thorough
@given(st.lists(values, min_size=1, max_size=3))
def test_a_function_sees_present_values_only(several: list[float | Missing]) -> None:
    seen: list[Any] = []

    def see(*given: Any) -> str:
        seen.extend(given)
        return "called"

    found = map_present(see, *several)  # type: ignore[call-overload]
    gap = find_missing(*several)
    assert found == ("called" if gap is None else gap)
    assert seen == ([] if gap is not None else several)


def test_a_function_may_itself_find_nothing() -> None:
    def halve(size: int) -> Fraction | Missing:
        return Fraction(size, 2) if size else Missing("nothing to halve")

    assert map_present(halve, 3) == Fraction(3, 2)
    assert map_present(halve, 0) == Missing("nothing to halve")
