"""How pages of heap profiles look: in light and dark, in wide and narrow windows; screenshots to be looked at."""

import re

import pytest
from conftest import NARROW, PAGES, WIDE
from playwright.sync_api import expect

SHOTS = {
    "light": ("openssl.html", "", WIDE, "light"),
    "dark": ("openssl.html", "#phase=server+1&role=client&search=SSL_new", WIDE, "dark"),
    "flame": ("rustls.html", "#order=flame", WIDE, "light"),
    "narrow": ("rustls.html", "", NARROW, "light"),
    "diff": ("diff.html", "#phase=NEW", WIDE, "light"),
    "diff-dark": ("diff.html", "#phase=change&role=client", WIDE, "dark"),
}


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_text_stands_out_in_light_and_dark(opened, scheme):
    page = opened("openssl.html", scheme=scheme)
    for place in ("body", "#details", ".d3-flame-graph-label"):
        text = luminance(page.locator(place).first.evaluate("one => getComputedStyle(one).color"))
        behind = luminance(page.evaluate("getComputedStyle(document.body).backgroundColor"))
        if place.startswith(".d3"):
            fills = page.locator("#figure rect").evaluate_all("all => all.map(one => getComputedStyle(one).fill)")
            assert min(contrast(text, luminance(fill)) for fill in fills) > 4.5
        else:
            assert contrast(text, behind) > 4.5
    toggle = page.locator("#theme")
    toggle.click()
    expect(toggle).to_have_text("colours: light")
    assert luminance(page.evaluate("getComputedStyle(document.body).backgroundColor")) > 0.9
    toggle.click()
    assert luminance(page.evaluate("getComputedStyle(document.body).backgroundColor")) < 0.1


def luminance(colour: str) -> float:
    """Relative, as WCAG has it, of `rgb(r, g, b)`."""
    parts = [int(part) / 255 for part in re.findall(r"\d+", colour)[:3]]
    linear = [part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts]
    return sum(weight * part for weight, part in zip((0.2126, 0.7152, 0.0722), linear, strict=True))


def contrast(one: float, other: float) -> float:
    return (max(one, other) + 0.05) / (min(one, other) + 0.05)


@pytest.mark.parametrize("size", [WIDE, NARROW, (800, 400)])
def test_a_page_is_never_wider_than_its_window(opened, size):
    for name in ("openssl.html", "diff.html", "by-hand.html"):
        page = opened(name, size=size)
        assert page.evaluate("document.documentElement.scrollWidth <= window.innerWidth")


def test_a_window_that_changes_is_filled_again(opened):
    page = opened("openssl.html")
    page.set_viewport_size({"width": NARROW[0], "height": NARROW[1]})
    page.wait_for_function("document.querySelector('#figure svg').getBoundingClientRect().width < 420")


@pytest.mark.parametrize("shot", SHOTS)
def test_screenshots_to_be_looked_at(opened, shot):
    page = opened(*SHOTS[shot])
    page.locator("#figure g.frame").nth(12).hover()
    page.wait_for_timeout(400)  # labels come after the rectangles
    page.screenshot(path=PAGES / f"{shot}.png")
