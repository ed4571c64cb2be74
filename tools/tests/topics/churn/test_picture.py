"""The picture of waves: a line for each allocator, and the finding."""

import pytest
from matplotlib import pyplot

from tests.support.colour_vision import find_alike
from tests.support.synthetic_churn import PAIRS, SESSION_BYTES, churn
from tlsmem.topics.churn import picture
from tlsmem.topics.churn.waves import find_churn

MIB = 1 << 20
LEFT = [0] * 20
RESIDENT = {"system": [20 * MIB] * 20, "tcmalloc": [20 * MIB + wave * MIB // 2 for wave in range(20)]}


@pytest.fixture
def lines():
    """Runs of two allocators on two stacks, and one that only one stack has."""
    runs = [
        churn(LEFT, resident, "rss", pattern="lifetimes", allocator=allocator, stack=stack)
        for stack in ("openssl@3.5.5", "rustls+aws-lc@0.23.46")
        for allocator, resident in RESIDENT.items()
    ]
    runs += [churn(LEFT, RESIDENT["system"], "heap", pattern="lifetimes", stack="openssl@3.5.5")]
    runs += [churn(LEFT, RESIDENT["system"], "rss", pattern="waves")]
    return picture.compare_alike(picture.select_lines(find_churn(runs)))


def test_a_panel_has_a_line_for_each_allocator_and_one_for_live_heap(lines):
    made, panels = pyplot.subplots(1, 2, layout="constrained")
    picture.draw(made, list(panels), lines)
    heights = [line.get_ydata()[-1] for line in panels[0].lines]
    assert heights == [20, 29.5, PAIRS * SESSION_BYTES / MIB]
    assert len(panels[1].lines) == 2
    texts = [text.get_text() for text in panels[0].texts]
    assert texts[:3] == ["glibc 20.0", "tcmalloc 29.5", f"live heap {PAIRS * SESSION_BYTES / MIB:.1f}"]
    pyplot.close(made)


def test_panels_have_one_scale_however_little_a_stack_takes(lines):
    small = [one for one in lines if one.stack != "openssl@3.5.5" and one.allocator == "system"]
    made, panels = pyplot.subplots(1, 2, layout="constrained")
    picture.draw(made, list(panels), [one for one in lines if one.stack == "openssl@3.5.5"] + small)
    assert panels[0].get_ylim() == panels[1].get_ylim() and find_alike(made) == []
    pyplot.close(made)


def test_the_title_names_the_smallest_allocator_and_what_the_largest_adds(lines):
    said = picture.describe_finding(lines)
    assert said == (
        "RSS after 20 equal waves: OpenSSL 3.5.5 is smallest on glibc (+48\N{NO-BREAK SPACE}% on tcmalloc), "
        "rustls 0.23.46 (aws-lc) on glibc (+48\N{NO-BREAK SPACE}% on tcmalloc)"
    )


def test_without_several_allocators_there_is_nothing_to_compare():
    runs = [churn(LEFT, RESIDENT["system"], "rss", pattern="lifetimes")]
    assert picture.compare_alike(picture.select_lines(find_churn(runs))) == []
    made, panels = pyplot.subplots(1, 1, squeeze=False, layout="constrained")
    with pytest.raises(ValueError) as stop:
        picture.draw(made, list(panels.flat), [])
    assert "tools/tls-memtest measure churn-lifetimes" in str(stop.value)
    pyplot.close(made)
