"""The sentence with which a census begins."""

import json
import re
import shlex
import subprocess

import pytest

from tests.census.conftest import Holder
from tests.support import commands
from tlsmem.census.census import take_census
from tlsmem.census.report import summarise
from tlsmem.cli.dispatch import run_words


@pytest.fixture(scope="module")
def holder(holder_program, certificate):
    with_sessions = Holder([holder_program, *certificate, "0", "1", "20"])
    with_sessions.read()
    for _ in range(3):
        with_sessions.step()
    yield with_sessions
    with_sessions.close()


def numbers(pattern, sentence):
    found = re.fullmatch(pattern, sentence)
    assert found, sentence
    return [int(number.replace(",", "")) for number in found.groups()]


SENTENCE = (
    r"holds_sessions \((\d+)\) holds ([\d,]+) TLS sessions of OpenSSL [\d.]+ \(20 established, 1 half-open\) "
    r"in ([\d,]+) B\. Of these, ([\d,]+) B are resident, (\d+) % of its ([\d,]+) B of RssAnon; "
    r"(\d+) connections are established\. "
    r"21 of 21 sessions have an open socket\."
)


@pytest.mark.thorough
def test_the_first_line_says_how_many_and_how_much(holder, capsys):
    assert run_words(["heap", "census", str(holder.pid)]) == 0
    first, blank, _ = capsys.readouterr().out.split("\n", 2)
    ((process,), _) = take_census([holder.pid])
    share = round(100 * process.tls_bytes / process.rss.anon_bytes)
    assert blank == "" and 10 < share < 90
    allocated = sum(group.bytes for group in process.libraries[0].groups)
    expected = [holder.pid, 21, allocated, process.tls_bytes, share, process.rss.anon_bytes, 0]
    assert numbers(SENTENCE, first) == expected


def test_the_sentence_is_a_key_of_json(holder, capsys):
    assert run_words(["heap", "census", "--json", str(holder.pid)]) == 0
    said = json.loads(capsys.readouterr().out)
    assert re.fullmatch(SENTENCE, said["summary"]) and len(said["tables"]) == 2


def test_several_processes_are_summed_up(holder):
    ((process,), _) = take_census([holder.pid])
    said = summarise([process, process])
    assert said.startswith("holds_sessions (2 processes) holds 42 TLS sessions of OpenSSL ")
    assert "(40 established, 2 half-open)" in said
    assert (
        f" Of these, {2 * process.tls_bytes:,} B are resident, " in said
        and f" of their {2 * process.rss.anon_bytes:,} B " in said
    )


def test_a_closed_stdout_is_a_sentence(holder):
    """heapwalk would write into the file that gets its number."""
    words = shlex.join([*commands.command_line("heap census"), str(holder.pid)])
    done = subprocess.run(["sh", "-c", f"{words} >&-"], stderr=subprocess.PIPE, text=True)
    assert (done.returncode, done.stderr) == (
        1,
        "memtest: stdout: it is closed; redirect it to a file, or to /dev/null\n",
    )
