"""What `heap census --listen` serves is read by Prometheus's own parser, and says what the census says."""

import json
import re
import signal
import subprocess
import time
import urllib.request

import pytest
from prometheus_client.parser import text_string_to_metric_families

from tests.census.conftest import Holder
from tests.support import commands, in_process
from tlsmem.census.census import take_census
from tlsmem.census.metrics import METRICS, Looks, render_census
from tlsmem.cli.dispatch import run_words

CENSUS = commands.command_line("heap census")
CREATED, HALF_OPEN, ESTABLISHED = 5, 6, 8


@pytest.fixture
def holder(holder_program, certificate):
    with_sessions = Holder([holder_program, *certificate, *map(str, (CREATED, HALF_OPEN, ESTABLISHED))])
    with_sessions.read()
    yield with_sessions
    with_sessions.close()


def parse(text):
    """Samples by name and labels; the parser fails on what Prometheus would not take."""
    families = list(text_string_to_metric_families(text))
    assert all(family.documentation and family.type in ("gauge", "counter") for family in families)
    samples = [sample for family in families for sample in family.samples]
    found = {(one.name, tuple(sorted(one.labels.items()))): one.value for one in samples}
    assert len(found) == len(samples), "two samples have the same labels"
    return found


def select(samples, name, **labels):
    """The values of a metric in samples that have these labels."""
    return [value for (key, named), value in samples.items() if key == name and labels.items() <= dict(named).items()]


@pytest.fixture
def census(holder):
    for _ in range(3):
        holder.step()
    return take_census([holder.pid])[0]


def test_what_is_served_is_what_was_counted(census):
    ((process),) = census
    samples = parse(render_census(census, [process.target.program], Looks(3, 1, 0.25, 1e9)))
    for state, count in (("created", CREATED), ("half-open", HALF_OPEN), ("established", ESTABLISHED)):
        assert select(samples, "tls_census_sessions", state=state) == [count]
    assert sum(select(samples, "tls_census_session_bytes")) == sum(group.bytes for group in process.libraries[0].groups)
    assert set(select(samples, "tls_census_own_bio_bytes")) == {0}
    assert sum(select(samples, "tls_census_sockets")) == process.sessions
    assert select(samples, "tls_census_objects", kind="SSL_SESSION") == [HALF_OPEN + ESTABLISHED]
    assert sum(select(samples, "tls_census_rss_part_bytes")) == process.rss.anon_bytes
    assert select(samples, "tls_census_rss_anon_bytes", pid=str(process.target.pid)) == [process.rss.anon_bytes]
    assert select(samples, "tls_census_processes", program="holds_sessions") == [1]
    assert select(samples, "tls_census_looks_total") == [3] and select(samples, "tls_census_look_seconds") == [0.25]
    assert {name for name, _ in samples} == set(METRICS)


def test_one_library_twice_in_a_process_is_one_sample(census):
    (process,) = census
    twice = [type(process)(process.target, process.libraries * 2, process.rss, None, ())]
    samples = parse(render_census(twice, [], Looks(1, 0, 0.1, 1.0)))
    assert select(samples, "tls_census_sessions", state="established") == [2 * ESTABLISHED]
    assert not select(samples, "tls_census_connections")


def test_without_processes_it_says_that_there_are_none():
    samples = parse(render_census([], ["nginx"], Looks(7, 2, 0.1, 1.0)))
    assert select(samples, "tls_census_processes", program="nginx") == [0]
    assert not select(samples, "tls_census_sessions")


@pytest.fixture
def other(holder_program, certificate):
    """Another process of the program, without sessions."""
    without_sessions = Holder([holder_program, *certificate, "0", "0", "0"])
    without_sessions.read()
    yield without_sessions
    without_sessions.close()


@pytest.mark.thorough
def test_the_endpoint_has_the_last_look(holder, other, tmp_path):
    """A step of the program is in the metrics after the next look; SIGTERM ends it with what has grown."""
    said, lines = tmp_path / "said", tmp_path / "lines"
    words = [
        *CENSUS,
        "--listen",
        "127.0.0.1:0",
        "--every",
        "0.1",
        "--json",
        str(holder.pid),
        str(other.pid),
        str(holder.pid),
    ]
    with said.open("w") as errors, lines.open("w") as out:
        watching = subprocess.Popen(words, stdout=out, stderr=errors)
    try:
        url = wait_for(lambda: re.search(r"http://127.0.0.1:\d+/metrics", said.read_text()))[0]
        for count in (0, CREATED, CREATED + HALF_OPEN, CREATED + HALF_OPEN + ESTABLISHED):
            if count:
                holder.step()
            wait_for(lambda count=count: sum(select(scrape(url), "tls_census_sessions")) == count)
        assert select(scrape(url), "tls_census_processes", program="holds_sessions") == [2]
        looks = [select(scrape(url), "tls_census_looks_total")[0]]
        wait_for(lambda: select(scrape(url), "tls_census_looks_total")[0] > looks[0])
        watching.send_signal(signal.SIGTERM)
        assert watching.wait(timeout=60) == 0
    finally:
        watching.kill()
        watching.wait()
    assert json.loads(lines.read_text().splitlines()[-1])["sessions"] == CREATED + HALF_OPEN + ESTABLISHED
    assert "census: " in said.read_text() and "Traceback" not in said.read_text()


def scrape(url):
    return parse(urllib.request.urlopen(url, timeout=30).read().decode())


def wait_for(ask):
    """What it returns, once that is something; the limit is only there so that a fault ends the test."""
    for _ in range(600):
        if found := ask():
            return found
        time.sleep(0.1)
    pytest.fail("waited in vain")


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["--listen", "0.0.0.0:9464", "1"], "no port of this machine's own: write 127.0.0.1:PORT or [::1]:PORT"),
        (["--host", "metrics.example", "1"], "--host also needs --listen"),
        (["--listen", "127.0.0.1:0", "--format", "csv", "1"], "leave --format csv out"),
        (["--every", "1", "-o", "census.csv", "1"], "leave -o out, or give a picture: -o FILE.png"),
        (["--every", "1", "-o", "census.pdf", "1"], "leave -o out, or give a picture: -o FILE.png"),
        (["--every", "1", "-o", "missing/census.png", "1"], "there is no directory missing; make it first"),
    ],
)
def test_what_cannot_be_is_one_sentence(words, sentence, capsys):
    assert in_process.exit_status(lambda: run_words(["heap", "census", *words])) == 2
    said = capsys.readouterr()
    assert said.out == "" and said.err.count("\n") == 1
    assert sentence in said.err
