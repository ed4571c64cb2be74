"""The page of sections: in one file that needs nothing else, or with its data in files beside it."""

import base64
import hashlib
import json
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

import jinja2
from markupsafe import Markup

from tlsmem.explore import profile_output
from tlsmem.report import embedded_pictures, table_html
from tlsmem.report.sections import ASSETS, Section, mark_code, read_asset

MOST = 2_000_000  # bytes of a page in one file
AROUND = 1_500  # bytes around a picture in the page: its texts, its command and its buttons
SCRIPTS = ("page.js", "tables.js", "pictures.js")
STRICT = '"use strict";\n'
INDEX, DATA = "index.html", "data"  # of a page with its data in files

Payload = Callable[[str, str], Markup]  # takes in a packed text under its id


class Directory(NamedTuple):
    """The page with its data in files, which has room for every picture."""

    folder: str  # from where the page in one file is
    command: str  # that writes it


BESIDE = Directory("report", "tools/tls-memtest show report --format directory")


def pack_json(data: object) -> Markup:
    """JSON that ends no tag: within a script element nothing is escaped."""
    text = json.dumps(data, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    return Markup(text.replace("<", "\\u003c").replace("\u2028", "\\u2028").replace("\u2029", "\\u2029"))


def script(sections: Sequence[Section]) -> str:
    """One for all, so that what page.js offers is seen by no other page's."""
    theirs = dict.fromkeys(text for section in sections for text in section.scripts)
    bodies = "".join(f"((report) => {{\n{text}}})(report);\n" for text in theirs)
    ours = "".join(map(read_asset, SCRIPTS))
    return f"{STRICT}(() => {{\n{ours}{bodies}}})();"


def page(
    title: str,
    subtitle: str,
    sections: Sequence[Section],
    source: str | None = None,
    beside: Directory = BESIDE,
) -> str:
    """Return a page below MOST. If it would be larger, each section gets a share for its pictures, and links to the
    others in the directory form, `beside` this page.

    Raises ValueError where that is not enough. `source` stands for the recordings: their pictures are drawn once."""
    parts = page_parts(title, subtitle, sections) | {"beside": beside}
    pictures = {section.id: embedded_pictures.cards(section.pictures, source) for section in sections}
    made = template(inline_payload)
    text = made.render(parts, pictures=pictures)
    if len(text.encode()) > MOST:
        wanted = {section: embedded_pictures.count_bytes(cards) for section, cards in pictures.items()}
        around = AROUND * sum(len(card.pictures) for cards in pictures.values() for card in cards)
        shares = share_room(wanted, MOST - around - (len(text.encode()) - sum(wanted.values())))
        elsewhere = f"{beside.folder}/{INDEX}"
        few = {id: embedded_pictures.limit_pictures(cards, shares[id], elsewhere) for id, cards in pictures.items()}
        text = made.render(parts, pictures=few)
    if len(text.encode()) > MOST:
        raise ValueError(f"the page would be larger than {MOST / 1e6:g} MB; name fewer recordings")
    return text


def share_room(wanted: dict[str, int], room: int) -> dict[str, int]:
    """Return how much of the room each may take: an equal share, and a part of what others do not need."""
    shares, left = {}, max(0, room)
    for at, name in enumerate(sorted(wanted, key=wanted.__getitem__)):
        shares[name] = min(wanted[name], left // (len(wanted) - at))
        left -= shares[name]
    return shares


def write_directory(
    title: str, subtitle: str, sections: Sequence[Section], folder: Path, source: str | None = None
) -> Iterator[Path]:
    """Write the page with all its data in files that it loads by script tags; yield each file."""
    sections = [one._replace(packed=one.whole()) if one.whole else one for one in sections]
    (folder / DATA).mkdir(parents=True, exist_ok=True)
    written: list[Path] = []

    def payload(name: str, packed: str) -> Markup:
        written.append(folder / DATA / f"{name}.js")
        profile_output.write_text(f"payload({json.dumps(name)},{json.dumps(packed)});\n", str(written[-1]))
        return Markup()

    parts = page_parts(title, subtitle, sections, beside="'self' file:")
    pictures = {section.id: embedded_pictures.cards(section.pictures, source) for section in sections}
    text = template(payload).render(parts, pictures=pictures)
    profile_output.write_text(text, str(folder / INDEX))
    yield from [folder / INDEX, *written]


def inline_payload(name: str, packed: str) -> Markup:
    """Return the element that holds a packed text within the page."""
    return Markup('<script type="text/plain" id="{}">{}</script>').format(name, packed)


def page_parts(title: str, subtitle: str, sections: Sequence[Section], beside: str = "") -> dict[str, object]:
    """Return what the template takes, but pictures. `beside`: where else scripts may come from."""
    body = script(sections)
    styles = dict.fromkeys(text for section in sections for text in section.styles)
    cards = {section.id: table_html.cards(section.tables) for section in sections}
    columns = (
        table_html.column_style(table) for several in cards.values() for card in several for table in card.tables
    )
    return {
        "title": title,
        "subtitle": subtitle,
        "sections": sections,
        "tables": cards,
        "scripts": [plain(body)],
        "policy": f"'sha256-{digest(body)}' {beside}".strip(),
        "style": plain(read_asset("page.css") + "".join([*styles, *columns])),
    }


def template(payload: Payload) -> jinja2.Template:
    loader = jinja2.FileSystemLoader(ASSETS)
    environment = jinja2.Environment(loader=loader, autoescape=True, trim_blocks=True, lstrip_blocks=True)
    environment.filters |= {"packed": pack_json, "coded": mark_code}
    environment.globals["payload"] = payload
    return environment.get_template("page.html.jinja")


def plain(text: str) -> Markup:
    """As it stands, between tags: of ours only."""
    if "</script" in text.lower() or "<!--" in text or "</style" in text.lower():
        raise ValueError("what draws the page would end its own tag")
    return Markup(text)


def digest(text: str) -> str:
    return base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
