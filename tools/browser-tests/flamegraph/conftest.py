"""Pages, opened in Debian's chromium by playwright."""

from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, Page, expect

from chromium import PAGES, Open, Watched, launched

WIDE, NARROW = (1400, 900), (420, 860)


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    with launched() as started:
        yield started


@pytest.fixture
def opened(browser: Browser) -> Iterator[Open]:
    """Opens a page; in the end nothing was complained of, and nothing was loaded but the page."""
    watched = Watched(browser)

    def open_page(name: str, fragment: str = "", size=WIDE, scheme: str = "light") -> Page:
        page = watched.page(size, scheme)
        page.goto(f"{(PAGES / name).as_uri()}{fragment}")
        expect(page.locator("#figure g.frame").first).to_be_visible()
        return page

    yield open_page
    watched.close()
    assert watched.said == []
    assert watched.loaded() <= {file.as_uri() for file in PAGES.glob("*.html")}
