"""Ours beside what was published: the figures of the file, the difference, and per session."""

import pytest

from tests.support import synthetic
from tlsmem.schema.records import RecordLine
from tlsmem.stats.selection import select
from tlsmem.tables import catalogue, published

OPENSSL, RUSTLS, SUITE = "openssl@3.2.0", "rustls+aws-lc+jemalloc-rust@0.22.0", "tls12-rsa-aes256"


def of_then(factor: float = 1.0) -> list[RecordLine]:
    runs = [run.model_copy(update={"stack": OPENSSL}) for run in synthetic.campaign(["openssl@3.5.5"], [SUITE])]
    return [synthetic.scaled(run, factor, 1) if run.meter == "rss" else run for run in runs]


def test_the_file_names_stacks_and_suites_as_we_do():
    found = published.load_published_peaks()
    assert found[OPENSSL, SUITE, 10_000] == (756_380, "2023-12-18")
    assert found[RUSTLS, "tls13-rsa-aes256", 100] == (11_536, "2023-12-18")
    assert found["rustls+ring@0.16", SUITE, 1_000] == (29_836, "2019-07-02")


def test_ours_stand_beside_it_with_the_difference():
    table = published.published_peak_table(select(of_then()))
    assert [row[2].value for row in table.rows] == [100, 1_000, 5_000, 10_000]
    row = table.rows[-1]
    peak = max(phase.peak_rss_bytes for phase in synthetic.record("openssl@3.5.5", SUITE, 10_000).phases) / 1024
    assert [cell.value for cell in row[3:6]] == ["2023-12-18", 756_380, pytest.approx(peak)]
    assert row[6].value == pytest.approx(peak - 756_380)
    assert row[7].value == pytest.approx((peak - 756_380) * 1024 / 10_000, abs=0.1)
    assert row[6].text[0] in "+-"


def test_what_was_not_measured_is_a_hole_with_its_reason():
    runs = [run for run in of_then() if run.sessions != 5_000]
    row = published.published_peak_table(select(runs)).rows[2]
    assert [cell.note for cell in row[5:]] == ["not measured"] * 3


def test_other_stacks_have_no_rows_and_are_told_what_is_needed(snapshot):
    with pytest.raises(ValueError, match="published") as error:
        catalogue.build(select(synthetic.campaign(["openssl@3.5.5"], [SUITE])), ["published"])
    assert str(error.value) == snapshot
