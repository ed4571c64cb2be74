"""The section and the picture of many sessions in one process: what bars are, and what is warned of."""

import pytest
from matplotlib import pyplot

from tests.support import synthetic
from tests.support.colour_vision import find_alike
from tests.support.pictured import overlaps
from tlsmem.report import recordings
from tlsmem.stats.selection import select
from tlsmem.topics.million import picture as million
from tlsmem.topics.million import section as million_section
from tlsmem.topics.million.table import find_rows

GIB = 1 << 30
OPENSSL, RUSTLS = "openssl@3.5.5", "rustls+aws-lc@0.23.46"


def run(stack, sessions, each, more=0, suite="tls13-ecdsa-aes256"):
    """A server's process with so many sessions of so many bytes, and `more`."""
    one = synthetic.record(stack, suite, 2 * sessions, window=100, roles="keep-server")
    peak = 5_000_000 + each * sessions + more
    phases = [phase.model_copy(update={"peak_rss_bytes": peak, "wire_bytes": 0}) for phase in one.phases]
    return one.model_copy(update={"phases": phases})


def runs(stack, largest, each, more=0, suite="tls13-ecdsa-aes256"):
    """Two that predict, and one that is to be as predicted, but for `more` bytes."""
    return [run(stack, 1000, each, 0, suite), run(stack, 2000, each, 0, suite), run(stack, largest, each, more, suite)]


@pytest.fixture
def records():
    low = runs(OPENSSL, 100_000, 20_000, suite="tls13-ecdsa-aes256+low-memory")
    return [*runs(RUSTLS, 1_000_000, 8_000), *runs(OPENSSL, 200_000, 40_000, more=400_000_000), *low]


def test_a_bar_is_what_a_million_take_measured_or_by_the_line(records):
    rows = list(find_rows(select(records)))
    made, axes = pyplot.subplots(figsize=(9, 5), layout="constrained")
    million.draw(made, axes, rows)
    widths = [bar.get_width() for bar in axes.patches]
    assert widths == pytest.approx([size / GIB for size in (8_005_000_000, 20_005_000_000, 40_405_000_000)])
    names = [text.get_text() for text in axes.get_yticklabels()]
    assert names == ["rustls 0.23.46 (aws-lc)", "OpenSSL 3.5.5, low-memory", "OpenSSL 3.5.5"]
    assert [text.get_text() for text in axes.texts] == [
        "7.46 GiB (+0.00 %)",
        "≈ 18.6 GiB, from 100,000 (+0.00 %)",
        "≈ 37.6 GiB, from 200,000 (+5.00 %)",
    ]
    made.draw_without_rendering()
    assert not overlaps(made) and not find_alike(made)
    pyplot.close(made)


def test_clients_are_rows_of_their_own(records):
    """A picture of servers does not name them."""
    assert {million.name_kept_role(row) for row in find_rows(select(records))} == {"server"}
    clients = [one.model_copy(update={"roles": "keep-client"}) for one in records[:3]]
    rows = list(find_rows(select([*records[:3], *clients])))
    made, axes = pyplot.subplots(figsize=(9, 5), layout="constrained")
    million.draw(made, axes, rows)
    assert {text.get_text() for text in axes.get_yticklabels()} == {
        "rustls 0.23.46 (aws-lc)",
        "rustls 0.23.46 (aws-lc), clients",
    }
    assert any("a million live server or client sessions" in text.get_text() for text in made.texts)
    pyplot.close(made)


def test_the_title_is_of_the_shortest_and_the_longest_bar_and_marks_what_was_not_run(records):
    rows = list(find_rows(select(records)))
    title = "A million sessions take 7.5 GiB with rustls 0.23.46 (aws-lc), ≈ 37.6 GiB with OpenSSL 3.5.5; "
    assert million.describe_finding(rows) == title + "two small runs predict each run within 5.00 %"
    one = list(find_rows(select(records[:3])))
    title = (
        "A million sessions take 7.5 GiB with rustls 0.23.46 (aws-lc); two small runs predict each run within 0.01 %"
    )
    assert million.describe_finding(one) == title


def test_what_is_off_is_a_warning(records):
    section = million_section.section(list(recordings.by_machine({"data/example": records})))
    assert "2 of 3 configurations took what two runs of 10 and 20 windows predicted, within 1 %" in section.html
    assert "with up to 1,000,000 sessions" in section.html
    assert "Warning: OpenSSL 3.5.5 differs from the prediction by +5.00 %." in section.html
    assert [table.table.name for table in section.tables] == ["c1m"]


def test_recordings_without_many_sessions_have_no_section():
    few = recordings.by_machine({"data/example": runs(OPENSSL, 5_000, 40_000)})
    assert million_section.section(list(few)) is None


def test_each_stack_is_of_the_recording_that_has_its_largest_run():
    """A later recording with few sessions of one stack does not hide the others."""
    loaded = {"data/later": runs(OPENSSL, 200_000, 40_000), "data/earlier": runs(RUSTLS, 1_000_000, 8_000)}
    loaded["data/earlier"] += runs(OPENSSL, 100_000, 40_000)
    section = million_section.section(list(recordings.by_machine(loaded)))
    assert "with up to 1,000,000 sessions" in section.html and "2 of 2 configurations" in section.html
    assert [shown.table.name for shown in section.tables] == ["c1m-later", "c1m-earlier"]
    assert {shown.group for shown in section.tables} == {"c1m"}
    (picture,) = section.pictures
    assert picture.command.startswith(
        "tools/tls-memtest show report data/later data/earlier --format files --picture million "
    )
