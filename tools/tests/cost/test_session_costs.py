"""The library answers as the command does."""

import json
import sys
from typing import get_type_hints

import pytest

import tlsmem
from tests.support import forked_command, planted
from tlsmem.base.errors import UserError
from tlsmem.base.paths import ROOT
from tlsmem.cost.session_costs import SessionCost

SIZES = ("live_heap_in_use_bytes", "rss_at_rest_bytes", "rss_in_use_bytes")
COMMAND = [sys.executable, ROOT / "tools/tls-memtest", "cost", "--format", "json"]


@pytest.mark.parametrize(
    "words", [(), ("openssl",), ("openssl@3.5.5", "rustls"), ("gnutls", "--suite", "tls12-rsa-aes256")]
)
def test_each_row_has_the_figures_of_the_command(words):
    stacks = [word for word in words if "-" not in word]
    suite = words[-1] if "--suite" in words else None
    stacks = [word for word in stacks if word != suite]
    rows = json.loads(forked_command.run([*COMMAND, *words], cwd=ROOT).stdout)["tables"][0]["rows"]
    found = tlsmem.costs(*stacks, suite=suite)
    assert len(found) == len(rows) > 0
    for one, row in zip(found, rows, strict=True):
        for name in ("stack", "suite", "role", "configuration", "state", *SIZES):
            known = row[name]
            if isinstance(known, dict):
                assert (getattr(one, name), one.missing[name]) == (None, known["hole"])
            else:
                assert getattr(one, name) == known
        assert (one.recording or "") == row["recording"]


def test_a_role_is_chosen_and_a_recording_named():
    (here,) = {one.recording for one in tlsmem.costs("openssl@3.5.5", role="client")}
    assert {one.role for one in tlsmem.costs("openssl@3.5.5", role="client", recordings=(here,))} == {"client"}


@pytest.mark.parametrize(
    ("stacks", "options", "sentence"),
    [
        (["opensl"], {}, "unknown library or stack: opensl; did you mean openssl"),
        (["openssl"], {"suite": "tls13-rsa-aes265"}, "no suite tls13-rsa-aes265; did you mean tls13-rsa-aes256"),
        (["openssl"], {"role": "peer"}, "role peer: there are client and server"),
        (["openssl"], {"recordings": ("nosuch",)}, "nosuch: no such recording"),
    ],
)
def test_what_cannot_be_is_one_sentence(stacks, options, sentence):
    with pytest.raises(UserError, match=sentence) as error:
        tlsmem.costs(*stacks, **options)
    assert "--" not in str(error.value) and "\n" not in str(error.value)


def test_a_profile_is_read_of_any_form_and_a_file_of_none_is_one_sentence(tmp_path):
    written = planted.write(tmp_path / "recording", planted.counted())
    profile = tlsmem.read_profile(written / f"{planted.STACK}.jsonl")
    assert profile.moments["established"].live
    (tmp_path / "text").write_text("text")
    with pytest.raises(UserError, match="text: not a heap profile; accepted: heaptrack, massif"):
        tlsmem.read_profile(tmp_path / "text")


def test_all_fields_have_types():
    assert set(get_type_hints(SessionCost)) == set(SessionCost._fields)
