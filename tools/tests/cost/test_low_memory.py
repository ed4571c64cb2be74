"""Sessions with each library's option to hold less, ranked; by a recording of two stacks, one with such an option."""

import csv
import io
import json

import pytest

from tests.support import in_process, synthetic
from tests.support.in_use import OPENSSL, RUSTLS, recorded
from tlsmem.cli.dispatch import run_words
from tlsmem.store import recordings


@pytest.fixture
def recording(tmp_path):
    """OpenSSL with its defaults and with low memory, rustls with its defaults alone."""
    runs = recorded(OPENSSL, "+tickets-library", 1_000) + recorded(OPENSSL, "+low-memory+tickets-library", -50_000)
    runs += recorded(RUSTLS, "+tickets-library")
    return synthetic.write(tmp_path / "recording", [run.model_copy(update={"window": 100}) for run in runs])


def printed(capsys, recording, *words, status=0):
    recordings.load_stack.cache_clear()
    words = ["cost", "--role", "server", "--low-memory", *words, "--recording", str(recording)]
    assert in_process.exit_status(lambda: run_words(words)) == status
    return capsys.readouterr()


def test_each_library_is_a_row_with_its_option_or_its_defaults(capsys, recording):
    lines = printed(capsys, recording).out.splitlines()
    titles = [(line.split("  ")[1], lines[at + 1].strip()) for at, line in enumerate(lines) if " B " in line]
    assert sorted(titles) == [("OpenSSL 3.5.5", "SSL_MODE_RELEASE_BUFFERS"), ("rustls 0.23.46 (aws-lc)", "defaults")]
    assert max(map(len, lines)) <= 80 or str(recording) in max(lines, key=len)
    assert any("2,000 B" in line for line in lines) and not any("53,000 B" in line for line in lines)


def test_the_command_below_is_for_the_first_row_with_such_an_option(capsys, recording):
    assert printed(capsys, recording).out.endswith(f"--low-memory \\\n    --stack {OPENSSL}\n")
    assert "plan memory" not in printed(capsys, recording, RUSTLS).out  # nothing has low memory there


def test_the_command_below_keeps_role_and_suite(capsys):
    assert run_words(["cost", "boringssl", "--low-memory", "--role", "client", "--mtls"]) in (0, None)
    assert capsys.readouterr().out.endswith(" --role client --suite tls13-rsa-aes256-mutual\n")


def test_rows_are_ranked_by_rss_in_use(capsys):
    """Of the committed recordings, whose order no name gives."""
    recordings.load_stack.cache_clear()
    assert run_words(["cost", "--role", "server", "--low-memory", "--format", "json"]) in (None, 0)
    rows = json.loads(capsys.readouterr().out)["tables"][0]["rows"]
    sizes = [row["rss_in_use_bytes"] for row in rows]
    assert sizes == sorted(sizes) and len(sizes) > 10
    named = {row["stack"]: row["configuration"] for row in rows}
    assert rows[0]["stack"].startswith("boringssl@") and rows[0]["configuration"] == "low memory"
    assert named["wolfssl@5.9.4"] == "default"  # another build than the one that servers use is a row too


def test_named_stacks_are_rows_even_without_such_an_option(capsys, recording):
    out = printed(capsys, recording, OPENSSL, RUSTLS, "--format", "csv").out
    rows = list(csv.DictReader(io.StringIO(out)))
    assert {row["stack"]: row["configuration"] for row in rows} == {OPENSSL: "low memory", RUSTLS: "default"}


@pytest.mark.parametrize("words", [["--explain"], ["--page", "openssl"], ["-o", "picture"]])
def test_what_low_memory_does_not_go_with_is_a_sentence(capsys, recording, words):
    assert "--low-memory takes stacks, a suite" in printed(capsys, recording, *words, status=2).err
