"""Reports, opened in Debian's chromium by playwright."""

import os
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, expect, sync_playwright

PAGES = Path(__file__).resolve().parents[3] / "build/pages"
WIDE, NARROW = (1280, 900), (390, 844)

Open = Callable[..., Page]


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    with sync_playwright() as playwright:
        root = ["--no-sandbox"] if os.geteuid() == 0 else []  # chromium has no sandbox for root
        started = playwright.chromium.launch(executable_path="/usr/bin/chromium", args=root)
        yield started
        started.close()


@pytest.fixture
def opened(browser: Browser) -> Iterator[Open]:
    """Opens a page; in the end nothing was complained of, and nothing was loaded but the page and what it carries."""
    said, asked, contexts = [], [], []

    def open_page(name: str = "report-small.html", size=WIDE, scheme: str = "light") -> Page:
        width, height = size
        grants = ["clipboard-read", "clipboard-write"]
        context = browser.new_context(
            viewport={"width": width, "height": height}, color_scheme=scheme, permissions=grants, accept_downloads=True
        )
        contexts.append(context)
        page = context.new_page()
        page.on("console", lambda message: said.append(message.text))
        page.on("pageerror", lambda error: said.append(str(error)))
        page.on("request", lambda request: asked.append(request.url))
        page.goto((PAGES / name).as_uri())
        expect(page.locator("h1")).to_be_visible()
        return page

    yield open_page
    for context in contexts:
        context.close()
    assert said == []
    assert {url.partition("#")[0] for url in asked if not url.startswith("blob:")} <= {
        file.as_uri() for file in PAGES.glob("report*.html")
    }
