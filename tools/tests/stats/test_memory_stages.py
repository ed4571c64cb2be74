"""Steps between stages are differences, and a stage that is not known leaves its steps unknown."""

from fractions import Fraction

from tlsmem.stats.memory_stages import MemoryStages
from tlsmem.stats.missing import Missing

WHY, OTHER = Missing("this is not known"), Missing("nor is that")


def test_steps_add_up_from_requested_to_resident():
    found = MemoryStages(Fraction(100), Fraction(110), Fraction(150), Fraction(130))
    assert (found.rounding, found.free, found.untouched) == (10, 40, -20)
    assert found.requested + found.rounding + found.free + found.untouched == found.resident


def test_a_step_beside_a_stage_that_is_not_known_has_its_reason_the_earlier_first():
    found = MemoryStages(WHY, OTHER, Fraction(150), OTHER)
    assert (found.rounding, found.free, found.untouched) == (WHY, OTHER, OTHER)
