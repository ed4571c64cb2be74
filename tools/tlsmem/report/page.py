"""One page of sections that needs nothing else."""

import base64
import hashlib
import json
from collections.abc import Sequence

import jinja2
from markupsafe import Markup

from tlsmem.report import embedded_pictures, table_html
from tlsmem.report.sections import ASSETS, Section, deflate_base64, mark_code, read_asset

MOST = 3_000_000  # bytes of a page
TOO_LARGE = f"it would make this page larger than {MOST / 1e6:g} MB; the command makes it"
SCRIPTS = ("page.js", "tables.js", "pictures.js")
STRICT = '"use strict";\n'


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


def page(title: str, subtitle: str, sections: Sequence[Section], source: str | None = None) -> str:
    """Below MOST: what is more goes without its largest pictures, each with a sentence. ValueError where that is not
    enough. `source` stands for the recordings: their pictures are drawn once."""
    drawn = script(sections)
    styles = dict.fromkeys(text for section in sections for text in section.styles)
    cards = {section.id: table_html.cards(section.tables) for section in sections}
    columns = (
        table_html.column_style(table) for several in cards.values() for card in several for table in card.tables
    )
    parts = {
        "title": title,
        "subtitle": subtitle,
        "sections": sections,
        "tables": cards,
        "scripts": [plain(drawn)],
        "policy": f"'sha256-{digest(drawn)}'",
        "style": plain(read_asset("page.css") + "".join([*styles, *columns])),
    }
    pictures = {section.id: embedded_pictures.cards(section.pictures, source) for section in sections}
    return fitting(template(), parts, pictures)


def template() -> jinja2.Template:
    loader = jinja2.FileSystemLoader(ASSETS)
    environment = jinja2.Environment(loader=loader, autoescape=True, trim_blocks=True, lstrip_blocks=True)
    environment.filters |= {"packed": pack_json, "deflated": deflate_base64, "coded": mark_code}
    return environment.get_template("page.html.jinja")


def fitting(
    made: jinja2.Template, parts: dict[str, object], pictures: dict[str, list[embedded_pictures.PictureCard]]
) -> str:
    while len((text := made.render(parts, pictures=pictures)).encode()) > MOST:
        drawn = [one for cards in pictures.values() for card in cards for one in card.pictures if one.svg]
        if not drawn:
            raise ValueError(f"the page would be larger than {MOST / 1e6:g} MB; name fewer recordings")
        largest = max(drawn, key=lambda one: len(one.svg))
        pictures = {
            id: [embedded_pictures.omit_picture(card, largest, TOO_LARGE) for card in cards]
            for id, cards in pictures.items()
        }
    return text


def plain(text: str) -> Markup:
    """As it stands, between tags: of ours only."""
    if "</script" in text.lower() or "<!--" in text or "</style" in text.lower():
        raise ValueError("what draws the page would end its own tag")
    return Markup(text)


def digest(text: str) -> str:
    return base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
