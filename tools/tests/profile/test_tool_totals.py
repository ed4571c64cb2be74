"""Files of each form as its own tool makes and prints them: totals are equal, to the byte and the block."""

import pytest

from tests.support.tool_totals import SAMPLES, compare


@pytest.mark.slow
@pytest.mark.parametrize("sample", SAMPLES, ids=[sample.form for sample in SAMPLES])
def test_totals_are_those_of_its_own_tool(tmp_path, sample):
    found = list(compare(sample, tmp_path))
    assert found
    assert [one for one in found if not one.is_equal] == []
