"""tools/tls-memtest cost LIBRARY --page: what a library's page says, and that each library has one."""

import re

import pytest

from tests.support import planted, synthetic
from tests.support.in_use import OPENSSL, RUSTLS, SUITE, record_peaks, recorded
from tlsmem.base.paths import ROOT
from tlsmem.config.libraries import libraries
from tlsmem.cost.library_page import describe_library
from tlsmem.store import recordings

PAGES = ROOT / "docs/reference/libraries"


@pytest.fixture
def recording(tmp_path):
    """Two releases of OpenSSL, the newer one with low memory too; rustls with its defaults."""
    older = [run.model_copy(update={"stack": "openssl@3.4.1"}) for run in recorded(OPENSSL, "+tickets-library")]
    runs = older + recorded(OPENSSL, "+tickets-library", 1_000)
    runs += recorded(OPENSSL, "+low-memory+tickets-library", -30_000) + recorded(RUSTLS, "+tickets-library")
    recordings.load_stack.cache_clear()
    return synthetic.write(tmp_path / "recording", [run.model_copy(update={"window": 100}) for run in runs])


def read_rows(page, heading):
    """The cells of the table below a heading, by the text of the first cells."""
    section = re.split(r"^## ", page, flags=re.MULTILINE)
    [text] = [one for one in section if one.startswith(heading)]
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in text.splitlines() if line.startswith("|")]


def test_a_page_has_the_releases_in_order_and_the_option_with_its_effect(recording):
    page = describe_library("openssl", SUITE, [recording])
    assert [row[:2] for row in read_rows(page, "Releases")[2:]] == [
        ["OpenSSL 3.4.1", "52,000"],
        ["OpenSSL 3.5.5", "53,000"],
    ]
    [low] = [row for row in read_rows(page, "Options") if row[:2] == ["server", "Live heap in use"]]
    assert low[2:] == ["53,000", "22,000", "-58 %"]


def test_what_is_not_recorded_stands_there_with_its_command(recording):
    page = describe_library("openssl", SUITE, [recording])
    command = f"tools/tls-memtest measure in-use-sites --stacks openssl@3.5.5 --suites {SUITE}"
    assert f"Not recorded, nor are the peaks. To record it: `{command}`." in page
    page = describe_library("rustls", SUITE, [recording])
    command = f"tools/tls-memtest measure deployed-config --stacks rustls+aws-lc@0.23.46 --suites {SUITE}"
    assert f"To record it: `{command}`." in page
    assert "## Releases" not in page


@pytest.mark.parametrize(("momentary", "alone"), [(planted.MOMENTARY, ["14,756", "client 1"]), (None, ["– ¹", "– ¹"])])
def test_a_page_has_both_peaks(tmp_path, momentary, alone):
    recording = synthetic.write(tmp_path / "recording", [record_peaks(momentary)])
    recordings.load_stack.cache_clear()
    page = describe_library("openssl", SUITE, [recording])
    rows = [row for row in read_rows(page, "What the bytes are for") if row[0].startswith("one ")]
    assert [row[0] for row in rows] == ["one session alone", "one more of many"]
    assert rows[0][1:] == alone and rows[1][1].replace(",", "").isdigit()
    assert momentary or "to record it: tools/tls-memtest measure in-use-sites --stacks openssl@3.5.5" in page


def test_a_library_without_a_recording_is_refused_in_a_sentence(recording):
    with pytest.raises(ValueError, match="bearssl: no recording has it"):
        describe_library("bearssl", SUITE, [recording])


@pytest.mark.parametrize("key", libraries())
def test_each_library_has_a_page_that_its_command_makes(key):
    page = (PAGES / f"{key}.md").read_text()
    assert (
        page.startswith(f"# {libraries()[key].name}\n")
        and f"<!-- begin: tools/tls-memtest cost {key} --page -->\n" in page
    )
    assert f"\n{key}\n" in (PAGES / "index.md").read_text()
