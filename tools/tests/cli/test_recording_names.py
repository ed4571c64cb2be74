"""Every command that reads a recording takes its name without data/, and has the nearest names for one that is not
there."""

import subprocess

import pytest

from tests.support import commands, forked_command
from tlsmem.base.paths import ROOT

KNOWN, NEAR = "2026-11-24-amd-epyc-p0457-live", "2026-11-24-amd-epyc-p0457-lvie"
SITES = "2026-11-21-amd-epyc-2"
READERS = {
    "measure live": [],
    "data verify": [],
    "show tables": ["--table", "settings"],
    "why": [],
    "show report": ["--format", "markdown", "--table", "settings"],
}


def run(command: str, name: str, *options: str) -> subprocess.CompletedProcess:
    return forked_command.run([*commands.command_line(command), name, *options], cwd=ROOT)


@pytest.mark.parametrize("command", READERS)
def test_a_name_that_is_not_there_is_one_sentence_with_the_nearest(command):
    refused = run(command, NEAR)
    assert (refused.returncode, refused.stdout) == (1, "") and refused.stderr.count("\n") == 1
    assert f": {NEAR}: no such recording" in refused.stderr and f"did you mean {KNOWN}" in refused.stderr


def test_a_gate_has_the_nearest_recordings():
    refused = run("gate", "docs/BUDGET.toml", "--recording", NEAR)
    assert refused.returncode and f"did you mean {KNOWN}" in refused.stderr


@pytest.mark.parametrize("command", ["measure live", "data verify", "show tables"])
def test_a_name_needs_no_directory(command):
    assert run(command, KNOWN, *READERS[command]).returncode == 0


def test_a_profile_of_a_recording_needs_no_directory():
    done = run("heap read", SITES, "--stack", "openssl@3.5.5", "--suite", "tls13-rsa-aes256")
    assert done.returncode == 0 and "openssl@3.5.5, tls13-rsa-aes256" in done.stdout
