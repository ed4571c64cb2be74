"""How pages of heap profiles look: in light and dark, in wide and narrow windows; screenshots."""

import math
import operator
import re

import pytest
from conftest import NARROW, PAGES, WIDE
from playwright.sync_api import Page, expect

SHOTS = {
    "light": ("openssl.html", "", WIDE, "light"),
    "dark": ("openssl.html", "#phase=server+1&role=client&search=SSL_new", WIDE, "dark"),
    "grey": ("openssl.html", "", WIDE, "light"),
    "areas": ("by-hand.html", "", WIDE, "dark"),
    "flame": ("rustls.html", "#order=flame", WIDE, "light"),
    "narrow": ("rustls.html", "", NARROW, "light"),
    "diff": ("diff.html", "#phase=NEW", WIDE, "light"),
    "search-dark": ("openssl.html", "#search=x509", NARROW, "dark"),
    "diff-dark": ("diff.html", "#phase=change&role=client", WIDE, "dark"),
}
CONES = (
    (0.4122214708, 0.5363325363, 0.0514459929),
    (0.2119034982, 0.6806995451, 0.1073969566),
    (0.0883024619, 0.2817188376, 0.6299787005),
)
OKLAB = (
    (0.2104542553, 0.7936177850, -0.0040720468),
    (1.9779984951, -2.4285922050, 0.4505937099),
    (0.0259040371, 0.7827717662, -0.8086757660),
)
NAMED = """all => all.map((one) => {
  const [rect, label] = [one.querySelector("rect"), one.querySelector(".d3-flame-graph-label")];
  const [fill, { color, display }] = [getComputedStyle(rect).fill, getComputedStyle(label)];
  return { name: one.getAttribute("name"), fill, color, shown: display !== "none", text: label.textContent };
})"""


def drawn(page: Page) -> list[dict]:
    """The functions of the figure, once their names are there, which come after the rectangles."""
    last = page.locator("#figure .d3-flame-graph-label").filter(visible=True).last
    expect(last).not_to_be_empty()
    return page.locator("#figure g.frame").evaluate_all(NAMED)


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("name", ["openssl.html", "rustls.html", "diff.html", "by-hand.html"])
def test_text_stands_out_in_light_and_dark(opened, name, scheme):
    page = opened(name, "#search=SSL_new", scheme=scheme)
    behind = luminance(page.evaluate("getComputedStyle(document.body).backgroundColor"))
    for place in ("body", "#details"):
        text = luminance(page.locator(place).first.evaluate("one => getComputedStyle(one).color"))
        assert contrast(text, behind) > 4.5
    for one in drawn(page):
        assert contrast(luminance(one["color"]), luminance(one["fill"])) > 4.5, one


def test_buckets_have_the_colours_of_the_picture(opened):
    page = opened("openssl.html")
    found = {one["name"]: one["fill"] for one in drawn(page)}
    assert found["tls_setup_read_buffer"] == "rgb(86, 180, 233)"
    assert found["d2i_X509"] == "rgb(240, 228, 66)"


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("name", ["openssl.html", "diff.html", "by-hand.html"])
def test_what_is_found_has_a_colour_that_nothing_else_has(opened, name, scheme):
    """Far from those of buckets, areas and differences, and from the page's own in light and dark."""
    page = opened(name, "#search=new", scheme=scheme)
    fills = page.locator("#figure g.frame rect").evaluate_all(
        "all => all.map((one) => [one.getAttribute('fill') === 'var(--flames-hit)', getComputedStyle(one).fill])"
    )
    hits, others = ({fill for is_hit, fill in fills if is_hit is one} for one in (True, False))
    (hit,) = hits
    assert others and min(distance(hit, other) for other in others) > 0.15
    behind = page.evaluate("getComputedStyle(document.body).backgroundColor")
    assert contrast(luminance(hit), luminance(behind)) > 3


def test_colours_can_be_chosen(opened):
    page = opened("openssl.html", scheme="dark")
    toggle = page.locator("#theme")
    toggle.click()
    expect(toggle).to_have_text("colours: light")
    assert luminance(page.evaluate("getComputedStyle(document.body).backgroundColor")) > 0.9
    toggle.click()
    assert luminance(page.evaluate("getComputedStyle(document.body).backgroundColor")) < 0.1


def linear(colour: str) -> list[float]:
    """The parts of `rgb(r, g, b)`, and of `color(srgb r g b)`, where they are shares."""
    most = 1 if colour.startswith("color(srgb") else 255
    parts = [float(part) / most for part in re.findall(r"[\d.]+", colour)[:3]]
    return [part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts]


def luminance(colour: str) -> float:
    """Relative, as WCAG has it."""
    return sum(weight * part for weight, part in zip((0.2126, 0.7152, 0.0722), linear(colour), strict=True))


def distance(one: str, other: str) -> float:
    """How different two colours look: in Oklab, where black is 1 from white."""
    return math.dist(oklab(one), oklab(other))


def oklab(colour: str) -> list[float]:
    """As https://bottosson.github.io/posts/oklab has it."""
    cones = [sum(map(operator.mul, row, linear(colour))) ** (1 / 3) for row in CONES]
    return [sum(map(operator.mul, row, cones)) for row in OKLAB]


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
def test_functions_with_room_for_a_name_have_it(opened, shot):
    """And a screenshot, to be looked at."""
    page = opened(*SHOTS[shot])
    page.locator("#figure g.frame").nth(3).hover()
    expect(page.locator("#tip")).to_be_visible()
    shown = [one for one in drawn(page) if one["shown"]]
    assert len(shown) > 3 and all(one["text"].endswith(one["name"]) for one in shown)
    if shot == "grey":
        page.evaluate("document.documentElement.style.filter = 'grayscale(1)'")
    page.screenshot(path=PAGES / f"{shot}.png")
