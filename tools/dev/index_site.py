#!/usr/bin/env python3
"""Index the sections of the site that Sphinx built, for its search: `index_site.py build/docs`.

pagefind ranks what it takes for pages. It is given each section as a page of its own, so that a search leads to the
section, and so that the words of a heading count for that section alone. Needs the Python of build/docs-venv."""

import argparse
import re
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from tlsmem.base.errors import UserError
from tlsmem.cli.main import run

if TYPE_CHECKING:  # --help needs no package
    from bs4 import Tag

HEADING = re.compile("h[1-6]")
NOT_INDEXED = ".headerlink, .toctree-wrapper, script, style"
DEFINITIONS = "reference/glossary.html"
WEIGHTS = {  # pages that repeat what another page says, list all there is, or are of a special case come after it
    "findings/configuration.html": 0.7,
    "findings/index.html": 0.3,
    "how-to/library.html": 0.7,
    "reference/commands/": 0.5,
    "reference/options.html": 0.3,
    "reference/results.html": 0.6,
    "release-checklist.html": 0.3,
    "slides/": 0.5,
}


class Section(NamedTuple):
    url: str  # from the root of the site, with the fragment of the section
    page: str  # the title of its page; "" if the section is the beginning of the page
    title: str
    html: str  # without the title
    weight: float
    is_definition: bool = False


def split_page(url: str, html: str) -> Iterator[Section]:
    """Yield the sections of a page, each without those inside it, and the definitions of the glossary."""
    from bs4 import BeautifulSoup

    article = BeautifulSoup(html, "html.parser").select_one("article[role=main]")
    if article is None:  # the report has none
        return
    for unwanted in article.select(NOT_INDEXED):
        unwanted.decompose()
    found = [(one, heading) for one in article.select("section[id]") if (heading := one.find(HEADING, recursive=False))]
    if not found:
        return
    page = found[0][1].get_text()
    weight = next((weight for place, weight in WEIGHTS.items() if url.startswith(place)), 1)
    for section, heading in reversed(found):  # the innermost first: each takes its text out of the one around it
        title = heading.extract().get_text()
        section.extract()
        is_first = section is found[0][0]
        place = url if is_first else f"{url}#{section['id']}"
        yield Section(place, "" if is_first else page, title, str(section), weight)
        if url == DEFINITIONS:
            yield from find_definitions(place, page, section)


def find_definitions(url: str, page: str, section: "Tag") -> Iterator[Section]:
    """Yield the rows of a table whose first cell is a term: people look up the term, not the heading above."""
    for row in section.select("tr"):
        cells = row.select("td")
        if len(cells) > 1 and (term := cells[0].select_one("strong, code")):
            for title in term.get_text().split(", "):  # at rest, in use
                yield Section(url, page, title, cells[1].decode_contents(), 1, is_definition=True)


def name_ends(text: str) -> str:
    """Return the ends of identifiers: RELEASE_BUFFERS finds SSL_MODE_RELEASE_BUFFERS, a single word for pagefind."""
    names = dict.fromkeys(re.findall(r"\b[A-Z]\w*_\w+", text))
    return " ".join(name[at.end() :] for name in names for at in re.finditer("_(?=.)", name))


def write_section(section: Section, file: Path) -> None:
    """Write a page that pagefind reads. It searches the meta data, too: docs/_templates/search.html weighs them."""
    from bs4 import BeautifulSoup

    text = BeautifulSoup(section.html, "html.parser").get_text(" ")
    meta = {
        "title": section.title,
        "url": section.url,
        "page": section.page,
        "term": section.title if section.is_definition else "",
        "names": name_ends(text),
        "names_of_title": name_ends(section.title),
    }
    told = "".join(
        f'<meta data-pagefind-meta="{name}[content]" content="{escape(text)}">' for name, text in meta.items() if text
    )
    body = f'<div data-pagefind-weight="{section.weight}">{section.html}</div>'
    file.write_text(f'<!doctype html><html lang="en"><head></head><body>{told}{body}</body></html>')


def main() -> int:
    """Index the site."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("site", type=Path, metavar="DIRECTORY", help="the site, as Sphinx built it")
    site: Path = parser.parse_args().site
    sections: list[Section] = []
    for file in sorted(site.rglob("*.html")):
        sections += split_page(file.relative_to(site).as_posix(), file.read_text())
    with tempfile.TemporaryDirectory() as folder:
        for number, section in enumerate(sections):
            write_section(section, Path(folder, f"{number}.html"))
        command = [sys.executable, "-m", "pagefind", "--site", folder, "--output-path", str(site / "pagefind")]
        done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    if done.returncode:
        raise UserError(f"docs: pagefind failed:\n{done.stdout}")
    print(f"docs: the search finds {len(sections):,} sections")
    return 0


if __name__ == "__main__":
    run(main)
