"""A section of the page, whoever makes it, and how the page takes it.

A maker is `section(recordings: Sequence[Recording]) -> Section | None`; None where there is nothing that it could say.
The page puts `<section id="{id}">` with the title as `<h2>` around `html`, then each picture and each table in a card
of its own, a row into the table of contents, `data` into `<script type="application/json" id="data-{id}">`, and
`packed` into a payload, which stands in the page or in a file beside it.
Every id within `html` begins with the section's, and no element has a handler of its own: the policy forbids it, and
all that is loaded from elsewhere.

`styles` are put into the page's one style sheet after page.css, whose variables (--paper, --panel, --ink, --quiet,
--line, --chosen, ...) are light or dark by themselves. `scripts` run once the page is there, in the order of sections,
each text once however many sections have it, as the body of a function that is given `report` (assets/page.js):

    report.data("phases")            what `data` holds; parsed when first asked for
    report.unpacked("phases")        a promise of what `packed` holds
    report.section("phases")         its element
    report.say("3 rows are shown")   to a screen reader, in the page's live region
    report.copy(text, button)        to the clipboard; the button says so

Pictures and tables are also what `--format` writes: Markdown and CSV, PNG and SVG, of the same data."""

import re
from collections.abc import Callable, Iterable
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import NamedTuple

from markupsafe import Markup
from matplotlib.figure import Figure

from tlsmem.base.cache_file import DEFINITIONS, digest_code
from tlsmem.base.paths import PACKAGE, ROOT
from tlsmem.tables.table import Table

ASSETS = PACKAGE / "report/assets"
ASSET_ENDINGS = (".js", ".css", ".html", ".jinja", ".json", ".toml")
PUBLISHED = ROOT / "data/published"
BACKTICKED = re.compile(r"`([^`]+)`")


class ShownTable(NamedTuple):
    """A table; its name is unique in a report, and becomes that of a file."""

    table: Table
    command: str  # that makes it again
    group: str | None = None  # tables of one group stand in one card, with a switch between them
    label: str = ""  # of its button in that switch

    def name_recording(self, name: str) -> "ShownTable":
        """Return it as one of the same table of several recordings, which stand in one card."""
        table = replace(self.table, name=f"{self.table.name}-{name}", title=f"{self.table.title}: {name}")
        return ShownTable(table, self.command, self.group or self.table.name, name)


class Picture(NamedTuple):
    name: str  # of a file, without its ending
    title: str
    says: str  # what there is to see: for who does not see it
    command: str
    draw: Callable[[], Figure]  # drawn once; ValueError with a sentence where it cannot be, which stands in its place
    group: str | None = None  # as of tables: its title is the group's, where there are several
    label: str = ""


class Section(NamedTuple):
    id: str
    title: str
    html: Markup = Markup()
    data: dict[str, object] | None = None  # small: stands in the page as it is
    packed: str | None = None  # what pack_json of packed_json.py made of data
    whole: Callable[[], str] | None = None  # the same with all that a page in one file has no room for
    scripts: tuple[str, ...] = ()
    styles: tuple[str, ...] = ()
    pictures: Iterable[Picture] = ()  # gone through once, and only where pictures are wanted
    files: tuple[Picture, ...] = ()  # what its script draws at first, for --format files alone
    tables: tuple[ShownTable, ...] = ()


def digest_sources() -> bytes:
    """Return a digest of all that decides a page or a picture in it, beside recordings."""
    return digest_code(("**/*.py",), list_sources())


@cache
def list_sources() -> tuple[Path, ...]:
    """Return what modules write into pages, certificates and published figures: all that a page reads beside modules,
    definitions and recordings."""
    assets = [file for ending in ASSET_ENDINGS for file in PACKAGE.rglob(f"*{ending}")]
    certificates = DEFINITIONS.glob("certs/*/*.pem")
    return tuple(sorted([*assets, *certificates, *PUBLISHED.glob("*.csv")]))


def read_asset(name: str) -> str:
    """A style, a script or a piece of HTML that lies beside this file."""
    return (ASSETS / name).read_text(encoding="utf-8")


def mark_code(text: str) -> Markup:
    """What stands between backticks, as code."""
    plain, *others = BACKTICKED.split(text)
    pairs = zip(others[::2], others[1::2], strict=True)
    return Markup("{}").format(plain) + Markup("").join(Markup("<code>{}</code>{}").format(*pair) for pair in pairs)


def identifier(name: str) -> str:
    """Of an element or a file; recordings are called as anybody likes."""
    return re.sub(r"[^\w-]", "-", name, flags=re.ASCII)
