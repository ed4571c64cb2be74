#!/usr/bin/env python3
"""Check the site that `make docs` built: `check_site.py build/docs`.

It is served on loopback below a path, as GitHub Pages serves that of a project. Every link leads
somewhere inside the site and needs no path of its host, no file is a link or too large to publish, and the search
finds the sections that SEARCHES names."""

import argparse
import json
import subprocess
import sys
import threading
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from html.parser import HTMLParser
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import NamedTuple
from urllib.parse import urldefrag, urljoin, urlsplit

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from tlsmem.base.errors import UserError
from tlsmem.cli.main import run

LIMIT_BYTES = 1 << 30  # of a site of GitHub Pages
REPORT = "report/"  # its script makes the places that its links lead to
SEARCHES = {  # the first result of each is this section
    "in use": "reference/glossary.html#memory",
    "low memory": "questions.html#which-library-costs-least-with-its-low-memory-option",
    "mTLS": "questions.html#what-does-mtls-add",
    "nginx": "findings/live.html#",
    "RELEASE_BUFFERS": "findings/openssl.html#ssl-mode-release-buffers",
    "haproxy maxconn": "how-to/plan.html#haproxy-s-two-constants",
    "kernel memory": "how-to/plan.html#kernel-memory",
    "leak": "questions.html#my-server-grows-is-it-a-leak",
}


class Page(HTMLParser):
    """What a page links to, and the places in it that a link can lead to."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.links: list[str] = []
        self.places: set[str] = set()
        self.ranking = ""
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        found = {name: value or "" for name, value in attrs}
        self.links += [found[name] for name in ("href", "src") if found.get(name)]
        self.places |= {found[name] for name in ("id", "name") if name in found}
        self.ranking = found.get("data-ranking", self.ranking)


class Visit(NamedTuple):
    pages: dict[str, Page]  # by address
    faults: list[str]


class Quiet(SimpleHTTPRequestHandler):
    def log_message(self, format: str, *args: object) -> None:
        pass


@contextmanager
def served(site: Path) -> Iterator[str]:
    """Serve a site on loopback, and give its address, which has a path as that of a project has on GitHub Pages."""
    with TemporaryDirectory() as folder:
        Path(folder, "tls-memtest").symlink_to(site.resolve())
        with ThreadingHTTPServer(("127.0.0.1", 0), partial(Quiet, directory=folder)) as server:
            threading.Thread(target=server.serve_forever, daemon=True).start()
            yield f"http://127.0.0.1:{server.server_port}/tls-memtest/"
            server.shutdown()


def find_unfit_files(site: Path) -> list[str]:
    """Name what GitHub Pages would not take."""
    files = list(site.rglob("*"))
    faults = [f"{file.relative_to(site)}: a symbolic link" for file in files if file.is_symlink()]
    size = sum(file.stat().st_size for file in files if file.is_file())
    return faults + [f"the site has {size:,} B, and the limit is {LIMIT_BYTES:,} B"] * (size >= LIMIT_BYTES)


def visit_site(address: str) -> Visit:
    """Follow all links from the start page on."""
    pages: dict[str, Page] = {}
    faults: list[str] = []
    start = urljoin(address, "index.html")
    seen, waiting = {start}, [(start, "the start page")]
    wanted: list[tuple[str, str, str]] = []  # page, place in it, page that links to it
    while waiting:
        url, origin = waiting.pop()
        try:
            with urllib.request.urlopen(url, timeout=30) as answer:
                is_page, text = answer.headers.get_content_type() == "text/html", answer.read()
        except urllib.error.URLError as error:
            faults.append(f"{origin}: {url.removeprefix(address)}: {error.reason}")
            continue
        if not is_page:
            continue
        page = pages[url] = Page(text.decode())
        here = url.removeprefix(address)
        for link in page.links:
            if urlsplit(link).scheme in ("http", "https", "mailto", "data") or link.startswith("//"):
                if "127.0.0.1" in link or "localhost" in link:
                    faults.append(f"{here}: {link}: an address of this machine")
                continue
            target, place = urldefrag(urljoin(url, link))
            if link.startswith("/") or not target.startswith(address):
                faults.append(f"{here}: {link}: leads out of the site")
                continue
            wanted += [(target, place, here)] * bool(place)
            if target not in seen:
                seen.add(target)
                waiting.append((target, here))
    faults += [
        f"{origin}: {url.removeprefix(address)} has no place #{place}"
        for url, place, origin in wanted
        if url in pages and place not in pages[url].places and not url.startswith(address + REPORT)
    ]
    return Visit(pages, faults)


def find_search_faults(address: str, pages: dict[str, Page]) -> list[str]:
    """Search for what SEARCHES has, as a browser does. Raises UserError if the search does not run."""
    from tlsmem.explore.flamegraph.page_scripts import find_node  # --help needs no package

    ranking = pages[urljoin(address, "search.html")].ranking
    script = Path(__file__).with_name("search_site.mjs")
    done = subprocess.run(
        [find_node() / "node", script, address, ranking, *SEARCHES], capture_output=True, text=True, timeout=120
    )
    if done.returncode:
        raise UserError(f"docs: the search does not run: {done.stderr.strip()}")
    return find_result_faults(address, pages, json.loads(done.stdout))


def find_result_faults(address: str, pages: dict[str, Page], found: dict[str, list[str]]) -> list[str]:
    """Name the first results that are not those of SEARCHES, and the results that lead nowhere."""
    faults = []
    for query, urls in found.items():
        if not (urls and urls[0].startswith(SEARCHES[query])):
            faults.append(f"search: {query}: {', '.join(urls) or 'nothing'} is found, not first {SEARCHES[query]}")
        for url in urls:
            page, place = urldefrag(urljoin(address, url))
            if page not in pages or (place and place not in pages[page].places):
                faults.append(f"search: {query}: {url} is no place of the site")
    return faults


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("site", type=Path)
    given = parser.parse_args()
    if not (given.site / "index.html").is_file():
        raise UserError(f"{given.site}: no site; `make docs` builds it into build/docs", 2)
    with served(given.site) as address:
        visit = visit_site(address)
        faults = find_unfit_files(given.site) + visit.faults
        faults += find_search_faults(address, visit.pages)
    for fault in dict.fromkeys(faults):
        print(f"docs: {fault}", file=sys.stderr)
    if faults:
        raise UserError(f"docs: {len(dict.fromkeys(faults))} faults of the site, named above")
    print(f"docs: {len(visit.pages)} pages, all links lead somewhere, {len(SEARCHES)} searches find their section")


if __name__ == "__main__":
    run(main)
