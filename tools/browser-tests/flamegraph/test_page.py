"""Pages of heap profiles in a browser: Debian's chromium, driven by playwright. `make check-pages` runs it."""

import re
from urllib.parse import parse_qs

import pytest
from conftest import PAGES
from playwright.sync_api import Page, expect

MOST = 2_000_000


def labels(page: Page) -> list[str]:
    return page.locator("#figure g.frame").evaluate_all("all => all.map(one => one.getAttribute('name'))")


def frame(page: Page, name: str):
    return page.locator("#figure").locator(f'g.frame[name="{name}"]').first


def phase(page: Page, name: str):
    return page.locator("#phases button").filter(has_text=re.compile(rf"^{name}"))


@pytest.mark.parametrize("name", ["openssl.html", "rustls.html", "diff.html", "by-hand.html"])
def test_pages_load_and_are_small(opened, name):
    assert (PAGES / name).stat().st_size < MOST
    assert len(labels(opened(name))) > 3


def test_another_phase_is_another_figure(opened):
    page = opened("openssl.html")
    before = labels(page)
    expect(page.locator("#details")).to_contain_text("84,878 B in 242 blocks")
    phase(page, "server 1").click()
    expect(page.locator("#details")).to_contain_text("148,294 B")
    assert labels(page) != before
    assert page.url.endswith("&phase=server+1")


def test_the_strip_leaves_out_peaks_that_equal_the_end_of_their_phase(opened):
    page = opened("both-peaks.html")
    names = page.locator("#phases button").filter(visible=True).locator(".name").all_inner_texts()
    assert [name for name in names if "peak" in name] == ["peak of client 1"]
    phase(page, "server 1").click()
    page.keyboard.press("ArrowLeft")  # over the peak that is not shown
    assert page.url.endswith("&phase=client+1")
    page = opened("both-peaks.html", "#phase=peak+of+client+2")  # chosen by an address
    expect(phase(page, "peak of client 2")).to_be_visible()


def test_a_role_is_a_part_of_the_figure(opened):
    page = opened("openssl.html")
    page.get_by_role("button", name="client", exact=True).click()
    expect(page.locator("#details")).to_contain_text("47,592 B in 194 blocks per client session")
    assert "client_handshake" in labels(page) and "server_handshake" not in labels(page)
    expect(phase(page, "established")).to_contain_text("47,592 B")
    page.get_by_role("button", name="server", exact=True).click()
    expect(page.locator("#details")).to_contain_text("37,286 B in 48 blocks per server session")


def test_search_finds_a_function_and_says_its_bytes(opened):
    page = opened("openssl.html", "#role=client")
    page.keyboard.press("/")
    page.keyboard.type("ssl_new$")
    expect(page.locator("#found")).to_have_text("1 found: 6,468 B, 13.6 %, 6,468 B per client session")
    assert frame(page, "SSL_new").locator("rect").get_attribute("fill") == "var(--flames-hit)"
    page.keyboard.press("Escape")
    expect(page.locator("#found")).to_be_empty()
    page.locator("#search").fill("no such (")
    expect(page.locator("#found")).to_have_text("nothing found here")


def test_the_tooltip_says_what_a_session_holds(opened):
    page = opened("by-hand.html")
    frame(page, "SSL_new").hover()
    tip = page.locator("#tip")
    expect(tip).to_contain_text("it/SSL_.c:3 · it")
    expect(tip).to_contain_text("700 B in 20 blocks")
    expect(tip).to_contain_text("70 B in 2 blocks per server session")
    expect(tip).to_contain_text("30.4 % of what is shown")
    frame(page, "client_session_new").hover()
    expect(tip).to_contain_text("50 B in 1 block per client session, above contexts")
    frame(page, "CTX_new").hover()
    expect(tip).to_contain_text("1,000 B in 4 blocks")
    expect(tip).not_to_contain_text("per ")
    expect(page.locator("#details")).to_contain_text("CTX_new")


def test_what_is_no_session_s_has_no_figure_per_session(opened):
    page = opened("by-hand.html")
    details = page.locator("#details")
    expect(details).to_contain_text("2,300 B in 36 blocks · 120 B in 3 blocks per pair, above contexts")
    phase(page, "closed").click()
    expect(details).to_contain_text("1,008 B in 5 blocks · 0 B in 0 blocks per pair, above contexts")
    for name, said in {"freed": "95 B in 2 blocks", "end": "3 B in 1 block", "contexts": "1,008 B in 5 blocks"}.items():
        phase(page, name).click()
        expect(details).to_contain_text(f"· {said}")
        assert "per " not in details.inner_text() and "−" not in details.inner_text()
    phase(page, "freed").click()
    frame(page, "client_session_new").hover()
    expect(page.locator("#tip")).to_contain_text("3 B in 1 block")
    expect(page.locator("#tip")).not_to_contain_text("per ")


def test_at_the_peak_it_is_said_why_figures_are_fractions(opened):
    page = opened("by-hand.html", "#phase=peak")
    words = "the peak falls within a step: not all sessions are equal then"
    expect(page.locator("#details")).to_contain_text(words)
    phase(page, "established").click()
    expect(page.locator("#details")).not_to_contain_text(words)


def test_names_are_never_read_as_html(opened):
    page = opened("by-hand.html")
    assert "taken" not in page.title().replace('"taken"', "")
    expect(page.locator("h1")).to_contain_text("<b>&amp;")
    page.locator("#search").fill("document")
    expect(page.locator("#found")).to_contain_text("1 found: 508 B")
    assert page.locator("#figure b, h1 b").count() == 0


def test_a_click_shows_one_function_alone(opened):
    page = opened("openssl.html")
    frame(page, "client_session_new").click()
    expect(page.locator("#reset")).to_be_visible()
    expect(page.locator("#details")).to_contain_text("client_session_new")
    assert "server_handshake" not in labels(page)
    phase(page, "server 1").click()
    expect(page.locator("#details")).to_contain_text("client_session_new")
    assert "server_handshake" not in labels(page)
    page.locator("#reset").click()
    assert "server_handshake" in labels(page)


def test_arrows_go_from_phase_to_phase(opened):
    page = opened("openssl.html")
    page.keyboard.press("ArrowRight")
    expect(phase(page, "1 KiB sent")).to_have_attribute("aria-pressed", "true")
    page.keyboard.press("ArrowLeft")
    page.keyboard.press("ArrowLeft")
    expect(phase(page, "server 2")).to_have_attribute("aria-pressed", "true")
    for _ in range(30):
        page.keyboard.press("ArrowRight")
    expect(phase(page, "freed")).to_have_attribute("aria-pressed", "true")
    expect(page.locator("#figure")).to_have_text("Nothing is live here at freed.")


def test_an_address_says_all_that_is_chosen(opened):
    page = opened("openssl.html", "#phase=server+1&role=client&search=SSL_new&order=flame&theme=dark")
    expect(phase(page, "server 1")).to_have_attribute("aria-pressed", "true")
    expect(page.locator("#details")).to_contain_text("81,056 B in 39 blocks per client session")
    expect(page.locator("#search")).to_have_value("SSL_new")
    expect(page.locator("#found")).to_contain_text("6,468 B")
    expect(page.locator("#order")).to_have_text("view: flame")
    expect(page.locator("html")).to_have_attribute("data-theme", "dark")
    page.evaluate("location.hash = '#phase=idle'")
    expect(phase(page, "idle")).to_have_attribute("aria-pressed", "true")
    expect(page.locator("#search")).to_have_value("")
    page.evaluate("location.hash = '#phase=none&role=nobody&zoom=-3&order=up&theme=pink'")
    expect(phase(page, "established")).to_have_attribute("aria-pressed", "true")


def test_a_link_opens_the_same_function_in_the_page_of_a_newer_recording(opened):
    """It names stack, suite, moment, role and functions, and nothing that the next recording numbers otherwise."""
    page = opened("openssl.html", "#phase=server+1&role=server")
    frame(page, "tls_post_process_client_hello").click()
    link = page.evaluate("location.hash")
    asked = parse_qs(link[1:])
    assert asked["stack"] + asked["suite"] + asked["phase"] == ["openssl@3.5.5", "tls13-rsa-aes256", "server 1"]
    assert asked["frame"][0].split(";")[:2] == ["server", "server_handshake"] and len(asked) == 5
    for name, note in {"newer.html": "", "release.html": "openssl@3.5.5, this page of openssl@4.0.3"}.items():
        other = opened(name, link)
        expect(other.locator("#details b")).to_have_text("tls_post_process_client_hello")
        expect(phase(other, "server 1")).to_have_attribute("aria-pressed", "true")
        expect(other.locator("#note")).to_contain_text(note)
        assert "ossl_statem_accept" in labels(other) and "tls_setup_read_buffer" not in labels(other)
        assert "is not in this flamegraph" not in other.locator("#note").inner_text()


def test_a_link_whose_function_is_not_there_says_so(opened):
    link = "#stack=openssl%403.5.5&suite=tls13-rsa-aes256&phase={}&frame=client;client_handshake;{}"
    page = opened("openssl.html", link.format("established", "no_such;inner"))
    said = "The function of this link, inner, is not in this flamegraph: there is no no_such."
    expect(page.locator("#note")).to_have_text(
        f"{said} Shown is the nearest of its callers that is there: client_handshake."
    )
    expect(page.locator("#details b")).to_have_text("client_handshake")
    page.locator("#reset").click()
    expect(page.locator("#note")).to_be_empty()
    page = opened("openssl.html", link.format("sessions", "handshake"))
    said = "The function of this link, handshake, holds nothing at created."
    expect(page.locator("#note")).to_contain_text(said)
    page = opened("openssl.html", "#phase=nowhere&role=nobody")
    expect(page.locator("#note")).to_contain_text("of nobody, which this page does not have")
    expect(page.locator("#note")).to_contain_text("of nowhere, which this page does not have: shown is established")


def test_flame_and_icicle_grow_the_other_way(opened):
    page = opened("openssl.html")

    def root_is_above() -> bool:
        return frame(page, "all").bounding_box()["y"] < frame(page, "client_handshake").bounding_box()["y"]

    assert root_is_above()
    page.locator("#order").click()
    assert not root_is_above()


def test_a_diff_says_in_words_which_holds_more(opened):
    page = opened("diff.html")
    expect(phase(page, "change")).to_have_attribute("aria-pressed", "true")
    expect(phase(page, "change")).to_contain_text(re.compile(r"[\d,]+ B more \+ less in the process$"))
    page.get_by_role("button", name="server", exact=True).click()
    expect(phase(page, "NEW")).to_contain_text("37,286 B per server session")
    expect(phase(page, "change")).to_have_attribute(
        "title", re.compile(r"^change: [\d,]+ B more \+ less per server session$")
    )
    expect(page.locator("#details")).to_contain_text("holds 15,731 B less per server session: 53,017 B in OLD")
    phase(page, "change").click()
    assert any(label.startswith("▼") for label in labels(page)) and any(label.startswith("▲") for label in labels(page))


def test_a_diff_of_stacks_that_share_no_functions_is_drawn_by_what_the_bytes_are_for(opened):
    page = opened("purposes.html", "#phase=OLD&role=client")
    assert frame(page, "tls_setup_read_buffer").locator("rect").get_attribute("fill") == "#56B4E9"
    phase(page, "change").click()
    said = "0.0 % of the bytes that libraries allocate are below a function that OLD and NEW both call."
    expect(page.locator("#figure")).to_contain_text(f"{said} That is less than 10 %, so")
    row = page.locator(".flames-purposes tr").filter(has_text="record buffers, read")
    expect(row).to_contain_text("12,620 B less4,096 B16,716 B")
    expect(page.locator("#details")).to_contain_text("37,880 B less per client session")
    expect(page.locator("#figure g.frame")).to_have_count(0)
    page = opened("diff.html")
    expect(page.locator("#reading")).to_contain_text(
        "below 10 % the difference would be drawn by what the bytes are for"
    )
