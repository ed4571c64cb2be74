"""The report's interactive sections in Debian's chromium: what they say, by pointer and by keys, is the record's."""

import json
import re
import subprocess
from pathlib import Path
from urllib.parse import parse_qs

import pytest
from playwright.sync_api import expect

from chromium import PAGES, Watched

ROOT = Path(__file__).resolve().parents[3]
PAGE, FACTS = PAGES / "phases.html", PAGES / "phases.json"
NEWER, BOTH = PAGES / "phases-newer.html", PAGES / "phases-both.html"  # of a newer recording; of both
PEAKS = PAGES / "peaks.html"  # of a recording with call stacks at peaks
WIDE, NARROW = (1280, 900), (390, 844)
STACKS = ("openssl@3.5.5", "rustls+aws-lc@0.23.46")
OPENSSL, RUSTLS = 0, 1  # panels with these stacks, as the page is opened


@pytest.fixture(scope="module", autouse=True)
def made():
    """The page, by the environment of the tools."""
    maker = ROOT / "tools/browser-tests/report/phase_examples.py"
    subprocess.run([ROOT / ".venv/bin/python", maker, PAGES], check=True)


@pytest.fixture
def opened(browser):
    """In the end nothing was complained of, and nothing was loaded but the page."""
    watched = Watched(browser)

    def open_page(size=WIDE, scheme="light", fragment="", file=PAGE):
        page = watched.page(size, scheme, reduced_motion="reduce")
        page.set_default_timeout(10_000)
        page.goto(file.as_uri() + fragment)
        expect(page.locator(".phases-mark").first).to_be_visible()
        return page

    yield open_page
    watched.close()
    assert watched.said == []
    assert watched.loaded() <= {one.as_uri() for one in (PAGE, PEAKS, NEWER, BOTH)}


@pytest.fixture(scope="module")
def facts():
    """Of the record, without what makes the page: by stack, role and phase bytes, blocks, and those at the peak."""
    return json.loads(FACTS.read_text(encoding="utf-8"))


def panel(page, number):
    return page.locator(".phases-panel").nth(number)


def mark(page, number, phase):
    return panel(page, number).locator(f'.phases-mark[data-phase="{phase}"]')


def said(bytes_, blocks):
    return f"{bytes_:,} B in {blocks:,} block{'s' * (blocks != 1)}"


def choose(page, role):
    page.locator("#phases-role").get_by_role("button", name=role, exact=True).click()


@pytest.mark.parametrize("number", [OPENSSL, RUSTLS])
@pytest.mark.parametrize("role", ["client", "server", "pair"])
def test_pointing_at_a_phase_says_its_bytes_and_blocks(opened, facts, number, role):
    page = opened()
    choose(page, role)
    stack = panel(page, number).get_attribute("data-stack").split(" ")[1]
    unit = role if role == "pair" else f"{role} session"
    assert len(facts[stack][role]) > 8
    for phase, (size, blocks, peak, peak_blocks) in facts[stack][role].items():
        mark(page, number, phase).locator(".phases-area").hover()
        expect(page.locator(".charts-tip")).to_contain_text(f"{said(size, blocks)} per {unit}")
        if peak > size:
            more = f"at the peak of the phase, one more of many: {said(peak, peak_blocks)}"
            expect(page.locator(".charts-tip")).to_contain_text(more)
        assert f"{said(size, blocks)} per {unit}" in mark(page, number, phase).get_attribute("aria-label")


def test_bars_are_as_high_as_what_they_stand_for(opened, facts):
    page = opened()
    stack = panel(page, OPENSSL).get_attribute("data-stack").split(" ")[1]
    heights = {}
    for phase, (size, *_) in facts[stack]["client"].items():
        found = mark(page, OPENSSL, phase).locator(".phases-part").evaluate_all(PARTS)
        assert sum(bytes_ for bytes_, *_ in found) == size
        if size:
            high = sum(height for *_, height in found)
            assert max(y + height for _, y, height in found) - min(y for _, y, _ in found) == pytest.approx(high)
            heights[phase] = high / size
    assert max(heights.values()) == pytest.approx(min(heights.values()), rel=0.01)


def test_every_part_has_a_colour_or_a_hatch_that_is_there(opened):
    """A fill that names no pattern of the page is none."""
    page = opened()
    fills = page.locator(".phases-part").evaluate_all("all => all.map((one) => one.getAttribute('fill'))")
    hatched = {fill[5:-1] for fill in fills if fill.startswith("url(#")}
    assert len(hatched) >= 3 and all(page.locator(f"pattern#{name}").count() == 1 for name in hatched)


@pytest.mark.parametrize("number", [OPENSSL, RUSTLS])
def test_a_click_opens_a_flamegraph_and_buckets_that_add_up_to_the_phase(opened, facts, number):
    page = opened()
    stack = panel(page, number).get_attribute("data-stack").split(" ")[1]
    size, blocks, *_ = facts[stack]["client"]["server 1"]
    mark(page, number, "server 1").locator(".phases-area").click()
    details = page.locator("#phases-details")
    expect(details.locator("h3")).to_contain_text(f"{stack}, tls13-rsa-aes256, client session, at the end of server 1")
    expect(details.locator("g.frame").first).to_be_visible()
    root = details.locator('g.frame[tabindex="0"]')
    assert root.get_attribute("aria-label") == f"client: {said(size, blocks)}"
    values = page.evaluate("d3.select('.phases-flames').datum().value")
    assert values == size
    rows = details.locator(".phases-buckets tbody tr:first-child").all_inner_texts()
    cells = [re.findall(r"[\d,]+(?=\t|$)", row.split("%")[0]) for row in rows]
    assert sum(int(one[0].replace(",", "")) for one in cells) == size
    assert sum(int(one[1].replace(",", "")) for one in cells) == blocks
    expect(details.locator(".phases-buckets tfoot")).to_contain_text(f"{size:,}")
    details.get_by_text("the flamegraph as a table of call sites").click()
    sites = details.locator(".phases-sites tbody tr").evaluate_all("all => all.map(one => one.children[1].textContent)")
    assert sum(int(one.replace(",", "")) for one in sites) == size
    expect(details.locator("code")).to_contain_text(f"--stack {stack} --suite tls13-rsa-aes256 --phase 'server 1'")


def test_the_peak_of_one_session_alone_is_a_moment_with_its_flamegraph_and_buckets(opened):
    """7,000 bytes in 4 blocks are there at the client's peak alone."""
    page = opened(file=PEAKS)
    mark(page, OPENSSL, "client 1").locator(".phases-area").hover()
    tip = page.locator(".charts-tip")
    expect(tip).to_contain_text("14,100 B in 40 blocks per client session")
    expect(tip).to_contain_text("at the peak of the phase, one session alone: 21,100 B in 44 blocks")
    mark(page, OPENSSL, "client 1").locator(".phases-area").click()
    details = page.locator("#phases-details")
    expect(details.locator("h3")).to_contain_text("at the end of client 1")
    details.get_by_role("button", name="at its peak, one session alone").click()
    expect(details.locator("h3")).to_contain_text("one session alone at its peak in client 1")
    expect(details.get_by_role("button", name="at its peak, one session alone")).to_be_focused()
    root = details.locator('g.frame[tabindex="0"]')
    expect(root).to_have_attribute("aria-label", "client: 21,100 B in 44 blocks")
    expect(details.locator(".phases-buckets tfoot")).to_contain_text("21,100")
    expect(details.locator("code")).to_contain_text("--phase 'peak of client 1' --role client")
    assert "peak=1" in page.url
    choose(page, "pair")
    expect(details.locator("h3")).to_contain_text("at the end of client 1")
    expect(details.locator(".phases-moment")).to_have_count(0)


def test_the_chart_marks_both_peaks_and_the_legend_names_them(opened):
    page = opened(file=PEAKS)
    chosen = mark(page, OPENSSL, "client 1")
    diamond = chosen.locator(".phases-alone").bounding_box()
    height = diamond["y"] + diamond["height"] / 2
    zero, top = chosen.locator(".phases-part").first.bounding_box(), chosen.locator(".phases-part").last.bounding_box()
    bar = zero["y"] + zero["height"] - top["y"]  # 14,100 B
    assert (zero["y"] + zero["height"] - height) / bar == pytest.approx(21_100 / 14_100, abs=0.02)
    expect(mark(page, OPENSSL, "client 2").locator(".phases-alone")).to_have_count(0)  # no more than its end
    legend = page.locator("#phases-legend")
    expect(legend).to_contain_text("peak within the phase, one more of many")
    expect(legend).to_contain_text("peak within the phase, one session alone")
    choose(page, "pair")
    expect(page.locator(".phases-alone")).to_have_count(0)
    expect(legend).not_to_contain_text("one session alone")


def test_a_recording_without_call_stacks_at_peaks_says_so(opened):
    page = opened()
    expect(page.locator("#phases-legend")).not_to_contain_text("one session alone")
    expect(page.locator(".phases-alone")).to_have_count(0)
    mark(page, OPENSSL, "client 2").locator(".phases-area").click()
    said = "Call stacks at peaks within a phase are not recorded: sites runs of schemas before 9 have none."
    expect(page.locator(".phases-reading")).to_contain_text(said)
    expect(page.locator(".phases-moment")).to_have_count(0)


def test_a_function_says_what_it_holds_and_is_shown_alone(opened):
    page = opened()
    mark(page, OPENSSL, "established").locator(".phases-area").click()
    frame = page.locator('.phases-flames g.frame[name="SSL_new"]')
    frame.hover()
    expect(page.locator(".phases-line")).to_contain_text("SSL_new · 6,468 B in")
    expect(page.locator(".phases-line")).to_contain_text("13.6 % of the session · connection structure · ")
    expect(page.locator(".phases-line")).to_contain_text("ssl/ssl_lib.c:")
    frame.click()
    expect(page.locator('.phases-flames g.frame[name="client_handshake"]')).to_have_count(0)


FRAMES = "all => all.map(one => [one.getAttribute('name'), one.querySelector('rect').getAttribute('fill')])"


def frames(page) -> dict[str, set[str]]:
    """The colours of the functions in the flamegraph, by name."""
    found: dict[str, set[str]] = {}
    for name, colour in page.locator(".phases-flames g.frame").evaluate_all(FRAMES):
        found.setdefault(name, set()).add(colour)
    return found


def value(page) -> int:
    return page.evaluate("d3.select('.phases-flames').datum().value")


def test_a_search_marks_what_it_finds_and_says_its_bytes(opened):
    page = opened()
    mark(page, OPENSSL, "established").locator(".phases-area").click()
    page.locator('.phases-flames g.frame[name="SSL_new"]').hover()
    size = re.search(r"SSL_new · ([\d,]+ B)", page.locator(".phases-line").inner_text())[1]
    page.get_by_role("searchbox", name="search the flamegraph").fill("^SSL_new$")
    expect(page.locator(".phases-found")).to_contain_text(f"1 found: {size}")
    marked = {name for name, colours in frames(page).items() if "var(--flames-hit)" in colours}
    assert marked == {"SSL_new"}
    again = opened(fragment=page.evaluate("location.hash"))
    expect(again.locator(".phases-found")).to_contain_text(f"1 found: {size}")
    page.get_by_role("searchbox", name="search the flamegraph").fill("no such function")
    expect(page.locator(".phases-found")).to_have_text("nothing found")


def test_a_link_opens_the_same_function_in_the_page_of_a_newer_recording(opened):
    """It names stacks, suite, phase and functions, and no recording unless a page has a stack in several."""
    page = opened()
    choose(page, "server")
    mark(page, OPENSSL, "server 1").locator(".phases-area").click()
    page.locator('.phases-flames g.frame[name="tls_post_process_client_hello"]').click()
    link = page.evaluate("location.hash")
    asked = parse_qs(link.partition("?")[2])
    assert asked["a"] + asked["suite"] + asked["phase"] == ["openssl@3.5.5", "tls13-rsa-aes256", "server 1"]
    assert asked["frame"][0].split(";")[:2] == ["server", "server_handshake"] and "from" not in asked
    for file in NEWER, BOTH:
        other = opened(fragment=link, file=file)
        expect(other.locator(".phases-line b")).to_have_text("tls_post_process_client_hello")
        expect(other.locator("#phases-details h3")).to_contain_text("openssl@3.5.5, tls13-rsa-aes256, server session")
        expect(other.locator('.phases-flames g.frame[name="tls_setup_read_buffer"]')).to_have_count(0)
        expect(other.locator(".phases-flames").locator("xpath=..").locator("p.phases-note")).to_be_empty()
        expect(other.locator("#phases-unknown")).to_be_empty()


def test_where_several_recordings_have_a_stack_a_link_names_the_chosen_one(opened):
    page = opened(file=BOTH)
    panel(page, OPENSSL).locator("select").select_option(value="1 openssl@3.5.5")
    asked = parse_qs(page.evaluate("location.hash").partition("?")[2])
    assert (asked["a"], asked["from"]) == (["openssl@3.5.5"], ["amd-epyc-2"])
    again = opened(fragment=page.evaluate("location.hash"), file=BOTH)
    expect(panel(again, OPENSSL)).to_have_attribute("data-stack", "1 openssl@3.5.5")


def test_a_link_says_what_of_it_the_page_does_not_have(opened):
    link = "#phases?suite=tls13-rsa-aes256&role=client&a={}&panel=0&phase=established&frame=client;client_handshake;"
    link += "no_such"
    page = opened(fragment=link.format("openssl%403.5.4"))
    expect(page.locator("#phases-unknown")).to_contain_text("the stack openssl@3.5.4: shown is openssl@3.5.5")
    note = page.locator("#phases-details .phases-note")
    expect(note).to_contain_text("no_such, is not in this flamegraph")
    expect(note).to_contain_text("Shown is the nearest of its callers that is there: client_handshake.")
    expect(page.locator(".phases-line b")).to_have_text("client_handshake")
    page.locator('.phases-flames g.frame[name="SSL_do_handshake"]').click()
    expect(note).to_be_empty()
    old = opened(fragment=link.format("0+openssl%403.5.5"))  # as links were written once
    expect(old.locator("#phases-unknown")).to_be_empty()
    expect(old.locator("#phases-details h3")).to_contain_text("openssl@3.5.5")


def test_inverted_begins_with_who_allocated_and_holds_as_much(opened):
    page = opened()
    mark(page, OPENSSL, "established").locator(".phases-area").click()
    expect(page.locator('.phases-flames g.frame[name="client_handshake"]')).to_have_count(1)
    whole, first = value(page), page.evaluate(CALLED)
    page.get_by_label("inverted").check()
    expect(page.locator('.phases-flames g.frame[name="all"]')).to_have_count(1)
    inverted = dict(page.evaluate(CALLED))
    assert value(page) == whole == sum(inverted.values())
    page.get_by_text("the flamegraph as a table of call sites").click()
    sites = page.locator(".phases-sites tbody tr").evaluate_all("all => all.map(one => one.children[0].textContent)")
    allocators = {name.split(" < ")[0] for name in sites if not name.endswith(" others")}
    assert len(allocators) > 9 and allocators <= {*inverted}
    assert [name for name, _ in first] != [*inverted]
    assert "inverted=1" in page.evaluate("location.hash")


def test_a_difference_of_releases_is_what_each_function_holds_more_than_in_the_other(opened):
    page = opened(file=BOTH)
    for at, stack in ((OPENSSL, "openssl@4.0.3"), (RUSTLS, "openssl@3.5.5")):
        panel(page, at).locator("select").select_option(value=f"0 {stack}")
    mark(page, OPENSSL, "established").locator(".phases-area").click()
    page.get_by_label("difference from openssl@3.5.5").check()
    expect(page.locator(".phases-line")).to_contain_text("568 B more")
    colours = {colour for some in frames(page).values() for colour in some}
    assert {"var(--flames-more)", "var(--flames-less)"} <= colours
    expect(page.locator(".phases-against")).to_contain_text("below 10 % the difference would be drawn by what")
    assert "against=1" in page.evaluate("location.hash")


def test_a_difference_of_stacks_that_share_no_functions_is_drawn_by_what_the_bytes_are_for(opened, facts):
    """Rows add up to what each holds; bars are as long as their bytes."""
    page = opened()
    mark(page, OPENSSL, "established").locator(".phases-area").click()
    ours, theirs = [facts[stack]["client"]["established"][0] for stack in facts if stack != "rss"]
    page.get_by_label(re.compile("^difference from rustls")).check()
    said = (
        f"0.0 % of the bytes that libraries allocate are below a function that {STACKS[0]} and {STACKS[1]} both call."
    )
    expect(page.locator(".phases-against")).to_contain_text(f"{said} That is less than 10 %, so")
    expect(page.locator(".phases-line")).to_contain_text(f"{ours - theirs:,} B more than")
    expect(page.locator(".phases-flames g.frame")).to_have_count(0)
    rows = page.locator(".flames-purposes tbody tr").evaluate_all(ROWS)
    sums = [sum(row["numbers"][at] for row in rows) for at in (0, 1)]
    assert len(rows) > 5 and sums == [ours, theirs]
    longest = max(number for row in rows for number in row["numbers"])
    for row in rows:
        for number, share in zip(row["numbers"], row["shares"], strict=True):
            assert share == pytest.approx(number / longest, abs=0.02)
    page.get_by_label(re.compile("^difference from rustls")).uncheck()
    expect(page.locator(".phases-flames g.frame").first).to_be_visible()
    expect(page.locator(".phases-against")).to_be_empty()


def test_all_of_it_can_be_reached_by_keys(opened, facts):
    page = opened()
    stack = panel(page, OPENSSL).get_attribute("data-stack").split(" ")[1]
    phases = list(facts[stack]["client"])
    panel(page, OPENSSL).locator("select").focus()
    page.keyboard.press("Tab")
    for phase in phases:
        expect(mark(page, OPENSSL, phase)).to_be_focused()
        expect(page.locator(".charts-tip")).to_contain_text(said(*facts[stack]["client"][phase][:2]))
        page.keyboard.press("ArrowRight")
    page.keyboard.press("Home")
    expect(mark(page, OPENSSL, phases[0])).to_be_focused()
    page.keyboard.press("ArrowRight")
    page.keyboard.press("Enter")
    expect(page.locator("#phases-details")).to_be_focused()
    expect(page.locator("#said")).to_contain_text("are below the charts")
    root = page.locator('.phases-flames g.frame[tabindex="0"]')
    root.focus()
    page.keyboard.press("ArrowDown")
    expect(page.locator('.phases-flames g.frame[tabindex="0"]')).to_be_focused()
    expect(page.locator(".phases-line")).to_contain_text("client_handshake")
    page.locator(".phases-close").focus()
    page.keyboard.press("Enter")
    expect(page.locator("#phases-details")).to_be_hidden()
    expect(mark(page, OPENSSL, phases[1])).to_be_focused()
    page.keyboard.press("Tab")
    expect(panel(page, OPENSSL).locator(".charts-command button")).to_be_focused()
    page.keyboard.press("Tab")
    expect(panel(page, RUSTLS).locator("select")).to_be_focused()


def test_the_table_has_the_numbers_of_the_charts(opened, facts):
    page = opened()
    page.select_option("#phases-rss", "system")
    shown = panel(page, OPENSSL).locator(".phases-mark").evaluate_all("all => all.map(one => one.ariaLabel)")
    page.locator("#phases-as-table").click()
    expect(page.locator("#phases .charts-table")).to_have_count(2)
    rows = (
        panel(page, OPENSSL)
        .locator("tbody tr")
        .evaluate_all("all => all.map(row => [...row.children].map(one => one.textContent))")
    )
    stack = panel(page, OPENSSL).get_attribute("data-stack").split(" ")[1]
    for row, label, (size, blocks, peak, peak_blocks) in zip(rows, shown, facts[stack]["client"].values(), strict=True):
        numbers = [int(cell.replace(",", "")) for cell in row[1:]]
        assert numbers[:4] == [size, blocks, peak, peak_blocks]
        assert sum(numbers[4:-1]) == size
        assert f"RSS, system: {row[-1]} B per client session" in label
    page.locator("#phases-as-table").click()
    expect(page.locator(".phases-mark").first).to_be_visible()


def test_another_stack_and_suite_are_other_figures_and_a_hole_says_why(opened):
    page = opened()
    page.select_option("#phases-suite", "tls12-rsa-aes256")
    expect(mark(page, OPENSSL, "established")).to_have_attribute("aria-label", re.compile("63,635 B in 188 blocks"))
    select = panel(page, RUSTLS).locator("select")
    select.select_option(label="rustls+ring@0.23.46")
    expect(panel(page, RUSTLS).locator("select")).to_be_focused()
    mark(page, RUSTLS, "idle").locator(".phases-area").click()
    taken = "make profile STACK=rustls+ring@0.23.46 SUITE=tls12-rsa-aes256 TOOL=sites"
    expect(page.locator("#phases-details")).to_contain_text(taken)
    select.select_option(label="rustls+aws-lc+jemalloc-rust@0.23.46")
    expect(panel(page, RUSTLS)).to_contain_text(re.compile("was not measured|the heap meter cannot see"))


def test_lines_of_memory_by_sessions_say_their_runs(opened, facts):
    page = opened()
    for stack, runs in facts["rss"].items():
        found = page.locator(f'.residuals-mark[data-stack="{stack}"]')
        assert sorted(found.evaluate_all("all => all.map(one => Number(one.dataset.bytes))")) == sorted(runs)
    first = page.locator(".residuals-mark").first
    page.locator(".residuals-mark").last.locator("[data-spot]").hover()
    expect(page.locator(".charts-tip")).to_contain_text(re.compile("bytes (more|less) than the line|on the line"))
    first.focus()
    page.keyboard.press("ArrowRight")
    expect(page.locator(".residuals-mark").nth(1)).to_be_focused()
    expect(page.locator("#residuals-words li").first).to_contain_text("bytes per session")
    page.locator("#residuals-as-table").click()
    expect(page.locator("#residuals-chart tbody tr")).to_have_count(sum(map(len, facts["rss"].values())))


def test_bars_from_requested_to_resident_say_what_a_step_adds(opened):
    page = opened()
    page.select_option("#waterfall-setting", "both roles in one process")
    card = page.locator(".waterfall-card").filter(has_text="openssl@3.5.5 on glibc")
    bars = card.locator(".waterfall-mark")
    expect(bars).to_have_count(4)
    assert bars.first.get_attribute("data-bytes") == "84878"
    bars.nth(2).locator(".waterfall-area").hover()
    expect(page.locator(".charts-tip")).to_contain_text("more: free, not returned")
    bars.first.focus()
    page.keyboard.press("ArrowDown")
    expect(bars.nth(1)).to_be_focused()
    page.select_option("#waterfall-stack", "openssl@3.5.5")
    expect(page.locator(".waterfall-card").filter(has_text="rustls")).to_have_count(0)


@pytest.mark.parametrize("size", [WIDE, NARROW])
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_it_fits_and_can_be_read_in_both_schemes(opened, size, scheme):
    """And screenshots, to be looked at."""
    page = opened(size, scheme)
    page.select_option("#phases-rss", "system")
    mark(page, OPENSSL, "server 1").locator(".phases-area").click()
    expect(page.locator(".phases-flames g.frame").first).to_be_visible()
    assert page.evaluate("document.documentElement.scrollWidth <= window.innerWidth")
    for place in (".phases-said", "#phases figcaption", ".waterfall-card h3 small", "#residuals-words li"):
        behind, text = page.locator(place).first.evaluate(COLOURS)
        assert contrast(luminance(behind), luminance(text)) > 4.5, place
    page.screenshot(path=PAGES / f"phases-{size[0]}-{scheme}.png", full_page=True)
    page.locator("#phases-as-table").click()
    assert page.evaluate("document.documentElement.scrollWidth <= window.innerWidth")


ROWS = """all => all.map((row) => ({
  numbers: [...row.children].slice(3).map((one) => Number(one.textContent.replace(/[^0-9]/g, ""))),
  shares: [...row.querySelectorAll(".bars i")].map((one) => parseFloat(one.style.width) / 100),
}))"""
CALLED = "d3.select('.phases-flames').datum().data.children.map(one => [one.name, one.value])"
PARTS = "all => all.map(one => [Number(one.dataset.bytes), one.getBBox().y, one.getBBox().height])"
COLOURS = "one => [getComputedStyle(document.body).backgroundColor, getComputedStyle(one).color]"


def luminance(colour):
    """Relative, as WCAG has it."""
    parts = [float(part) / 255 for part in re.findall(r"[\d.]+", colour)[:3]]
    linear = [part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts]
    return sum(weight * part for weight, part in zip((0.2126, 0.7152, 0.0722), linear, strict=True))


def contrast(one, other):
    return (max(one, other) + 0.05) / (min(one, other) + 0.05)
