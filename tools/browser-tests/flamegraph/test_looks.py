"""How pages of heap profiles look: in light and dark, in wide and narrow windows; screenshots."""

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
    "diff-dark": ("diff.html", "#phase=change&role=client", WIDE, "dark"),
}
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


def test_colours_can_be_chosen(opened):
    page = opened("openssl.html", scheme="dark")
    toggle = page.locator("#theme")
    toggle.click()
    expect(toggle).to_have_text("colours: light")
    assert luminance(page.evaluate("getComputedStyle(document.body).backgroundColor")) > 0.9
    toggle.click()
    assert luminance(page.evaluate("getComputedStyle(document.body).backgroundColor")) < 0.1


def luminance(colour: str) -> float:
    """Relative, as WCAG has it, of `rgb(r, g, b)`, and of `color(srgb r g b)`, where they are shares."""
    most = 1 if colour.startswith("color(srgb") else 255
    parts = [float(part) / most for part in re.findall(r"[\d.]+", colour)[:3]]
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
