"""The table and the picture of stacks in use: figures by configuration, order, places, and what is not recorded."""

from collections.abc import Iterable

import pytest
from matplotlib import pyplot, rc_context

from tests.support import synthetic
from tests.support.in_use import BORING, OPENSSL, RUSTLS, SUITE, recorded
from tests.support.pictured import overlaps
from tlsmem.plots import in_use as picture
from tlsmem.plots.picture import STYLE
from tlsmem.schema.harness_output import Window
from tlsmem.schema.records import RecordLine
from tlsmem.stats.selection import Selection, select
from tlsmem.tables.in_use import in_use_table


@pytest.fixture
def selection() -> Selection:
    """BoringSSL holds more in use than at rest and has low memory; OpenSSL has it too; rustls refuses."""
    runs = [one for stack in (OPENSSL, RUSTLS, BORING) for one in recorded(stack)]
    runs += recorded(OPENSSL, "+tickets-library", 1_000) + recorded(OPENSSL, "+low-memory+tickets-library", -30_000)
    runs += recorded(BORING, "+tickets-library", 50_000)
    runs += recorded(RUSTLS, "+tickets-library")
    refused = synthetic.failed(RUSTLS, f"{SUITE}+low-memory+tickets-library", 100, "no such call", "unsupported")
    runs.append(refused.model_copy(update={"roles": "split", "argv": [*refused.argv, "data=full"]}))
    return select(runs)


def rows(selection: Selection, role: str) -> list[dict[str, str]]:
    table = in_use_table(selection)
    keys = [column.key for column in table.columns]
    found = [dict(zip(keys, [cell.text for cell in row], strict=True)) for row in table.rows]
    return [row for row in found if row["role"] == role]


def test_stacks_are_ranked_by_what_a_session_in_use_holds(selection):
    found = rows(selection, "server")
    assert [row["stack"] for row in found] == [RUSTLS, OPENSSL, BORING]
    assert [row["no_tickets"] for row in found] == ["6,400", "52,000", "19,000"]
    assert [row["in_use"] for row in found] == ["6,400", "53,000", "69,000"]
    assert [row["in_use_low_memory"] for row in found] == ["–", "22,000", "–"]


def test_allocations_of_a_full_record_each_way_are_counted(selection):
    assert [row["allocations"] for row in rows(selection, "server")] == ["3"] * 3
    assert [row["allocations"] for row in rows(selection, "client")] == ["0"] * 3
    assert [row["allocations_low_memory"] for row in rows(selection, "server")] == ["–", "3", "–"]


def test_places_say_who_moves(selection):
    found = {row["stack"]: (row["place_no_tickets"], row["place_in_use"]) for row in rows(selection, "server")}
    assert found == {RUSTLS: ("1", "1"), BORING: ("2", "3"), OPENSSL: ("3", "2")}


def by_windows(runs: Iterable[RecordLine], window: Window = 100) -> Selection:
    """The runs with so many handshakes at a time, as deployed-config has them."""
    return select([run.model_copy(update={"window": window}) for run in runs])


def test_what_has_no_figure_says_why(selection):
    notes = in_use_table(by_windows(selection.records)).footnotes()
    assert any("no such call" in note for note in notes)
    command = f"tools/tls-memtest measure deployed-config --stacks {BORING} --suites {SUITE}"
    assert any(note.endswith(f" not recorded; to record it: {command}") for note in notes)


def test_one_command_records_all_stacks_that_have_no_runs_in_a_configuration():
    table = in_use_table(by_windows([run for stack in (OPENSSL, BORING) for run in recorded(stack)]))
    command = f"tools/tls-memtest measure deployed-config --stacks {OPENSSL},{BORING} --suites {SUITE}"
    assert [note for note in table.footnotes() if "tls-memtest measure" in note] == [
        f"¹ not recorded; to record it: {command}"
    ]


def test_no_command_is_given_where_the_campaign_has_no_such_runs(selection):
    notes = in_use_table(by_windows(selection.records, "all")).footnotes()
    assert "tls-memtest measure" not in " ".join(notes) and any(note.endswith(" not recorded") for note in notes)


def test_runs_without_full_records_are_in_no_row():
    assert not in_use_table(select(synthetic.campaign([OPENSSL], [SUITE], roles="split"))).rows


def test_a_bar_is_what_is_in_use_a_diamond_low_memory_and_no_text_lies_over_another(selection, snapshot):
    with rc_context(STYLE):
        made = picture.figure(selection, "server")
    made.draw_without_rendering()
    (axes,) = made.axes
    assert sorted(bar.get_width() for bar in axes.patches) == [6_400, 53_000, 69_000]
    assert [line.get_xdata()[0] for line in axes.lines if line.get_marker() == "D"] == [22_000]
    assert {"6,400 B", "53,000 B", "69,000 B", "22,000 B", "–"} <= {text.get_text() for text in axes.texts}
    title = made.texts[0].get_text()
    assert "58%" in title and "OpenSSL" in title and "server" in title
    assert title == snapshot
    assert not overlaps(made)
    pyplot.close(made)


def test_the_title_of_the_picture_is_of_whatever_saves_most_and_its_caption_names_who_is_not_drawn(selection):
    runs = [run.model_copy(update={"stack": "openssl@1.1.1w"}) for run in selection.records if run.stack == OPENSSL]
    refused = synthetic.failed("go@1.27.4", SUITE, 100, "go1.27.4 crypto/tls: no (TLSv1.3, B, C)", "unsupported")
    older = select([*runs, *selection.records, refused.model_copy(update={"roles": "split", "window": 100})])
    with rc_context(STYLE):
        made = picture.figure(older, "server")
    texts = [text.get_text().replace("\n", " ") for text in made.texts]
    assert texts[0].endswith("in OpenSSL 1.1.1w") and texts[-1].startswith("Not drawn: Go crypto/tls (no). ")
    pyplot.close(made)


def test_a_suite_that_is_not_there_names_those_that_are(selection):
    with pytest.raises(ValueError, match=f"of other suites there are: {SUITE}"):
        picture.figure(selection, "server", "tls12-rsa-aes256")
