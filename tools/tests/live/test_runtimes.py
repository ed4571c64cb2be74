"""Programs of managed runtimes: what is wrong is a sentence, and the heap that they say is what they hold."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tlsmem.base.errors import UserError
from tlsmem.base.paths import ROOT
from tlsmem.build import system_packages
from tlsmem.config import runtimes as definitions
from tlsmem.config.choices import RUNTIMES
from tlsmem.live import runtimes
from tlsmem.live.running_server import RunningServer
from tlsmem.live.runtimes import check_jars, make_server, read_runtimes
from tlsmem.live.servers import PORTS, ServerError, Setup, configuration_sha256, digest, find_program
from tlsmem.schema.live_records import load_live
from tlsmem.stats import live_costs
from tlsmem.stats.live_costs import group_live
from tlsmem.topics.live.runtimes import managed_bytes

ASYNCIO = definitions.runtimes()["python-asyncio"]
PROGRAMS = definitions.PROGRAMS


def table(**keys):
    return definitions.Runtime.model_validate(ASYNCIO.model_dump() | keys)


def find(**keys):
    return find_program(make_server("one", table(**keys)))


def test_every_name_that_the_command_takes_is_a_program():
    assert tuple(read_runtimes()) and set(read_runtimes()) == set(RUNTIMES)


@pytest.mark.parametrize(
    ("keys", "sentence"),
    [
        (
            {"program": "no-such", "package": "a-runtime"},
            "one: CPython, asyncio is not installed: apt install a-runtime",
        ),
        (
            {"program": "sh", "linked": "/nowhere/*.so"},
            "one: CPython, asyncio lacks /nowhere/\\*.so: apt install python3",
        ),
        (
            {"program": "sh", "asked": ["-c", "echo 2"], "linked": None},
            "/sh -c echo 2 says nothing of its version; memtest",
        ),
        ({"machine": "vax"}, "one: CPython, asyncio is pinned for vax, and this is "),
        ({"build": [["no-such-compiler"]]}, "one: its program is built by no-such-compiler: apt install python3"),
        ({"build": [["no-such"]], "builders": {"no-such": "builder"}}, "one: .* built by no-such: apt install builder"),
        ({"build": [["sh", "-c", "echo no room; exit 3"]]}, "one: sh: .* failed .*\\n.*no room"),
    ],
)
def test_a_runtime_that_cannot_be_had_is_a_sentence(tmp_path, monkeypatch, keys, sentence):
    monkeypatch.setattr(runtimes, "BUILT", tmp_path)
    if "build" in keys:
        keys |= {"program": "sh", "linked": None, "asked": ["-c", "echo Python 3.11"]}
    with pytest.raises(UserError, match=sentence):
        find(**keys)


@pytest.mark.parametrize(
    ("versions", "reported", "sentence"),
    [
        (
            ["3.10"],
            "Python 3.9.2",
            "one: Python 3.9.2 is older than 3.10, which is the oldest that its program runs on",
        ),
        (
            ["3.1", "3.1"],
            "ruby 3.3.0p0",
            "one: ruby 3.3.0p0 is newer than 3.1, which is the newest that its program runs",
        ),
        (["3.1", "3.1"], "ruby 3.1.2p20", None),
        (["17"], "OpenJDK Runtime Environment (build 21.0.1+2)", None),
        ([], "Erlang/OTP 9", None),
    ],
)
def test_a_program_refuses_versions_that_it_does_not_run_on(versions, reported, sentence):
    keys = {
        "program": "sh",
        "linked": None,
        "asked": ["-c", f"echo '{reported}'"],
        "says": "(.+)",
        "versions": versions,
    }
    if not sentence:
        assert find(**keys).reported == reported
        return
    with pytest.raises(ServerError) as raised:
        find(**keys)
    assert str(raised.value).startswith(sentence)


def test_make_installs_what_builds_a_program_too():
    assert system_packages.list_server_packages()["netty-jdk-client"] == ["openjdk-17-jdk-headless", "maven"]
    assert {"maven", "erlang-ssl", "erlang-base"} <= set(system_packages.PRESENT)


def test_a_program_is_built_once(tmp_path, monkeypatch):
    monkeypatch.setattr(runtimes, "BUILT", tmp_path)
    keys = {"program": "sh", "linked": None, "asked": ["-c", "echo Python 3.11"], "libraries": ["Netty 4"]}
    keys |= {"build": [["sh", "-c", f"echo >> {tmp_path}/builds; test -d {{built}}"]]}
    assert [find(**keys).reported for _ in range(2)] == ["Python 3.11, Netty 4"] * 2
    assert (tmp_path / "builds").read_text() == "\n"
    find(**keys | {"asked": ["-c", "echo Python 3.12"]})  # another version of the runtime
    assert (tmp_path / "builds").read_text() == "\n\n"


@pytest.mark.parametrize(
    ("jars", "wrong"), [({"a": "one"}, None), ({"a": "two"}, "a"), ({"a": "one", "b": "more"}, "b"), ({}, "a")]
)
def test_jars_other_than_those_that_are_pinned_are_refused(tmp_path, monkeypatch, jars, wrong):
    monkeypatch.setattr(runtimes, "PROGRAMS", tmp_path)
    folder, pinned = tmp_path / "lib", tmp_path / "sums"
    folder.mkdir()
    (folder / "a").write_text("one")
    pinned.write_text(f"{digest(folder / 'a')}  a\n")
    (folder / "a").unlink()
    for name, text in jars.items():
        (folder / name).write_text(text)
    if not wrong:
        check_jars("netty", pinned, folder)
        return
    with pytest.raises(
        ServerError, match=f"^netty: {wrong} is not what memtest/runtimes/sums pins by its SHA-256; nothi"
    ):
        check_jars("netty", pinned, folder)
    assert not folder.exists()


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        ({"files": ["no.py"]}, "memtest/runtimes has no file no.py"),
        ({"arguments": ["{port}"]}, "must be one of folder, programs, built, not 'port'"),
        ({"says": "x"}, "'x' needs a group"),
    ],
)
def test_a_wrong_table_is_a_sentence(change, sentence):
    with pytest.raises(ValueError, match=sentence):
        table(**change)


def test_the_program_is_part_of_the_configuration(tmp_path):
    server, client = (read_runtimes()[name] for name in ("python-asyncio", "python-asyncio-client"))
    words = server.configure(Setup(tmp_path, PORTS, 100, "TLSv1.3"))
    before = configuration_sha256(tmp_path, words)
    assert (tmp_path / "python_asyncio.py").read_bytes() == (PROGRAMS / "python_asyncio.py").read_bytes()
    assert client.configure(Setup(tmp_path, PORTS, 100, "TLSv1.3")) == [*words, "-role", "client"]
    (tmp_path / "python_asyncio.py").write_text("other")
    assert configuration_sha256(tmp_path, words) != before


@pytest.fixture
def start(tmp_path):
    """Start a program of some lines of Python as a server that answers, without a network of its own."""
    started = []

    def run(text: str) -> RunningServer:
        running = RunningServer.__new__(RunningServer)
        running.meter = "rss"
        running.server = read_runtimes()["python-asyncio"]
        running.log = open(tmp_path / "log", "wb")  # noqa: SIM115 (closed below)
        running.process = subprocess.Popen(
            [sys.executable, "-c", text], stdin=subprocess.PIPE, stdout=running.log, stderr=running.log, text=True
        )
        started.append(running)
        return running

    yield run
    for one in started:
        one.process.stdin.close()
        one.process.wait(10)
        one.log.close()


ANSWER = "import sys\nfor line in sys.stdin: print({!r}, flush=True)"
HEAP = {"used_bytes": 12, "committed_bytes": 40, "parts": {"external": 7}}


def test_the_heap_is_what_the_program_says(start):
    running = start(ANSWER.format(f"heap {json.dumps(HEAP)}"))
    assert [running.read_managed().model_dump() for _ in range(2)] == [HEAP] * 2


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("import sys; sys.stdin.readline(); sys.exit('out of memory')", "python-asyncio ended with 1: out of memory"),
        (ANSWER.format("heap 12 bytes"), "python-asyncio answered '12 bytes' to `heap`"),
        (ANSWER.format('heap {"used_bytes": -1}'), "python-asyncio answered {'used_bytes': -1} to `heap`"),
        (ANSWER.format('failed "no such command"'), "python-asyncio failed at `heap`: no such command"),
    ],
)
def test_a_program_that_does_not_say_its_heap_is_a_sentence(start, text, sentence):
    with pytest.raises(ServerError) as raised:
        start(text).read_managed()
    assert str(raised.value) == sentence


def test_a_program_that_is_silent_is_a_sentence(start):
    with pytest.raises(ServerError, match=r"^python-asyncio did not answer `ask small` within 0 s: it said nothing$"):
        start("import sys; sys.stdin.read()").ask("ask small", 0.1)


HOLDS = """
import gc, sys
sys.path.insert(0, sys.argv[1])
from python_program import read_heap
read_heap(); gc.collect()
before = read_heap()["used_bytes"]
held = [bytes(95 + 0 * one) for one in range(20_000)]  # 33 bytes of head each: a block of 128
large = [bytearray(100_000) for _ in range(20)]  # of malloc
after = read_heap()["used_bytes"]
print(after - before)
"""


@pytest.mark.parametrize("allocator", ["pymalloc", "malloc"])
def test_the_heap_of_cpython_is_what_its_small_objects_take(allocator):
    """A list of 20,000 is larger than 512 B, and malloc's; a bytearray's object itself is a block of 64."""
    words = ["/usr/bin/python3", "-B", "-c", HOLDS, str(PROGRAMS)]
    done = subprocess.run(
        words, capture_output=True, text=True, check=True, env=os.environ | {"PYTHONMALLOC": allocator}
    )
    expected = 20_000 * 128 + 20 * 64 if allocator == "pymalloc" else 0
    assert abs(int(done.stdout) - expected) <= 2_000
    assert not done.stderr


def measure(recording: Path, *options: str) -> subprocess.CompletedProcess[str]:
    words = [sys.executable, ROOT / "tools/tls-memtest", "measure", "live", "--n=30,60", "--idle=0s", "--settle=0s"]
    words += ["--window=15", "--waves=0", f"--out={recording}", *options]
    return subprocess.run(words, capture_output=True, text=True, check=False)


@pytest.mark.slow
@pytest.mark.skipif(os.geteuid() != 0, reason="network namespaces and memory cgroups need root")
@pytest.mark.skipif(not Path("/usr/bin/python3").exists(), reason="the system has no Python")
def test_asyncio_has_256_kib_a_connection_in_native_memory_and_its_objects_in_the_managed_heap(tmp_path):
    done = measure(tmp_path, "--server=python-asyncio")
    assert done.returncode == 0, done.stderr
    series = {one.transport: one for one in group_live(load_live(tmp_path))}
    assert all(phase.managed for run in load_live(tmp_path) for phase in run.phases)
    native = {
        transport: max(one.increments("collected", live_costs.live_bytes).values()) for transport, one in series.items()
    }
    managed = {transport: one.line("collected", managed_bytes).slope for transport, one in series.items()}
    assert 262_144 < native["tls"] - native["plain"] < 330_000  # its buffer, and a session of OpenSSL
    assert 1_000 < managed["plain"] < managed["tls"] < 10_000
    rss = series["tls"].line("collected", live_costs.rss_anon_bytes).slope
    assert abs(rss - float(native["tls"]) - managed["tls"]) < 0.05 * rss
    assert "Native and managed memory of a connection" in done.stdout


def test_an_installed_package_has_no_programs_and_reads_the_tables(monkeypatch):
    """`plan` and `measure live RECORDING` need their names."""
    with pytest.raises(ValueError, match="has no file nowhere"):
        definitions.check_file("nowhere.py")
    monkeypatch.setattr(definitions, "IS_WHEEL", True)
    assert definitions.check_file("nowhere.py") == "nowhere.py"
