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
            low, high = sorted(axis.get_view_interval())  # rows are counted from above
            outside = (tick for tick in axis.get_major_ticks() if not low <= tick.get_loc() <= high)
            unseen |= {label for tick in outside for label in (tick.label1, tick.label2)}
    return [text for text in texts if text not in unseen]


LEGIBLE, PAGE_PIXELS = 11, 830  # pixels of a letter's size, and of a picture on a page


def smallest_text(made: Figure) -> float:
    """Return the size of the smallest letters where the picture is as wide as a page, in pixels."""
    return min(text.get_fontsize() for text in shown(made)) / 72 * PAGE_PIXELS / made.get_size_inches()[0]


def title_of(made: Figure) -> str:
    """Return the title of a picture: its first text."""
    return made.texts[0].get_text().replace("\n", " ")


def overlaps(made: Figure) -> list[tuple[str, str]]:
    """Slanted texts are left out: their upright boxes overlap though they do not; see the test of their distance."""
    boxes = [(one.get_text(), one.get_window_extent()) for one in shown(made) if one.get_rotation() % 90 == 0]
    return [(name, other) for (name, a), (other, b) in combinations(boxes, 2) if a.overlaps(b)]
