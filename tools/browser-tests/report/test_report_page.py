"""A report in a browser: Debian's chromium, driven by playwright. `make check-pages` runs it."""

import json
import re
import shlex
import subprocess
import sys

import pytest
from axe_playwright_python.sync_playwright import Axe
from conftest import NARROW, PAGES, WIDE
from playwright.sync_api import Locator, Page, expect

ROOT = PAGES.parents[1]
MOST, NODES = 2_000_000, 10_000
COST = "#card-cost"
TABLES = sorted(file.stem for file in (PAGES / "report-small").glob("*.csv"))


def rows(page: Page, table: str = "cost-heap") -> Locator:
    return page.locator(f"#table-{table} tbody tr").filter(visible=True)


def column(page: Page, heading: str, table: str = "cost-heap") -> list[str]:
    headings = page.locator(f"#table-{table} thead th").all_inner_texts()
    at = [text.strip(" ↑↓").strip() for text in headings].index(heading)
    return rows(page, table).evaluate_all(f"all => all.map(row => row.cells[{at}].textContent.trim())")


def heading(page: Page, name: str, table: str = "cost-heap") -> Locator:
    return page.locator(f"#table-{table} thead th").filter(has_text=re.compile(f"^{name}"))


def leading(text: str) -> float:
    return float(re.match(r"[^\d-]*(-?[\d,.]+)", text)[1].replace(",", ""))


def copied(page: Page) -> str:
    return page.evaluate("navigator.clipboard.readText()")


@pytest.mark.parametrize("name", ["report.html", "report-small.html"])
def test_pages_are_light_and_load(opened, name):
    assert (PAGES / name).stat().st_size < MOST
    page = opened(name)
    assert page.locator("main > section").count() >= 4
    assert page.evaluate("document.querySelectorAll('*').length") < NODES


def test_a_page_with_its_data_in_files_is_the_same(opened):
    page = opened("report-files/index.html")
    expect(page.locator("#answer-number strong")).to_have_text(re.compile(r"^[\d,]+ B$"))
    page.locator(COST).scroll_into_view_if_needed()
    expect(rows(page).first).to_be_visible()
    page.locator("#phases").scroll_into_view_if_needed()
    expect(page.locator(".phases-mark").first).to_be_visible()


def test_two_releases_have_a_difference_in_the_page_with_its_data_in_files(opened):
    page = opened("report-files/index.html")
    page.locator("#phases").scroll_into_view_if_needed()
    for number, stack in enumerate(("openssl@3.1.4", "openssl@3.2.0")):
        page.locator(".phases-panel select").nth(number).select_option(label=stack)
    page.locator('.phases-panel .phases-mark[data-phase="established"] .phases-area').nth(1).click()
    page.get_by_label("difference from openssl@3.1.4").check()
    expect(page.locator(".phases-line")).to_contain_text(re.compile(r"[\d,]+ B less"))
    expect(page.locator(".phases-flames g.frame").first).to_be_visible()


COSTS = json.loads((PAGES / "costs.json").read_text())
SUITE = "tls13-rsa-aes256"  # that the chooser opens with


@pytest.mark.parametrize("role", ["server", "client"])
@pytest.mark.parametrize("state", ["in use", "at rest"])
def test_the_chooser_gives_the_number_of_the_cost_command(opened, role, state):
    page = opened("report.html")
    key = {"in use": "rss_in_use_bytes", "at rest": "rss_at_rest_bytes"}[state]
    page.select_option("#answer-role", role)
    page.select_option("#answer-state", label=state)
    checked = 0
    for row in COSTS:
        if (
            row["role"] == role
            and row["suite"] == SUITE
            and row["configuration"] == "default"
            and isinstance(row[key], float | int)
        ):
            page.locator(f'.answer-row[data-stack="{row["stack"]}"]').click()
            expect(page.locator("#answer-number strong")).to_have_text(f"{row['texts'][key]} B")
            checked += 1
    assert checked >= 8


def answered_by_plan(page: Page) -> tuple[int, int]:
    """What the page answers, and what the command beside it does, in bytes."""
    told = page.locator("#answer-plan .answer-quiet").inner_text()
    words = shlex.split(page.locator("#answer-plan code").inner_text())
    command = [sys.executable, ROOT / words[0], *words[1:], "--table", "memory", "--format", "json"]
    done = subprocess.run(command, check=True, capture_output=True, text=True, cwd=ROOT)
    (table,) = json.loads(done.stdout)["tables"]
    (peak,) = (row["bytes"] for row in table["rows"] if row["what"] == "peak")
    return int(told.partition(" B")[0].replace(",", "")), peak


def test_what_if_is_what_the_command_beside_it_answers(opened):
    page = opened("report.html")
    ours, theirs = answered_by_plan(page)
    assert ours == theirs
    inputs = {"connections": "1,234,567", "share": "33.3%", "handshakes": "2%", "kernel": "5000"}
    for name, text in inputs.items():
        page.fill(f"#answer-{name}", text)
    page.select_option("#answer-low", "yes")
    ours, theirs = answered_by_plan(page)
    assert ours == theirs
    again = opened(f"report.html{page.evaluate('location.hash')}")
    assert answered_by_plan(again) == (ours, theirs)
    page.select_option("#answer-role", "client")
    page.fill("#answer-handshakes", "0")
    page.select_option("#answer-tickets", "0")
    ours, theirs = answered_by_plan(page)
    assert ours == theirs


def test_what_if_names_what_is_wrong_or_not_recorded(opened):
    page = opened("report.html")
    page.fill("#answer-connections", "many")
    expect(page.locator("#answer-total")).to_contain_text("Connections must be a whole number")
    page.fill("#answer-connections", "10")
    page.fill("#answer-handshakes", "11")
    expect(page.locator("#answer-total")).to_contain_text("Handshakes at a time must be")
    page.fill("#answer-handshakes", "5")
    page.select_option("#answer-tickets", "0")
    expect(page.locator("#answer-total")).to_have_text("not recorded: what a handshake adds with no tickets")


def test_a_and_b_differ_by_bucket_and_the_rows_add_up(opened):
    page = opened("report.html")
    page.select_option("#answer-other", label="rustls 0.23.46 (aws-lc)")
    table = page.locator("#answer-parts table")
    expect(table.locator("thead th")).to_have_text(
        ["bytes of one session", re.compile("^A: "), re.compile("^B: "), "B − A"]
    )
    lines = [row.locator("td").all_inner_texts() for row in table.locator("tbody tr").all()]
    numbers = [[0 if one == "–" else int(re.sub(r"[,+]", "", one).replace("−", "-")) for one in line] for line in lines]
    sums = [
        at
        for at, row in enumerate(table.locator("tbody tr").all())
        if "answer-sum" in (row.get_attribute("class") or "")
    ]
    assert len(sums) == 2 and sums[1] == len(lines) - 1
    for column in range(3):
        figures = [line[column] for line in numbers]
        assert abs(sum(figures[: sums[0]]) - figures[sums[0]]) <= len(figures)  # each is rounded
        assert abs(figures[sums[0]] + sum(figures[sums[0] + 1 : -1]) - figures[-1]) <= len(figures)
    assert all(line[1] - line[0] == line[2] for line in numbers)
    expect(page.locator("#answer-other-bar .answer-bar")).to_be_visible()
    page.select_option("#answer-other", label="Go crypto/tls 1.27.4")
    expect(page.locator("#answer-other-bar")).to_contain_text("not recorded")
    expect(table.locator("thead th")).to_have_count(2)
    page.select_option(
        "#answer-suite", value="tls12-rsa-aes256"
    )  # Go is recorded, but what its live heap is for is not
    expect(table.locator("tbody tr").first.locator("td").nth(1)).to_have_text("not recorded")
    expect(table.locator("tbody tr").first.locator("td").nth(2)).to_have_text("–")


def test_go_has_no_figure_in_a_suite_that_is_not_recorded_but_the_way_to_one(opened):
    """A grey suite is beside its command; the suites that are recorded are a click away."""
    page = opened("report.html")
    page.select_option("#answer-library", label="Go crypto/tls")
    expect(page.locator("#answer-suite")).to_have_value("tls13-rsa-aes256")
    expect(page.locator("#answer-suite option:checked")).to_be_disabled()
    expect(page.locator("#answer-number strong")).to_have_text("not recorded")
    expect(page.locator("#answer-total")).to_have_text("not recorded")
    expect(page.locator("#answer-parts")).to_be_empty()
    page.locator("#answer-notes .answer-others button", has_text="AES-128-GCM, X25519, RSA-2048").first.click()
    expect(page.locator("#answer-number strong")).to_have_text(re.compile(r"^[\d,]+ B$"))
    expect(page.locator("#answer-notes .answer-quiet")).to_contain_text("AES-128-GCM")


def test_a_suite_that_is_recorded_in_another_state_has_its_own_figures_and_names_the_state(opened):
    page = opened("report.html")
    page.select_option("#answer-library", label="OpenSSL")
    page.select_option("#answer-release", label="3.5.5")
    page.select_option("#answer-suite", value="tls13-mldsa87-aes256")
    page.select_option("#answer-role", "client")
    expect(page.locator("#answer-number strong")).to_have_text("106,724 B")
    expect(page.locator("#answer-number")).to_contain_text("all handshakes concurrent")
    page.locator("#answer-unrecorded summary").press("Enter")
    commands = page.locator("#answer-unrecorded-list code").all_inner_texts()
    assert commands and all(one.startswith("tools/tls-memtest measure ") for one in commands)


def test_a_library_opens_with_its_newest_stable_release(opened):
    page = opened("report.html")
    for library in page.locator("#answer-library option").all_inner_texts():
        page.select_option("#answer-library", label=library)
        releases = page.locator("#answer-release option").all_inner_texts()
        chosen = page.locator("#answer-release option:checked").inner_text()
        assert "-" not in chosen or all("-" in one for one in releases)


def test_every_card_has_a_link_that_leads_to_it(opened):
    page = opened("report.html")
    cards = page.locator("main .card").evaluate_all("all => all.map(one => one.id)")
    assert len(cards) > 12 and all(cards)
    links = page.locator("main .card .permalink").evaluate_all("all => all.map(one => one.getAttribute('href'))")
    assert [f"#{name}" for name in cards] == links
    again = opened(f"report.html{links[-1]}")
    expect(again.locator(links[-1])).to_be_in_viewport()


def test_every_stack_in_three_configurations_has_a_row_and_says_who_changes_rank(opened):
    page = opened("report.html")
    card = page.locator('.card[id^="card-in-use"]').last  # of the recording with every stack
    name = card.get_attribute("id").removeprefix("card-")
    card.scroll_into_view_if_needed()
    expect(rows(page, name).first).to_be_visible()
    stacks = column(page, "stack", name)
    assert len(stacks) == len({*stacks}) > 20
    assert {*column(page, "role", name)} == {"server"}
    for heading_text in ("no tickets", "in use", "in use, low memory"):
        assert sum(text[0].isdigit() for text in column(page, heading_text, name)) > 8
    expect(card.locator(".caption")).to_contain_text(re.compile(r"Rank among .* openssl@[\d.]+ from \d+ to \d+"))
    first, every = re.match(r"(\d+) of (\d+) rows", card.locator("output").inner_text()).groups()
    assert int(first) < int(every) / 3
    card.locator("button.all").click()
    expect(card.locator("output")).to_have_text(re.compile(rf"^{every} "))


def test_what_is_chosen_can_be_linked_to(opened):
    page = opened("report.html")
    page.select_option("#answer-role", "client")
    page.locator(COST).scroll_into_view_if_needed()
    number = page.locator("#answer-number").inner_text()
    again = opened(f"report.html{page.evaluate('location.hash')}")
    expect(again.locator("#answer-number")).to_have_text(number)
    filtered = opened("report.html#card-cost?q=rustls&sort=established+descending")
    expect(rows(filtered).first).to_be_visible()
    assert all("rustls" in stack for stack in column(filtered, "stack"))
    expect(heading(filtered, "established")).to_have_attribute("aria-sort", "descending")


@pytest.mark.parametrize("name", ["report.html", "report-small.html"])
@pytest.mark.parametrize("way", ["ascending", "descending"])
def test_a_link_to_a_sorted_table_sorts_its_rows(opened, name, way):
    page = opened(f"{name}#card-cost?all=1&sort=established+{way}")
    expect(rows(page).first).to_be_visible()
    page.wait_for_timeout(500)  # for whatever else draws the table
    numbers = [leading(text) for text in column(page, "established") if not text.startswith("–")]
    assert numbers == sorted(numbers, reverse=way == "descending") and len(set(numbers)) > 3
    expect(heading(page, "established")).to_have_attribute("aria-sort", way)
    heading(page, "established").get_by_role("button").click()  # once, and not once for each time it was drawn
    expect(heading(page, "established")).not_to_have_attribute("aria-sort", way)


def test_a_link_to_the_second_table_of_a_card_shows_it(opened):
    page = opened("report-small.html#card-cost?table=1&q=rustls")
    expect(rows(page, "cost-rss").first).to_be_visible()
    page.wait_for_timeout(500)
    expect(page.locator("#table-cost-heap")).to_be_hidden()
    assert all("rustls" in stack for stack in column(page, "stack", "cost-rss"))


@pytest.mark.parametrize("size", [WIDE, NARROW, (900, 700)])
def test_what_a_link_leads_to_stands_below_the_contents(opened, size):
    page = opened("report.html", size)
    for section in page.locator("main > section").evaluate_all("all => all.map(one => one.id)"):
        page.evaluate("id => document.getElementById(id).scrollIntoView()", section)
        page.wait_for_timeout(200)
        page.evaluate("id => document.getElementById(id).scrollIntoView()", section)  # charts were drawn meanwhile
        sticky = page.locator("#contents").evaluate("one => getComputedStyle(one).position === 'sticky'")
        covered = page.locator("#contents").bounding_box()["height"] if sticky else 0
        top = page.locator(f"#{section} > h2").bounding_box()["y"]
        assert top >= covered or section == "answer"


def test_charts_open_on_a_recording_that_shows_something(opened):
    page = opened("report.html")
    page.locator("#residuals").scroll_into_view_if_needed()
    spots = page.locator("#residuals-chart .residuals-mark")
    expect(spots.first).to_be_visible()
    counts = spots.evaluate_all("all => all.map(one => one.getAttribute('aria-label').match(/N = ([\\d,]+)/)[1])")
    assert len({*counts}) > 2
    page.locator("#waterfall").scroll_into_view_if_needed()
    expect(page.locator(".waterfall-mark").first).to_be_visible()
    first = page.locator(".waterfall-mark").evaluate_all("all => all.slice(0, 4).map(one => one.ariaLabel)")
    assert not any("not known" in label for label in first)


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("size", [WIDE, NARROW])
def test_axe_finds_nothing(opened, size, scheme):
    page = opened("report.html", size, scheme)
    assert Axe().run(page).violations_count == 0
    for card in page.locator("main > section, .card").filter(visible=True).all():
        card.scroll_into_view_if_needed()
        page.wait_for_timeout(100)
    page.locator(".phases-area").first.click()
    expect(page.locator("#phases-details")).to_be_visible()
    found = Axe().run(page).response["violations"]
    assert [(one["id"], [node["html"] for node in one["nodes"]]) for one in found] == []


def test_a_bar_is_on_the_first_narrow_screen_and_no_picture_is_clipped(opened):
    page = opened("report.html", NARROW)
    expect(page.locator("#answer-bar .answer-bar")).to_be_in_viewport(ratio=1)
    wide = "all => all.filter((one) => one.scrollWidth > one.clientWidth + 1).length"
    assert page.locator(".picture").evaluate_all(wide) == 0


def test_paper_has_the_selection_and_every_picture(opened):
    page = opened("report.html")
    page.locator("html[data-pictures=drawn]").wait_for(state="attached", timeout=30_000)
    page.emulate_media(media="print")
    expect(page.locator("#answer-number strong")).to_be_visible()
    images = page.locator(".pictures img").filter(visible=True)
    assert images.count() >= 3
    assert all(image.evaluate("one => one.decode().then(() => one.naturalWidth)") > 100 for image in images.all())
    page.pdf(path=PAGES / "report-print.pdf", format="A4", print_background=True)


LINES = """one => { const names = document.createRange(); names.selectNodeContents(one);
    const lines = new Map();
    for (const node of one.childNodes) { if (!node.data) continue;
      for (let at = 0; at < node.data.length; at++) { names.setStart(node, at); names.setEnd(node, at + 1);
        const top = Math.round(names.getBoundingClientRect().top);
        lines.set(top, (lines.get(top) ?? "") + node.data[at]); } }
    return [...lines.values()]; }"""


def test_the_answer_is_on_the_first_screen(opened):
    page = opened("report.html")
    places = (".vocabulary", "#answer-choice", "#answer-number", "#answer-bar", "#answer-other-bar", "#answer-inputs")
    for place in (*places, "#answer-total", "#answer-libraries ul"):
        expect(page.locator(place)).to_be_in_viewport(ratio=1)


def test_names_of_stacks_are_in_one_line_and_break_after_a_plus_or_an_at_where_there_is_no_room(opened):
    for row in opened("report.html").locator("#table-cost-heap tbody th").all()[::9]:
        assert len(row.evaluate(LINES)) == 1
    broken = [
        row.evaluate(LINES) for row in opened("report.html", NARROW).locator("#table-cost-heap tbody th").all()[::9]
    ]
    assert any(len(lines) > 1 for lines in broken)
    assert all(line[-1] in "+@" for lines in broken for line in lines[:-1])


def test_no_backtick_is_seen_and_long_cells_are_folded(opened):
    page = opened("report.html")
    for text in page.locator(".caption, .notes, .remarks").all_inner_texts():
        assert "`" not in text
    assert page.locator(".caption code", has_text="tools/tls-memtest measure").count() == 1
    page.locator("#card-machines").scroll_into_view_if_needed()
    flags = page.locator("#table-machines td details").first
    short = flags.bounding_box()["height"]
    flags.locator("summary").press("Enter")
    assert flags.bounding_box()["height"] > short and short < 60


@pytest.mark.parametrize("section, tool", [("phases-panels", "show parts"), ("residuals-chart", "show mem")])
def test_a_drawn_chart_has_its_command_beside_it(opened, section, tool):
    page = opened()
    page.locator(f"#{section}").scroll_into_view_if_needed()
    command = page.locator(f"#{section} .charts-command code").first
    expect(command).to_contain_text(tool)
    expect(command).to_contain_text("--stack")


def test_a_heading_sorts_by_number_with_holes_last_and_back(opened):
    page = opened()
    page.locator(f"{COST} button.all").click()
    page.locator("#table-cost-heap .more").click()
    before = column(page, "established")
    heading(page, "established").get_by_role("button").click()
    expect(heading(page, "established")).to_have_attribute("aria-sort", "ascending")
    ascending = [text for text in column(page, "established") if not text.startswith("–")]
    assert [*map(leading, ascending)] == sorted(map(leading, ascending)) and len(set(ascending)) > 9
    holes = [text.startswith("–") for text in column(page, "established")]
    assert holes == sorted(holes) and any(holes)
    heading(page, "established").get_by_role("button").click()
    descending = [text for text in column(page, "established") if not text.startswith("–")]
    assert [*map(leading, descending)] == sorted(map(leading, ascending), reverse=True)
    holes = [text.startswith("–") for text in column(page, "established")]
    assert holes == sorted(holes)
    heading(page, "established").get_by_role("button").click()
    expect(heading(page, "established")).to_have_attribute("aria-sort", "none")
    assert column(page, "established") == before


def test_enter_on_a_heading_sorts_and_is_said(opened):
    page = opened()
    heading(page, "stack").get_by_role("button").press("Enter")
    expect(heading(page, "stack")).to_have_attribute("aria-sort", "ascending")
    expect(page.locator("#said")).to_have_text("sorted by stack, ascending")
    assert column(page, "stack")[0].startswith("openssl")


def test_words_filter_rows_and_the_count_is_said(opened):
    page = opened()
    page.locator(f"{COST} button.all").click()
    every = int(re.match(r"\d+", page.locator(f"{COST} output").inner_text())[0])
    page.locator(COST).get_by_role("searchbox").fill("RUSTLS tls12")
    expect(page.locator(f"{COST} output")).to_have_text(re.compile(rf"^\d+ of {every} rows$"))
    assert 0 < rows(page).count() < every
    assert all("rustls" in stack for stack in column(page, "stack"))
    assert all(suite.startswith("tls12") for suite in column(page, "suite"))


def test_a_column_filters_rows_and_meters_share_it(opened):
    page = opened()
    page.locator(COST).get_by_role("combobox", name=re.compile("^role:")).select_option("client")
    found = rows(page).count()
    assert {*column(page, "role")} == {"client"}
    page.locator(COST).get_by_role("button", name="RSS").click()
    expect(page.locator("#table-cost-heap")).to_be_hidden()
    expect(rows(page, "cost-rss")).to_have_count(found)
    assert {*column(page, "role", "cost-rss")} == {"client"}
    page.locator(COST).get_by_role("button", name="allocator statistics").click()
    expect(rows(page, "cost-books").first).to_be_visible()
    assert {*column(page, "role", "cost-books")} == {"client"}


def switch_on(page: Page, table: str) -> Locator:
    """The card of a table, with that table switched on."""
    card = page.locator(".card", has=page.locator(f"#table-{table}"))
    label = page.locator(f"#table-{table}").get_attribute("data-label")
    if card.locator(".table").count() > 1:
        card.locator(".switch").get_by_role("button", name=label, exact=True).click()
    card.scroll_into_view_if_needed()
    expect(page.locator(f"#table-{table} tbody tr").first).to_be_visible()
    if card.locator("button.all").is_visible() and card.locator("button.all").get_attribute("aria-pressed") == "false":
        card.locator("button.all").click()
    return card


@pytest.mark.parametrize("table", TABLES)
def test_what_is_copied_is_what_the_command_writes(opened, table):
    page = opened()
    card = switch_on(page, table)
    for form, ending in (("markdown", "md"), ("csv", "csv")):
        card.locator(f"button.as-{form}").click()
        expect(page.locator(f"button.as-{form}", has_text="copied")).to_be_visible()
        assert copied(page) == (PAGES / f"report-small/{table}.{ending}").read_text()


def test_only_the_rows_that_are_seen_are_copied(opened):
    page = opened()
    page.locator(COST).get_by_role("searchbox").fill("rustls tls12")
    heading(page, "created").get_by_role("button").click()
    page.locator(f"{COST} button.as-csv").click()
    expect(page.locator(COST).get_by_text("copied")).to_be_visible()
    lines = copied(page).splitlines()
    assert len(lines) == 1 + rows(page).count() and all("rustls" in line and "tls12" in line for line in lines[1:])
    page.locator(f"{COST} button.as-markdown").click()
    expect(page.locator("button.as-markdown", has_text="copied")).to_be_visible()
    body = [line for line in copied(page).splitlines() if line.startswith("|")][2:]
    assert [line.split("|")[1].strip() for line in body] == column(page, "stack")


def test_a_command_is_copied(opened):
    page = opened()
    command = page.locator("#table-cost-heap .command")
    command.get_by_role("button").click()
    expect(command.get_by_role("button")).to_have_text("copied")
    command = "tools/tls-memtest show report data/2026-11-21-amd-epyc-2 --format markdown --table cost-heap"
    assert copied(page) == command


def test_a_hole_leads_to_its_reason_and_back(opened):
    page = opened()
    link = page.locator("#table-cost-heap tbody a").nth(3)
    link.focus()
    link.press("Enter")
    note = page.locator(f"#table-cost-heap {link.get_attribute('href')}")
    expect(note).to_be_in_viewport()
    assert link.get_attribute("title") in note.inner_text()
    note.get_by_role("link").press("Enter")
    expect(link).to_be_in_viewport()
    expect(link).to_be_focused()


def test_every_row_of_another_machine_or_setting_says_so(opened):
    page = opened("report.html")
    page.locator(COST).get_by_role("searchbox").fill("machine")
    marked = page.locator("#table-cost-heap tbody tr", has=page.locator("b"))
    assert marked.count() > 9
    assert marked.filter(has_text="machine").count() > 9


def test_keys_alone_reach_everything(opened):
    page = opened()
    page.keyboard.press("Tab")
    expect(page.locator(".skip")).to_be_focused()
    page.keyboard.press("Enter")
    expect(page.locator("#main")).to_be_focused()
    unreachable = page.evaluate(
        """() => [...document.querySelectorAll("button, a[href], input, select, [role=region]")]
             .filter((one) => one.checkVisibility() && one.tabIndex < 0).map((one) => one.outerHTML)"""
    )
    assert unreachable == []


def test_where_the_focus_is_can_be_seen(opened):
    page = opened()
    for _ in range(12):
        page.keyboard.press("Tab")
        style = page.evaluate("getComputedStyle(document.activeElement).outlineStyle")
        assert style == "solid"


def test_every_control_has_a_name(opened):
    page = opened("report.html")
    nameless = page.evaluate(
        """() => [...document.querySelectorAll("button, a[href], input, select, [role=region], [role=group], img")]
             .filter((one) => !["aria-label", "aria-labelledby", "alt", "title"].some((name) => one.getAttribute(name)))
             .filter((one) => !one.labels?.length && !one.textContent.trim()).map((one) => one.outerHTML)"""
    )
    assert nameless == []


def test_ids_are_unique_and_links_lead_somewhere(opened):
    page = opened("report.html")
    twice = page.evaluate(
        """() => { const ids = [...document.querySelectorAll("[id]")].map((one) => one.id);
                   return ids.filter((id, at) => ids.indexOf(id) !== at); }"""
    )
    assert twice == []
    lost = page.evaluate(
        """() => [...document.querySelectorAll("a[href^='#']")].filter((one) => one.checkVisibility())
             .map((one) => one.hash.slice(1))
             .filter((id) => !document.getElementById(id))"""
    )
    assert lost == []


def test_tables_say_what_they_are_to_a_screen_reader(opened):
    page = opened("report.html")
    for table in page.locator(".card.tables table").all():
        assert table.locator("caption").inner_text().strip()
        assert table.locator("thead th:not([scope=col])").count() == 0
        assert table.locator("tbody tr:not(:has(th[scope=row]))").count() == 0
    tree = page.locator("#table-cost-heap table").aria_snapshot()
    assert 'table "Cost per session: live heap"' in tree and 'columnheader "established"' in tree


def is_drawn(image: Locator) -> bool:
    expect(image).to_have_attribute("src", re.compile("^blob:"))
    return image.evaluate("one => one.decode().then(() => one.naturalWidth)") > 100


def test_pictures_are_drawn_and_saved(opened):
    page = opened()
    figure = page.locator("figure:has(img[data-of])").first
    figure.scroll_into_view_if_needed()
    assert is_drawn(figure.locator("img"))
    assert len(figure.locator("img").get_attribute("alt")) > 20
    for form, start in (("SVG", b"<?xml"), ("PNG", b"\x89PNG")):
        with page.expect_download() as download:
            figure.get_by_role("button", name=f"save as {form}").click()
        with open(download.value.path(), "rb") as file:
            assert file.read(5).startswith(start[:4])
        assert download.value.suggested_filename.endswith(f".{form.lower()}")


def test_of_several_pictures_one_is_seen(opened):
    page = opened("report.html")
    card = page.locator(".card.pictures", has=page.locator(".switch")).first
    card.locator(".switch button").nth(1).click()
    assert [figure.is_visible() for figure in card.locator("figure").all()][:2] == [False, True]
    second = card.locator("figure").nth(1)
    if second.locator("img").count():
        assert is_drawn(second.locator("img"))
    else:  # a page of this many recordings has no room for it
        expect(second.get_by_role("link")).to_have_attribute("href", re.compile(r"^report/index\.html#picture-"))


@pytest.mark.parametrize("size", [WIDE, NARROW])
@pytest.mark.parametrize("name", ["report.html", "report-small.html"])
def test_a_page_is_never_wider_than_its_window(opened, name, size):
    page = opened(name, size)
    assert page.evaluate("document.documentElement.scrollWidth <= window.innerWidth")


def test_the_stack_stays_in_sight_in_a_narrow_window(opened):
    page = opened(size=NARROW)
    box = page.locator("#table-cost-heap .box")
    box.evaluate("one => one.scrollLeft = 300")
    left = page.locator("#table-cost-heap tbody th").first.bounding_box()["x"]
    assert abs(left - box.bounding_box()["x"]) < 3


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_colours_follow_the_system_and_the_button(opened, scheme):
    page = opened(scheme=scheme)
    light = "getComputedStyle(document.body).backgroundColor === 'rgb(255, 255, 255)'"
    assert page.evaluate(light) == (scheme == "light")
    page.locator("#theme").click()
    assert page.evaluate(light) == (scheme != "light")


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("size", [WIDE, NARROW])
def test_screenshots(opened, size, scheme):
    """To be looked at: what each section begins with."""
    page = opened("report.html", size, scheme)
    for section in page.locator("main > section").all():
        section.evaluate("one => one.scrollIntoView()")
        page.wait_for_timeout(150)
        page.screenshot(path=PAGES / f"report-{size[0]}-{scheme}-{section.get_attribute('id')}.png")
