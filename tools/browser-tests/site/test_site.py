"""The site that `make docs` built, in Debian's chromium: its search, by keyboard and on a phone, and its looks."""

import threading
from collections.abc import Callable, Iterator
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, expect

from chromium import Watched, launched

SITE = Path(__file__).resolve().parents[3] / "build/docs"
WIDE, NARROW = (1280, 900), (390, 844)
PAGES = ["index.html", "findings/openssl.html", "reference/results.html", "questions.html", "search.html?q=nginx"]
RESULT = ".pf-result-link"

pytestmark = pytest.mark.skipif(not (SITE / "pagefind").is_dir(), reason="no site: make docs builds it")

Open = Callable[..., Page]


class Quiet(SimpleHTTPRequestHandler):
    def log_message(self, format: str, *args: object) -> None:
        pass


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    with launched() as started:
        yield started


@pytest.fixture(scope="session")
def address() -> Iterator[str]:
    with ThreadingHTTPServer(("127.0.0.1", 0), partial(Quiet, directory=SITE)) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}/"
        server.shutdown()


@pytest.fixture
def opened(browser: Browser, address: str) -> Iterator[Open]:
    """Opens a page; in the end nothing was complained of, and nothing was loaded from elsewhere."""
    watched = Watched(browser)

    def open_page(name: str, size: tuple[int, int] = WIDE, scheme: str = "light") -> Page:
        page = watched.page(size, scheme)
        page.route("**/favicon.ico", lambda route: route.fulfill(status=204))  # chromium asks for it once
        page.goto(address + name)
        return page

    yield open_page
    watched.close()
    assert watched.said == []
    assert all(url.startswith((address, "data:", "blob:")) for url in watched.loaded())


def test_the_keyboard_leads_from_any_page_to_a_section_and_back(opened):
    page = opened("findings/openssl.html")
    page.keyboard.press("/")
    page.keyboard.type("mTLS")
    page.keyboard.press("Enter")
    expect(page.locator(RESULT).first).to_have_text("What does mTLS add?")
    page.keyboard.press("ArrowDown")
    page.keyboard.press("Enter")
    page.wait_for_url("**/questions.html#what-does-mtls-add")
    expect(page.get_by_role("heading", name="What does mTLS add?")).to_be_in_viewport()
    page.go_back()
    expect(page.locator(RESULT).first).to_have_text("What does mTLS add?")


def test_results_follow_what_is_typed_and_so_does_the_address(opened):
    page = opened("search.html")
    page.locator("pagefind-input input").fill("low memory")
    expect(page.locator(RESULT).first).to_have_text("Which library costs least with its low-memory option?")
    page.wait_for_url("**/search.html?q=low+memory")


def test_a_phone_searches_on_the_start_page(opened):
    page = opened("index.html", NARROW)
    page.locator(".start-search-field").fill("RELEASE_BUFFERS")
    page.keyboard.press("Enter")
    first = page.locator(RESULT).first
    expect(first).to_contain_text("SSL_MODE_RELEASE_BUFFERS lowers RSS")
    assert first.get_attribute("href").startswith("./findings/openssl.html#ssl-mode-release-buffers")


def test_from_a_file_the_search_lists_pages_and_says_how_to_find_sections(browser):
    page = browser.new_page()
    page.goto(f"{SITE.as_uri()}/search.html?q=mTLS")
    expect(page.get_by_text("From a web server, the search finds sections")).to_be_visible()
    expect(page.locator("#search-results a").first).to_be_visible()
    page.close()


@pytest.mark.parametrize("name", PAGES)
@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("size", [WIDE, NARROW], ids=["wide", "narrow"])
def test_no_page_is_wider_than_the_window(opened, name, size, scheme):
    page = opened(name, size, scheme)
    expect(page.locator("h1").first).to_be_visible()
    assert page.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth") == 0


def test_pictures_are_dark_in_the_dark_theme(opened):
    for scheme, kept in (("light", "none"), ("dark", "invert(0.92) hue-rotate(180deg)")):
        picture = opened("index.html", scheme=scheme).locator("article img").first
        assert picture.evaluate("one => getComputedStyle(one).filter") == kept
