"""A million sessions, with fewer of them: what is run, predicted, recorded, and refused."""

import json
import os
import subprocess
import sys

import pytest

from tests.support import forked_command
from tlsmem.base.paths import ROOT


def c1m(*options: str) -> subprocess.CompletedProcess[str]:
    words = [sys.executable, ROOT / "tools/tls-memtest", "measure", "c1m", *options]
    return forked_command.run(words, env=os.environ | {"COLUMNS": "200"})


@pytest.mark.thorough
def test_sessions_of_the_null_stack_are_as_predicted_and_made_once(tmp_path):
    """Its sessions take 4 KiB each, whatever their number; the second call finds all of them recorded."""
    words = ("--stack=null@c", "--window=10", "--n=3000", f"--out={tmp_path}")
    first = c1m(*words)
    assert first.returncode == 0, first.stderr
    runs = [json.loads(line) for line in (tmp_path / "null@c.jsonl").read_text().splitlines()]
    assert [(run["sessions"], run["window"], run["roles"]) for run in runs] == [
        (200, 10, "keep-server"),
        (400, 10, "keep-server"),
        (6000, 10, "keep-server"),
    ]
    assert "null@c: 3,000 server sessions need 0.0" in first.stderr
    assert "| null@c |    3,000 |       4,0" in first.stdout
    second = c1m(*words)
    assert (second.returncode, second.stderr) == (0, "")
    assert second.stdout == first.stdout


@pytest.mark.thorough
def test_fresh_makes_the_largest_run_again_too(tmp_path):
    """What the recording has of that is no reason to leave it out, once the two small runs are made again."""
    words = ("--stack=null@c", "--window=10", "--n=3000", f"--out={tmp_path}")
    for options in (), ("--fresh",):
        done = c1m(*words, *options)
        assert done.returncode == 0, done.stderr
    runs = [json.loads(line) for line in (tmp_path / "null@c.jsonl").read_text().splitlines()]
    assert [run["sessions"] for run in runs] == [200, 400, 6000] * 2


@pytest.mark.thorough
def test_memory_that_is_left_to_others_limits_the_number(tmp_path):
    """Of 10,000 GiB nothing is left for sessions: the two small runs stay, and the sentence names what fits."""
    refused = c1m("--stack=null@c", "--window=10", "--n=3000", "--reserve=10000", f"--out={tmp_path}")
    assert refused.returncode == 1
    assert "the largest number that fits is 0, and a comparison needs more than 200" in refused.stderr
    assert len((tmp_path / "null@c.jsonl").read_text().splitlines()) == 2


@pytest.mark.thorough
def test_options_of_the_library_are_runs_of_their_own(tmp_path):
    """A suite with options is another suite: what was recorded without them is not taken for it."""
    words = ("--stack=openssl@3.5.5", "--window=2", "--n=60", f"--out={tmp_path}")
    c1m(*words)
    second = c1m(*words, "--options=low-memory")
    runs = [json.loads(line) for line in (tmp_path / "openssl@3.5.5.jsonl").read_text().splitlines()]
    assert [run["suite"] for run in runs] == [*["tls13-ecdsa-aes256"] * 3, *["tls13-ecdsa-aes256+low-memory"] * 3]
    assert "tls13-ecdsa-aes256+low-memory" in second.stdout


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        (
            ["--n=20000"],
            "N=20000 is predicted from runs of 10000 and 20000 sessions, 10 and 20 times WINDOW; give more",
        ),
        (
            ["--stack=opensll@3.5.5"],
            "--stack: memtest/stacks.toml has no stack opensll@3.5.5; did you mean openssl@3.5.5",
        ),
        (["--role=both"], "--role=both must be client or server"),
        (["--window=all"], "--window=all is not a whole number"),
    ],
)
def test_what_cannot_be_is_refused_before_anything_is_run(options, sentence):
    refused = c1m(*options)
    assert refused.returncode == 2
    assert sentence in refused.stderr
    assert "Traceback" not in refused.stderr
