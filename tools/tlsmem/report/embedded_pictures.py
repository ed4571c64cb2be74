"""Pictures as a page carries them: each drawn once, as SVG; or the sentence why there is none."""

import io
import re
from collections.abc import Iterable, Iterator, Sequence
from functools import partial
from typing import Any, NamedTuple

import matplotlib
from matplotlib import pyplot
from matplotlib.figure import Figure
from matplotlib.text import Text
from matplotlib.typing import RcKeyType

from tlsmem.base import memo
from tlsmem.plots.line_labels import Halo
from tlsmem.plots.picture import PAGE_STYLE
from tlsmem.report.packed_json import deflate_text
from tlsmem.report.sections import Picture, digest_sources, identifier

EMBEDDED: dict[RcKeyType, Any] = {
    "svg.fonttype": "none",  # texts as text: outlines would double the size of a picture
    "svg.hashsalt": "page",  # names of clipping paths do not change from one drawing to the next
}
DOT = re.compile(r"M [^C\n]+\n(?:C [^\n]+\n){8}z\n?")  # a circle, as matplotlib writes it
TAG = re.compile(r"<[^>]+>")  # what stands between tags is text, in which numbers stay as they are
NUMBER = re.compile(r"(scale\([^)]*\))|(\d+\.\d)\d+")


class HtmlPicture(NamedTuple):
    name: str
    title: str
    says: str
    command: str
    label: str
    svg: str = ""  # packed
    width: int = 0
    height: int = 0
    why: str = ""  # there is no picture
    elsewhere: str = ""  # it has no room here: its address in the page with its data in files


class PictureCard(NamedTuple):
    """Pictures of which one is seen at a time."""

    name: str
    title: str
    pictures: tuple[HtmlPicture, ...]


def cards(several: Iterable[Picture], source: str | None = None) -> list[PictureCard]:
    """Those of one group in one card. `source` stands for all that they show: a picture of it is drawn once."""
    groups: dict[str, list[HtmlPicture]] = {}
    for picture in several:
        groups.setdefault(picture.group or picture.title, []).append(render_picture(picture, source))
    return [
        PictureCard(some[0].name, title if len(some) > 1 else some[0].title, tuple(some))
        for title, some in groups.items()
    ]


def limit_pictures(several: Sequence[PictureCard], room: int, elsewhere: str) -> list[PictureCard]:
    """Return the cards with as many pictures as fit into `room` (bytes); others become links into `elsewhere`.
    Pictures that a card shows first take precedence."""
    first = [card.pictures[0] for card in several]
    kept: set[str] = set()
    for one in [*first, *(one for card in several for one in card.pictures[1:])]:
        if len(one.svg) <= room:
            kept.add(one.name)
            room -= len(one.svg)

    def link(one: HtmlPicture) -> HtmlPicture:
        return one if one.name in kept else one._replace(svg="", elsewhere=f"{elsewhere}#{one.name}")

    return [card._replace(pictures=tuple(map(link, card.pictures))) for card in several]


def count_bytes(several: Sequence[PictureCard]) -> int:
    """Return how many bytes the pictures take in the page."""
    return sum(len(one.svg) for card in several for one in card.pictures)


def render_picture(picture: Picture, source: str | None = None) -> HtmlPicture:
    name, label = identifier(f"picture-{picture.name}"), picture.label or picture.title
    told = (name, picture.title, picture.says, picture.command, label)
    try:
        text = recall_svg(picture, source) if source else svg(picture)
    except ValueError as error:
        return HtmlPicture(*told, why=str(error))
    size = re.search(r'viewBox="0 0 ([\d.]+) ([\d.]+)"', text)
    assert size  # matplotlib writes it
    return HtmlPicture(*told, deflate_text(text), round(float(size[1])), round(float(size[2])))


def recall_svg(picture: Picture, source: str) -> str:
    """Draw the picture, unless it was drawn before from the same recordings and sources."""
    text: str = memo.recall("picture", [source, picture.name], digest_sources(), partial(svg, picture))
    return text


def draw_picture(picture: Picture) -> Figure:
    with matplotlib.rc_context(PAGE_STYLE):
        return picture.draw()


def svg(picture: Picture) -> str:
    """Without what a browser does not need, and with positions to a tenth of a point."""
    made, text = draw_picture(picture), io.StringIO()
    rims = dict(take_halos(made))
    with matplotlib.rc_context(PAGE_STYLE | EMBEDDED):
        made.savefig(text, format="svg", metadata={"Date": None})
    pyplot.close(made)
    return slimmer(re.sub(r'<g id="(halo-\d+)">', lambda found: rims[found[1]], text.getvalue()))


def take_halos(figure: Figure) -> Iterator[tuple[str, str]]:
    """Take the halos off its texts, and name these; yield each name and the group that has the halo in the page.
    Matplotlib would draw outlines of such a text, twice: in the page a text is a text."""
    for at, text in enumerate(figure.findobj(Text)):
        halos = [one for one in text.get_path_effects() if isinstance(one, Halo)]
        if halos:
            text.set_path_effects([one for one in text.get_path_effects() if one not in halos])
            text.set_gid(f"halo-{at}")
            rim = f"paint-order:stroke;stroke:{halos[0].colour};stroke-width:{Halo.WIDTH};stroke-linejoin:round"
            yield f"halo-{at}", f'<g style="{rim}">'


def slimmer(text: str) -> str:
    text = re.sub(r"<!--.*?-->|<metadata>.*?</metadata>|<!DOCTYPE[^>]*>", "", text, flags=re.DOTALL)
    text = TAG.sub(lambda tag: NUMBER.sub(lambda found: found[1] or found[2], tag[0]), text)
    text = re.sub(r"\s*\n\s*", "\n", text).strip()
    return re.sub(r"<pattern.*?</pattern>", lambda found: DOT.sub(dot, found[0]), text, flags=re.DOTALL)


def dot(found: re.Match[str]) -> str:
    """Of a hatch, as two arcs: a stack's dots would else be half of the picture."""
    numbers = [*map(float, re.findall(r"-?[\d.]+", found[0]))]
    left, right, top, bottom = (end(numbers[at::2]) for at in (0, 1) for end in (min, max))
    radius = round((right - left) / 2, 1)
    return f"M{left} {round((top + bottom) / 2, 1)}" + "".join(
        f"a{radius} {radius} 0 1 0 {way}{round(2 * radius, 1)} 0" for way in ("", "-")
    )
