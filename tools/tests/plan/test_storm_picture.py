"""The picture of a storm: its title and caption, and that everybody tells what its areas are."""

import pytest
from matplotlib import pyplot

from tests.support import commands, synthetic
from tests.support.colour_vision import find_alike
from tests.support.pictured import title_of
from tests.support.planned import STACK, default_runs
from tlsmem.plan import storm_answer, storm_picture
from tlsmem.plan.request import requested_case
from tlsmem.store import recordings


@pytest.fixture
def given(tmp_path):
    """What was asked for: a storm of 100 clients, ten handshakes a second."""
    recordings.load_stack.cache_clear()
    path = synthetic.write(tmp_path / "2026-01-31-cpu", default_runs())
    words = f"--clients 100 --within 1s --handshake-rate 10 --cores 1 --stack {STACK} --recording {path}"
    return commands.parse("plan storm", *words.split())


def test_a_picture_names_the_release_its_time_and_where_its_figures_are_from(given):
    storm = storm_answer.run_storm(given, requested_case(given, STACK), given.clients)
    title = storm_answer.storm_finding([storm], "100 clients back within 1 s")
    made = storm_picture.figure([storm], title, storm_picture.describe_settings([storm], given))
    size, seconds = storm_answer.format_size(storm.memory.peak[1]), storm_answer.format_seconds(storm.end_s)
    assert title_of(made) == f"100 clients back within 1 s: {size} and {seconds} with OpenSSL 3.5.5"
    caption = made.texts[-1].get_text().replace("\n", " ")
    assert "TLS 1.3, AES-256-GCM" in caption and "2026-01-31-cpu" in caption and "Handshake rate: " in caption
    assert f"peak {size} after" in " ".join(text.get_text() for text in made.axes[1].texts)
    assert find_alike(made) == []
    pyplot.close(made)


def test_a_title_has_no_room_for_more_than_three_stacks(given):
    storm = storm_answer.run_storm(given, requested_case(given, STACK), given.clients)
    assert storm_answer.storm_finding([storm] * 3, "event").count("OpenSSL 3.5.5") == 3
    assert storm_answer.storm_finding([storm] * 4, "event") == "event"
