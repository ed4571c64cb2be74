"""Reports, opened in Debian's chromium by playwright."""

from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, Page, expect

from chromium import PAGES, Open, Watched, launched

WIDE, NARROW = (1280, 900), (390, 844)


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    with launched() as started:
        yield started


@pytest.fixture
def opened(browser: Browser) -> Iterator[Open]:
    """Opens a page; in the end nothing was complained of, and nothing was loaded but the page and what it carries."""
    watched = Watched(browser)

    def open_page(name: str = "report-small.html", size=WIDE, scheme: str = "light") -> Page:
        grants = ["clipboard-read", "clipboard-write"]
        page = watched.page(size, scheme, permissions=grants, accept_downloads=True)
        page.goto((PAGES / name).as_uri())
        expect(page.locator("h1")).to_be_visible()
        return page

    yield open_page
    watched.close()
    assert watched.said == []
    assert {url for url in watched.loaded() if not url.startswith("blob:")} <= {
        file.as_uri() for file in PAGES.glob("report*.html")
    }
