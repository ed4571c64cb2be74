"""The report at a glance: its sentences and bars by known answers."""

import re

import pytest

from tests.cli.test_report import MACHINE, OPENSSL, RUSTLS, SUITE, read, text_page
from tests.support import synthetic, synthetic_timed
from tlsmem.report import page, ranking, summary_section, table_html
from tlsmem.report.sections import Section, ShownTable, mark_code
from tlsmem.stats.series import Series, Setting
from tlsmem.tables.stacks import StackRow
from tlsmem.tables.table import Column, Table, text_cell

BORINGSSL = "boringssl@5.4.0"
OLDER = "tls12-rsa-aes256"


@pytest.fixture
def three(tmp_path):
    return read(tmp_path, synthetic.campaign([OPENSSL, RUSTLS, BORINGSSL], [SUITE], roles="split"))


def words(recordings) -> str:
    return re.sub(r"\s+", " ", re.sub("<[^>]+>", "", str(summary_section.section(recordings).html)))


def findings(recordings) -> str:
    """What is said below the machine, which differs."""
    return words(recordings).removeprefix(f"Measured on {recordings[0].about_machine}")


def test_it_says_the_ends_and_openssl_beside_rustls(three, snapshot):
    said = findings(three)
    for figures in ("6.2 to 50.8 KiB", "8.1 times", "50.8 and 6.2 KiB", "80.1 and 10.9 KiB"):
        assert figures in said
    assert said == snapshot


def test_bars_are_of_the_widest_peak_the_smallest_first(three):
    (shown,) = summary_section.section(three).tables
    made = table_html.html_table(shown)
    assert [row[0].text for row in made.rows] == [RUSTLS, BORINGSSL, OPENSSL]
    ends = [row[1].bar for row in made.rows]
    assert ends == [(7.8, 13.7), (23.2, 34.1), (63.4, 100.0)]  # of 82,000 bytes
    assert [row[1].text for row in made.rows] == ["6.2", "18.6", "50.8"]


def test_the_machine_is_said_and_a_second_one_warned_of(tmp_path, three):
    assert words(three).startswith(f"Measured on {three[0].about_machine}")
    here = synthetic.campaign([OPENSSL], [SUITE])
    there = [one.model_copy(update={"machine": one.machine.model_copy(update=MACHINE)}) for one in here]
    said = words(read(tmp_path / "mixed", here, there))
    assert re.search(r"Measured on A: .* B: Another CPU, .*Recordings of 2 machines, A, B", said)


def test_of_failures_only_the_machine_is_said(tmp_path):
    found = read(tmp_path, [synthetic.failed(OPENSSL, SUITE, 100, "killed by SIGKILL")])
    section = summary_section.section(found)
    assert section.tables == () and "no run was measured" in words(found) and "KiB of live heap" not in words(found)


def test_it_is_first_and_what_was_measured_last(three):
    ids = re.findall(r'<section id="([^"]+)"', text_page(three))
    assert (ids[0], ids[-1]) == ("glance", "measured")


def agreed(record, protocol):
    return record.model_copy(update={"negotiated": record.negotiated.model_copy(update={"protocol": protocol})})


def test_nearly_as_many_stacks_of_tls_1_3_come_before_older_suites(tmp_path):
    stacks = [OPENSSL, RUSTLS, BORINGSSL]
    older = [agreed(one, "TLSv1.2") for one in synthetic.campaign(stacks, [OLDER])]
    both = older + synthetic.campaign(stacks, [SUITE])
    assert ranking.best_ranking(read(tmp_path / "as-many", both)).setting.suite == SUITE
    few = older + synthetic.campaign(stacks[:1], [SUITE])
    assert ranking.best_ranking(read(tmp_path / "few", few)).setting.suite == OLDER


def test_handshakes_a_second_of_the_slowest_and_the_fastest_server(tmp_path, snapshot):
    stacks = [OPENSSL, RUSTLS]
    said = findings(read(tmp_path, synthetic_timed.campaign(stacks, [SUITE])))
    assert "2,000 to 2,500 a second" in said and said == snapshot
    assert "a second" not in words(read(tmp_path / "one", synthetic_timed.campaign(stacks[:1], [SUITE])))


def shown_of(*stacks: str) -> list[str]:
    setting = Setting(SUITE, "system", "all", "split")
    rows = [StackRow(Series(stack, setting, ()), "server") for stack in stacks]
    return [row.stack for row in ranking.newest_releases(rows)]


def test_of_each_library_the_newest_release_stands_for_it():
    assert shown_of("openssl@3.5.5", "openssl@3.10.0", "openssl@4.0.0-dev.1") == ["openssl@3.10.0"]
    assert shown_of("openssl+clang@3.5.5", "openssl@3.5.5") == ["openssl@3.5.5"]
    providers = ["rustls+ring@0.23.46", "rustls+aws-lc@0.23.46"]
    assert shown_of(*providers, "rustls+aws-lc+jemalloc-rust@0.23.46") == providers
    assert shown_of("gnutls@system", "gnutls@3.8.9") == ["gnutls@3.8.9"]
    assert shown_of("gnutls@system") == ["gnutls@system"]
    assert shown_of("openssl@git-3f2a1b9c04de", "openssl@path-9d0c71aa03b2") == [
        "openssl@git-3f2a1b9c04de",
        "openssl@path-9d0c71aa03b2",
    ]


def test_the_newest_come_first_whatever_the_library():
    stacks = ["openssl@3.5.5", "openssl+clang@4.0.3", "openssl@4.0.3", "openssl@5.0.0-dev.1", "gnutls@system"]
    assert ranking.sort_newest_first(stacks)[:3] == ["openssl@4.0.3", "openssl+clang@4.0.3", "openssl@3.5.5"]


def test_names_break_after_a_plus_or_an_at_only():
    assert page.breakable("rustls+aws-lc@0.23.46<") == "rustls+<wbr>aws-lc@<wbr>0.23.46&lt;"
    table = Table(
        "t", "T", "Made by `tools/x.py <NAME>`.", [Column("stack", "stack", left=True)], [[text_cell(RUSTLS)]]
    )
    text = page.page("T", "s", [Section("one", "One", tables=(ShownTable(table, "command"),))])
    assert "<th scope=row>rustls+<wbr>aws-lc@<wbr>0.23.46" in text
    assert "Made by <code>tools/x.py &lt;NAME&gt;</code>." in text


def test_what_stands_between_backticks_is_code_and_nothing_else():
    assert mark_code("a `b` and `c`") == "a <code>b</code> and <code>c</code>"
    assert mark_code("a ` b < c") == "a ` b &lt; c"


def test_long_texts_are_folded_up_with_nothing_lost():
    flags = "-O2 " * 60
    columns = [Column("stack", "stack", left=True), Column("flags", "flags", left=True)]
    table = Table(
        "t", "T", "Caption.", columns, [[text_cell(OPENSSL), text_cell(flags)], [text_cell(RUSTLS), text_cell("-g1")]]
    )
    text = page.page("T", "s", [Section("one", "One", tables=(ShownTable(table, "command"),))])
    assert f"</summary>{flags}</details>" in text and text.count("<details>") == 1
