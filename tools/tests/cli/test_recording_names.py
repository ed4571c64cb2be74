"""Every command that reads a recording takes its name without data/, and has the nearest names for one that is not
there."""

import subprocess

import pytest

from tests.support import commands, forked_command, in_process
from tlsmem.base.paths import ROOT
from tlsmem.cli.dispatch import run_words

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


UNKNOWN = {
    "cost opensl": "openssl",
    "cost openssl@3.5.55 --recorded": "openssl@3.5.5",
    "cost opensl --page": "openssl",
    "cost openssl --suite tls13-rsa-aes265": "tls13-rsa-aes256",
    f"cost openssl --recording {NEAR}": KNOWN,
    "plan memory --connections 1000 --stack opensl": "openssl",
    "plan fit --memory 1GiB --allocator jemaloc": "jemalloc",
    f"plan storm --clients 1000 --recording {NEAR}": KNOWN,
    "plan fleet --clients 1000 --hosts 3 --stack opensl": "openssl",
    "plan haproxy --suite tls13-rsa-aes265": "tls13-rsa-aes256",
    f"plan check --recording {NEAR}": KNOWN,
    f"why {SITES} --stack opensl@3.5.5": "openssl@3.5.5",
    f"why {SITES} --suite tls13-rsa-aes265": "tls13-rsa-aes256",
    f"why {NEAR}": KNOWN,
    "gate {budget stack}": "openssl@3.5.5",
    "gate {budget suite}": "tls13-rsa-aes256",
    f"gate {{budget}} --recording {NEAR}": KNOWN,
    f"show tables {SITES} --stack opensl@3.5.5": "openssl@3.5.5",
    f"show tables {SITES} --suite tls13-rsa-aes265": "tls13-rsa-aes256",
    f"show tables {SITES} --campaign repaet": "repeat",
    f"show tables {NEAR}": KNOWN,
    f"show parts {SITES} --stack opensl@3.5.5 -o {{picture}}": "openssl@3.5.5",
    f"show mem {SITES} --suite tls13-rsa-aes265 -o {{picture}}": "tls13-rsa-aes256",
    f"show report {NEAR} -o {{report}}": KNOWN,
    f"diff recordings {NEAR} {SITES}": KNOWN,
    f"diff recordings {SITES} {SITES} --stack opensl@3.5.5": "openssl@3.5.5",
    f"diff recordings {SITES} {SITES} --suite tls13-rsa-aes265": "tls13-rsa-aes256",
    f"diff releases {NEAR} --library openssl": KNOWN,
    "diff builds --a opensl@3.5.5 --b openssl@3.5.5": "openssl@3.5.5",
    f"heap read {SITES} --stack opensl@3.5.5": "openssl@3.5.5",
}
BUDGET = """[[budget]]
stack = "openssl@3.5.5"
suite = "tls13-rsa-aes256"
role = "server"
phase = "established"
meter = "heap"
limit = "1 MiB"
"""


@pytest.mark.parametrize("words", UNKNOWN)
def test_what_no_file_has_is_exit_2_with_the_nearest(words, tmp_path, capsys):
    nearest = UNKNOWN[words]
    known = {"{budget}": "", "{budget stack}": "openssl", "{budget suite}": "aes256"}
    for name, misspelt in known.items():
        file = tmp_path / name.strip("{}").replace(" ", "-")
        file.write_text(BUDGET.replace(misspelt, f"{misspelt[:2]}{misspelt[3:]}") if misspelt else BUDGET)
        words = words.replace(name, str(file))
    words = words.replace("{picture}", f"{tmp_path}/picture.png").replace("{report}", f"{tmp_path}/report.html")
    assert in_process.exit_status(lambda: run_words(words.split())) == 2
    said = capsys.readouterr()
    assert said.out == "" and said.err.startswith("memtest: ") and said.err.count("\n") == 1
    assert f"did you mean {nearest}" in said.err
    assert len([*tmp_path.iterdir()]) == len(known)


@pytest.mark.parametrize("command", READERS)
def test_a_name_that_is_not_there_is_one_sentence_with_the_nearest(command):
    refused = run(command, NEAR)
    assert (refused.returncode, refused.stdout) == (1 if command == "data verify" else 2, "") and refused.stderr.count(
        "\n"
    ) == 1
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
