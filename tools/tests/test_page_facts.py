"""What a page knows beside its tree is what tables and pictures go by."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from test_flame_page import made, of_sites, script

from buckets import bucket_looks
from colours import text_on
from flames import flame_page
from phases import READABLE
from views import choice
from views.profile_tables import COLUMNS


@pytest.fixture(scope="module")
def about() -> dict:
    return script(flame_page.page(of_sites("openssl@3.5.5"), "established", "server context"), "about")


def test_moments_whose_bytes_are_sessions_are_those_of_the_tables(about):
    profile = of_sites("openssl@3.5.5")
    without = [name for name, is_so in zip(about["moments"], about["of_sessions"], strict=True) if not is_so]
    assert without == ["contexts", "freed"]
    assert without == [name for name in profile.moments if choice.without_sessions(profile, name)]


def test_owners_are_shown_in_the_columns_of_the_tables(about):
    for column, owners in COLUMNS.items():
        assert {about["columns"][owner] for owner in owners} == {column}
    assert about["opens"]["role"] == "contexts" == about["columns"]["warm-up"]
    assert about["session_roles"] == [*choice.ROLES]


def test_phases_are_said_as_in_pictures(about):
    assert about["readable"] == READABLE


def test_buckets_have_the_colours_of_the_picture(about):
    colours = {bucket: look["colour"] for bucket, look in about["looks"].items()}
    assert colours == {look.bucket: look.colour for look in (*bucket_looks.LOOKS, bucket_looks.LEFT)}


def test_without_rules_there_are_no_buckets_to_colour():
    assert script(flame_page.page(made([(["f"], [(1, 1)])])), "about")["looks"] == {}


def luminance(colour: str) -> float:
    parts = [int(colour[at : at + 2], 16) / 255 for at in (1, 3, 5)]
    linear = [part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts]
    return sum(weight * part for weight, part in zip((0.2126, 0.7152, 0.0722), linear, strict=True))


@given(st.from_regex("#[0-9a-f]{6}", fullmatch=True))
def test_text_stands_out_on_any_colour(colour):
    one, other = sorted((luminance(colour), luminance(text_on(colour))))
    assert (other + 0.05) / (one + 0.05) > 4.5
