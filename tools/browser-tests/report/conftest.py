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
        file, _, fragment = name.partition("#")
        page.goto((PAGES / file).as_uri() + (f"#{fragment}" if fragment else ""))
        expect(page.locator("h1")).to_be_visible()
        if not fragment:
            show_tables(page)
        return page

    yield open_page
    watched.close()
    assert watched.said == []
    assert {url for url in watched.loaded() if not url.startswith("blob:")} <= {
        file.as_uri() for pattern in ("report*.html", "report-files/**/*") for file in PAGES.glob(pattern)
    }


def show_tables(page: Page) -> None:
    """Have the first table drawn, and be at the top again."""
    page.locator("#card-cost").scroll_into_view_if_needed()
    expect(page.locator("#table-cost-heap tbody tr").first).to_be_visible()
    page.evaluate("scrollTo(0, 0)")
