"""What a page knows beside its tree is what tables and pictures go by."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.explore.test_flamegraph_page import asked_of, made, read_run, script
from tests.support import planted
from tests.support.pairs import AT, BUFFER, OTHER, profile
from tlsmem.base.phase_names import READABLE_NAMES
from tlsmem.explore import profile_selection
from tlsmem.explore.diff.profile_diff import compare
from tlsmem.explore.flamegraph import profile_page
from tlsmem.explore.profile_tables import COLUMNS
from tlsmem.plots import bucket_panel
from tlsmem.plots.bucket_panel import text_on
from tlsmem.profile import sites_reader
from tlsmem.profile.heap_profile import BASE, PEAK

pytestmark = pytest.mark.page


@pytest.fixture(scope="module")
def about() -> dict:
    return script(profile_page.page(read_run("openssl@3.5.5"), "established", "server context"), "about")


def test_moments_whose_bytes_are_sessions_are_those_of_the_tables(about):
    profile = read_run("openssl@3.5.5")
    without = [name for name, is_so in zip(about["moments"], about["of_sessions"], strict=True) if not is_so]
    assert without == ["contexts", "freed"]
    assert without == [name for name in profile.moments if profile_selection.why_no_sessions(profile, name)]


def test_owners_are_shown_in_the_columns_of_the_tables(about):
    for column, owners in COLUMNS.items():
        assert {about["columns"][owner] for owner in owners} == {column}
    assert about["opens"]["role"] == "contexts" == about["columns"]["warm-up"]
    assert about["session_roles"] == [*profile_selection.ROLES]


def test_phases_are_said_as_in_pictures(about):
    assert about["readable"] == READABLE_NAMES


def test_peaks_of_phases_are_moments_that_say_they_are_of_one_session_alone(about):
    assert not any(about["alone"])
    run = planted.run("sites", 200, momentary=planted.MOMENTARY)
    page = profile_page.page(sites_reader.profile_from_record(run), "peak of client 1")
    found = script(page, "about")
    assert found["opens"]["phase"] == "peak of client 1"
    alone = [name for name, is_so in zip(found["moments"], found["alone"], strict=True) if is_so]
    words = "one session alone, each at its own peak: the two need not be at the same moment"
    assert asked_of(page, "[1, 2].map(peakSaid)") == [[words], []]
    assert alone == [f"peak of {name}" for name in found["moments"] if f"peak of {name}" in found["moments"]]
    assert found["readable"] == READABLE_NAMES | {
        f"peak of {name}": f"peak of {READABLE_NAMES.get(name, name)}"
        for name in (one.removeprefix("peak of ") for one in alone)
    }


def test_buckets_have_the_colours_of_the_picture(about):
    colours = {bucket: look["colour"] for bucket, look in about["looks"].items()}
    assert colours == {look.bucket: look.colour for look in (*bucket_panel.BUCKET_STYLES, bucket_panel.LEFT)}


def test_without_rules_there_are_no_buckets_to_colour():
    assert script(profile_page.page(made([(["f"], [(1, 1)])])), "about")["looks"] == {}


def test_a_diff_opens_on_what_changed_and_says_of_whom_each_figure_is():
    page = profile_page.diff_page(
        compare(profile({BUFFER: 4, OTHER: 2}, "openssl@3.4.1"), profile({BUFFER: 10, OTHER: 2}))
    )
    assert script(page, "about")["opens"] == {"phase": "change", "role": "all"}
    named = "const named = (at) => at.name === 'ssl3_read_n' ? at : at.children.map(named).find(Boolean);"
    read = "named(framesAt(2, 'all'))"
    found = (
        f"[unitOf(WHOLE, 'all'), unitOf(WHOLE, 'client'), labelOf(WHOLE, 'all'), "
        f"labelOf({read}, 'all'), labelOf({read}, 'server')]"
    )
    whole, client, *labels = asked_of(page, found, named)
    assert (whole, client) == ({"by": 1, "said": " in the process"}, {"by": 2, "said": " per client session"})
    assert labels == ["▲ all +6 B in the process", "▲ ssl3_read_n +3 B per server session", "▲ ssl3_read_n +3 B"]
    assert asked_of(page, "[0, 1, 2].map(addedUp)") == ["", "", " more + less"]


def test_at_the_peak_of_several_sessions_it_is_said_why_figures_are_fractions():
    moments = {BASE: {}, PEAK: {BUFFER: 5}, AT: {BUFFER: 4}}
    words = ["the peak falls within a step: not all sessions are equal then"]
    assert asked_of(profile_page.page(profile(moments)), "[0, 1, 2].map(peakSaid)") == [[], words, []]
    assert asked_of(profile_page.page(profile(moments, sessions_of_role=1)), "peakSaid(1)") == []
    at_peak = profile_page.diff_page(compare(profile(moments, "openssl@3.4.1"), profile(moments), PEAK))
    assert asked_of(at_peak, "[0, 1, 2].map(peakSaid)") == [words] * 3


def luminance(colour: str) -> float:
    parts = [int(colour[at : at + 2], 16) / 255 for at in (1, 3, 5)]
    linear = [part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts]
    return sum(weight * part for weight, part in zip((0.2126, 0.7152, 0.0722), linear, strict=True))


@given(st.from_regex("#[0-9a-f]{6}", fullmatch=True))
def test_text_stands_out_on_any_colour(colour):
    one, other = sorted((luminance(colour), luminance(text_on(colour))))
    assert (other + 0.05) / (one + 0.05) > 4.5
