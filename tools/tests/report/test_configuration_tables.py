"""Every stack in three configurations: a row each, and who changes rank among servers."""

import pytest

from tests.support.in_use import BORING, OPENSSL, RUSTLS, recorded
from tlsmem.base.paths import ROOT
from tlsmem.report.configuration_tables import configuration_tables, find_compared
from tlsmem.report.recordings import by_machine


@pytest.fixture
def runs():
    """BoringSSL holds more in use than OpenSSL, and less at rest."""
    plain = [one for stack in (OPENSSL, RUSTLS, BORING) for one in recorded(stack)]
    in_use = recorded(OPENSSL, "+tickets-library", 1_000) + recorded(OPENSSL, "+low-memory+tickets-library", -30_000)
    return plain + in_use + recorded(BORING, "+tickets-library", 50_000) + recorded(RUSTLS, "+tickets-library")


def read(*several):
    """Recordings of these runs, as if they were read."""
    return list(by_machine({f"data/{at}": runs for at, runs in enumerate(several)}))


def table(recordings):
    (shown,) = configuration_tables(find_compared(recordings, [ROOT / one.path for one in recordings]), "command")
    assert shown.command == "command --table in-use"
    return shown.table


def servers(made) -> dict[str, dict[str, str]]:
    keys = [column.key for column in made.columns]
    rows = [dict(zip(keys, [cell.text for cell in row], strict=True)) for row in made.rows]
    return {row["stack"]: row for row in rows if row["role"] == "server"}


def test_a_row_has_the_three_configurations_and_the_caption_says_who_changes_rank(runs):
    made = table(read(runs))
    openssl = servers(made)[OPENSSL]
    assert [openssl[key] for key in ("no_tickets", "in_use", "in_use_low_memory")] == ["52,000", "53,000", "22,000"]
    assert f"{OPENSSL} from 3 to 2" in made.caption and f"{BORING} from 2 to 3" in made.caption
    assert f"{RUSTLS} from" not in made.caption


def test_recordings_of_one_machine_are_one_table_and_the_first_has_precedence(runs):
    newer = recorded(RUSTLS, more_bytes=70_000) + recorded(RUSTLS, "+tickets-library", 70_000)
    made = table(read(newer, runs))
    assert {*servers(made)} == {OPENSSL, RUSTLS, BORING}
    assert servers(made)[RUSTLS]["in_use"] == "76,400" and len(made.rows) == 6


def test_without_both_places_there_is_no_table():
    recordings = read(recorded(OPENSSL))
    assert not configuration_tables(find_compared(recordings, [ROOT / one.path for one in recordings]), "command")
