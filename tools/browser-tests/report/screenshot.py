#!/usr/bin/env python3
"""A picture of a page from ID on: `screenshot.py FILE.html FILE.png [ID [light|dark [WIDTH [HEIGHT]]]]`."""

import os
import sys
from pathlib import Path

from playwright.sync_api import sync_playwright


def main() -> None:
    defaults = ("main", "light", "1280", "960")
    page_file, picture, place, scheme, width, height = (*sys.argv[1:], *defaults[len(sys.argv) - 3 :])
    with sync_playwright() as playwright:
        root = ["--no-sandbox"] if os.geteuid() == 0 else []  # chromium has no sandbox for root
        browser = playwright.chromium.launch(executable_path="/usr/bin/chromium", args=root)
        page = browser.new_page(viewport={"width": int(width), "height": int(height)}, color_scheme=scheme)
        page.goto(Path(page_file).resolve().as_uri())
        page.locator(f"#{place}").evaluate("one => one.scrollIntoView()")
        page.wait_for_timeout(1500)  # pictures are inflated when they come into sight
        page.screenshot(path=picture)
        browser.close()


if __name__ == "__main__":
    main()
