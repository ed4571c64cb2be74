#!/usr/bin/env python3
"""How heavy a report is, and how long it takes in Debian's chromium.

Bytes, nodes once it has loaded, and medians over REPEATS of the time until it is interactive and of a keystroke in the
filter of its largest table: from the key to the next frame. Nothing is recorded."""

from __future__ import annotations

import argparse
import statistics
import sys
from pathlib import Path
from typing import TYPE_CHECKING

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "browser-tests"))

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

REPEATS = 5
LIMITS = {"bytes": 2_000_000, "nodes": 10_000, "interactive": 1_500, "keystroke": 50}
INTERACTIVE = "performance.getEntriesByType('navigation')[0].domInteractive"
NODES = "document.querySelectorAll('*').length"
KEYSTROKE = """async (input, letter) => {
  const frame = () => new Promise((done) => requestAnimationFrame(() => setTimeout(done)));
  await frame();
  const began = performance.now();
  input.value += letter;
  input.dispatchEvent(new Event("input"));
  await frame();
  return performance.now() - began;
}"""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("report", nargs="?", default="report.html", type=Path, help="a page of make report")
    file = parser.parse_args().report.resolve()
    from chromium import launched  # of the environment of browser tests

    if not file.is_file():
        sys.exit(f"bench-page: {file}: there is no such page; make report writes one")
    with launched() as browser:
        runs = [measure(browser, file) for _ in range(REPEATS)]
    found = {"bytes": file.stat().st_size} | {key: statistics.median(run[key] for run in runs) for key in runs[0]}
    for key, value in found.items():
        unit = "ms" if key in ("interactive", "keystroke") else ""
        print(f"{key:<12}{value:>12,.0f} {unit:<3} limit {LIMITS[key]:,} {unit}".rstrip())


def measure(browser: Browser, file: Path) -> dict[str, float]:
    """Open the page anew: nodes and times in ms."""
    page = browser.new_page(viewport={"width": 1280, "height": 900})
    page.goto(file.as_uri(), wait_until="load")
    page.locator("#answer-number strong").wait_for()
    found = {"nodes": page.evaluate(NODES), "interactive": page.evaluate(INTERACTIVE)}
    found["keystroke"] = measure_keystroke(page)
    page.close()
    return found


def measure_keystroke(page: Page) -> float:
    page.locator("#card-cost").scroll_into_view_if_needed()
    page.locator("#card-cost tbody tr").first.wait_for()
    field = page.locator("#card-cost input[type=search]")
    return statistics.median(field.evaluate(KEYSTROKE, letter) for letter in "openssl")


if __name__ == "__main__":
    main()
