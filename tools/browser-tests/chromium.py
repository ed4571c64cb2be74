"""Debian's chromium for tests of pages, by playwright, which build/pages-venv has; and what pages did meanwhile."""

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from playwright.sync_api import Browser, Page, expect, sync_playwright

PAGES = Path(__file__).resolve().parents[2] / "build/pages"

Open = Callable[..., Page]
expect.set_options(timeout=30_000)  # of what is to be seen: a busy machine needs more than the usual five seconds


@contextmanager
def launched() -> Iterator[Browser]:
    with sync_playwright() as playwright:
        root = ["--no-sandbox"] if os.geteuid() == 0 else []  # chromium has no sandbox for root
        started = playwright.chromium.launch(executable_path="/usr/bin/chromium", args=root)
        yield started
        started.close()


class Watched:
    """Pages, each in a context of its own: what they complained of, and what they loaded."""

    def __init__(self, browser: Browser) -> None:
        self.browser, self.said, self.asked, self.contexts = browser, [], [], []

    def page(self, size: tuple[int, int], scheme: str, **context: object) -> Page:
        width, height = size
        made = self.browser.new_context(viewport={"width": width, "height": height}, color_scheme=scheme, **context)
        self.contexts.append(made)
        page = made.new_page()
        page.on("console", lambda message: self.said.append(message.text))
        page.on("pageerror", lambda error: self.said.append(str(error)))
        page.on("request", lambda request: self.asked.append(request.url))
        return page

    def loaded(self) -> set[str]:
        """Without fragments."""
        return {url.partition("#")[0] for url in self.asked}

    def close(self) -> None:
        for context in self.contexts:
            context.close()
