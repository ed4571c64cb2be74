"""Where the panels of a figure stand, and on which scale."""

from matplotlib import pyplot
from matplotlib.axes import Axes
from matplotlib.figure import Figure

COLUMNS = 3  # panels side by side, each one axes above the other; more settings go below


def grid_of(count: int, columns: int) -> tuple[Figure, list[tuple[Axes, Axes]]]:
    """Two axes of each panel: one above the other, 16:9, where all panels stand in a row; else beside each other and
    two panels in a row, so that the picture stays wider than high."""
    rows = -(-count // 2)
    shape = (2, count) if count <= columns else (rows, 4)
    size = (12.8, 7.2) if count <= columns else (17.6, 1.2 + 3.5 * rows)
    made, grid = pyplot.subplots(*shape, figsize=size, layout="constrained", squeeze=False)
    if count <= columns:
        return made, list(zip(*grid, strict=True))
    pairs = [(row[at], row[at + 1]) for row in grid for at in (0, 2)]
    for spare in pairs[count:]:
        for axes in spare:
            axes.remove()
    return made, pairs[:count]


def level(lowers: list[Axes], from_zero: bool) -> None:
    """One scale for all."""
    low = 0 if from_zero else min(axes.get_ylim()[0] for axes in lowers)
    high = max(axes.get_ylim()[1] for axes in lowers)
    for axes in lowers:
        axes.set_ylim(low, high)
