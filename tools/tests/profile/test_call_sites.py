"""Call sites of a profile: planted ones are found with their bytes, the largest first, as `heap read` lists them."""

import re

import pytest

import tlsmem
from tests.support import planted
from tlsmem.base.errors import UserError
from tlsmem.base.paths import ROOT
from tlsmem.explore import top_sites

PROFILE = "2026-11-21-amd-epyc-2/profiles/openssl@3.5.5.tls13-rsa-aes256.1000.heaptrack.zst"


@pytest.fixture
def recording(tmp_path):
    return planted.write(tmp_path / "recording", planted.counted())


@pytest.mark.parametrize("owner", ["client", "server"])
def test_planted_sites_are_there_with_their_bytes_and_their_callers_the_largest_first(recording, owner):
    sites = tlsmem.read_profile(recording).call_sites("established", owner)
    found = {site.callers[0].function: (site.bytes, site.blocks) for site in sites}
    assert found == planted.SITES[owner]
    assert [site.bytes for site in sites] == sorted((site.bytes for site in sites), reverse=True)
    assert {site.owner for site in sites} == {owner}
    assert [one.function for one in sites[0].callers] == ["SSL_new", f"{owner}_handshake", "main"]
    assert str(sites[0].callers[0]) == "SSL_new (ssl.c:11)"


def test_without_an_owner_all_sites_are_there(recording):
    profile = tlsmem.read_profile(recording)
    assert sum(site.bytes for site in profile.call_sites("established")) == profile.moments["established"].bytes
    assert {site.owner for site in profile.call_sites("established")} == {"client", "server"}


@pytest.mark.thorough
def test_they_are_the_rows_of_heap_read():
    profile = tlsmem.read_profile(PROFILE)
    table = top_sites.top_sites_table(profile, "reply", "server", rows=1000)
    rows = [(row[0].value, row[1].value) for row in table.rows]
    assert [(site.bytes, site.blocks) for site in profile.call_sites("reply", "server")] == rows
    assert len(rows) > 20


def test_a_moment_that_is_not_there_is_one_sentence_with_those_that_are(recording):
    with pytest.raises(UserError, match=r"openssl@3.5.5.jsonl: no moment establised; it has contexts, .*established"):
        tlsmem.read_profile(recording).call_sites("establised")


def test_an_owner_that_is_none_is_one_sentence(recording):
    with pytest.raises(UserError, match="owner sever: there are client, server, client context"):
        tlsmem.read_profile(recording).call_sites("established", "sever")


def test_a_name_below_data_is_found_from_anywhere(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert tlsmem.read_profile(PROFILE).file == str(ROOT / "data" / PROFILE)


@pytest.mark.thorough
@pytest.mark.parametrize(
    ("asked", "sentence"),
    [
        ({"suite": "tls12-rsa-aes256"}, "this profile is of openssl@3.5.5, tls13-rsa-aes256"),
        ({"stack": "rustls+ring@0.23.46"}, "this profile is of openssl@3.5.5, tls13-rsa-aes256"),
    ],
)
def test_a_profile_of_another_suite_or_stack_is_refused(asked, sentence):
    with pytest.raises(UserError, match=re.escape(sentence)):
        tlsmem.read_profile(PROFILE, **asked)


def test_a_recording_without_the_stack_is_refused(recording):
    with pytest.raises(UserError, match=r"no runs of the stack openssl@3.5.4; did you mean openssl@3.5.5"):
        tlsmem.read_profile(recording, stack="openssl@3.5.4")
