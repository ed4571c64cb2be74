"""Whether parts of a picture that differ in colour are told apart by people who do not see that."""

from itertools import combinations, pairwise

import numpy
from matplotlib.artist import Artist
from matplotlib.colors import to_rgb
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import Patch, Rectangle

SEEN = {  # linear red, green and blue as they are seen; the last two are of Machado, Oliveira and Fernandes (2009)
    "grey": [[0.2126, 0.7152, 0.0722]] * 3,
    "deuteranopia": [
        [0.367322, 0.860646, -0.227968],
        [0.280085, 0.672501, 0.047413],
        [-0.011820, 0.042940, 0.968881],
    ],
    "protanopia": [
        [0.152286, 1.052583, -0.204868],
        [0.114503, 0.786281, 0.099216],
        [-0.003882, -0.048116, 1.051998],
    ],
}
XYZ = [[0.4124, 0.3576, 0.1805], [0.2126, 0.7152, 0.0722], [0.0193, 0.1192, 0.9505]]  # of linear sRGB, for D65
WHITE = [0.9505, 1.0, 1.089]
LEAST = 12  # of CIE 1976: 2.3 is a difference that is just seen

Look = tuple[str, str]  # a colour, and what else tells a part from others


def lab(colour: str, way: str) -> numpy.ndarray:
    """Return the colour as it is seen, as L*a*b*."""
    parts = numpy.array(to_rgb(colour))
    linear = numpy.where(parts <= 0.04045, parts / 12.92, ((parts + 0.055) / 1.055) ** 2.4)
    ratios = numpy.array(XYZ) @ numpy.clip(numpy.array(SEEN[way]) @ linear, 0, 1) / WHITE
    x, y, z = numpy.where(ratios > 0.008856, numpy.cbrt(ratios), 7.787 * ratios + 16 / 116)
    return numpy.array([116 * y - 16, 500 * (x - y), 200 * (y - z)])


def difference(one: str, other: str) -> float:
    """Return how far two colours are apart where they are least."""
    return min(float(numpy.linalg.norm(lab(one, way) - lab(other, way))) for way in SEEN)


def look(artist: Artist) -> Look:
    """Return the colour of a bar or a line, and its hatch, or its marker and its dash."""
    if isinstance(artist, Line2D):
        return artist.get_color(), f"{artist.get_marker()} {artist.get_linestyle()}"
    assert isinstance(artist, Patch)
    return artist.get_facecolor(), artist.get_hatch() or ""


def are_alike(one: Artist, other: Artist) -> bool:
    """Return whether not everybody tells two parts apart."""
    (colour, mark), (other_colour, other_mark) = look(one), look(other)
    return mark == other_mark and difference(colour, other_colour) < LEAST


def find_alike(made: Figure) -> list[tuple[Look, Look]]:
    """Return the entries of legends, and the neighbours in a bar of several parts, that not everybody tells apart."""
    pairs = [pair for legend in made.legends for pair in combinations(legend.legend_handles, 2)]
    for axes in made.axes:
        rows: dict[tuple[float, float], list[Rectangle]] = {}
        for bar in axes.patches:
            if isinstance(bar, Rectangle) and bar.get_width():
                rows.setdefault((bar.get_y(), bar.get_height()), []).append(bar)
        pairs += [pair for parts in rows.values() for pair in pairwise(sorted(parts, key=Rectangle.get_x))]
    return [(look(one), look(other)) for one, other in pairs if are_alike(one, other)]
