"""What a viewer of a figure sees of its texts."""

from itertools import combinations

from matplotlib.figure import Figure
from matplotlib.text import Text


def shown(made: Figure) -> list[Text]:
    """Every text that a viewer sees; ticks outside the limits exist, but are not drawn."""
    texts = [text for text in made.findobj(Text) if text.get_visible() and text.get_text().strip()]
    unseen = set()
    for axes in made.axes:
        for axis in (axes.xaxis, axes.yaxis):
            low, high = axis.get_view_interval()
            outside = (tick for tick in axis.get_major_ticks() if not low <= tick.get_loc() <= high)
            unseen |= {label for tick in outside for label in (tick.label1, tick.label2)}
    return [text for text in texts if text not in unseen]


def overlaps(made: Figure) -> list[tuple[str, str]]:
    """Slanted texts are left out: their upright boxes overlap though they do not; see the test of their distance."""
    boxes = [(one.get_text(), one.get_window_extent()) for one in shown(made) if one.get_rotation() % 90 == 0]
    return [(name, other) for (name, a), (other, b) in combinations(boxes, 2) if a.overlaps(b)]
