"""Servers of memtest/live_servers.toml: their files, their refusals, and the real ones where they are installed."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tlsmem.base.errors import UserError
from tlsmem.base.paths import ROOT
from tlsmem.build import system_packages
from tlsmem.config import live_servers as definitions
from tlsmem.live import packaged
from tlsmem.live.packaged import make_server, read_servers
from tlsmem.live.servers import ServerError, Setup, find_program, locate
from tlsmem.schema.live_records import load_live
from tlsmem.stats import live_costs
from tlsmem.stats.live_costs import group_live

NAMES = list(definitions.live_servers())
TABLE = {
    "what": "A server",
    "package": "a-server",
    "program": "no-such-server",
    "asked": "-v",
    "says": "(.+)",
    "arguments": ["{folder}/conf", "{tls}"],
    "files": {"conf": "{plain} {most} {protocol} {protocol_lower} {key}"},
    "client": {"protocol": "redis"},
}


def read(tmp_path: Path, monkeypatch, text: str) -> dict:
    (tmp_path / "live_servers.toml").write_text(text)
    monkeypatch.setattr(definitions, "DEFINITIONS", tmp_path)
    return read_servers()


def make(**keys):
    return make_server("one", definitions.LiveServer.model_validate(TABLE | keys))


def test_files_and_arguments_are_filled_in(tmp_path):
    server = make()
    words = server.configure(Setup(tmp_path, server.ports, 1000, "TLSv1.3"))
    assert words == [f"{tmp_path}/conf", "8443"]
    assert (tmp_path / "conf").read_text() == f"8080 1200 TLSv1.3 tlsv1.3 {tmp_path}/key.pem"
    assert (tmp_path / "chain.pem").read_text().startswith("-----BEGIN CERTIFICATE")


def test_a_proxy_has_a_server_behind_it_and_its_certificate_with_the_key_in_one_file(tmp_path):
    server = make(backend=True, no_plain="no", files={"conf": "{backend} {both}"})
    server.configure(Setup(tmp_path, server.ports, 1000, "TLSv1.3"))
    assert (tmp_path / "conf").read_text() == f"8081 {tmp_path}/both.pem"
    assert (tmp_path / "both.pem").read_text() == "".join(
        (tmp_path / name).read_text() for name in ("chain.pem", "key.pem")
    )
    assert server.has_backend and server.largest(10_200) == 5_000  # two descriptors a connection
    assert server.ports == (8443, 8443)


def test_a_server_that_is_not_installed_has_the_command():
    with pytest.raises(ServerError, match=r"^one is not installed: apt install a-server$"):
        find_program(make())
    assert make(program="/nowhere/*/postgres") and locate("/nowhere/*/postgres") is None


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        ('arguments = ["{port}"]', r"\[one\]: arguments.*\{\.\.\.\} must be one of folder, plain, tls,.*not 'port'"),
        ('says = "x"', r"\[one\]: says: .*'x' needs a group"),
        ('client = { protocol = "smtp" }', r"\[one\]: client: protocol 'smtp' must be one of http, mqtt"),
        ("ports = [1]", r"\[one\]: ports: "),
        ('colour = "red"', r"\[one\]: colour: "),
    ],
)
def test_a_wrong_table_is_a_sentence(tmp_path, monkeypatch, change, sentence):
    key = change.partition(" ")[0]
    lines = {
        "what": 'what = "x"',
        "package": 'package = "x"',
        "program": 'program = "x"',
        "asked": 'asked = "-v"',
        "says": 'says = "(x)"',
        "arguments": "arguments = []",
        "client": 'client = { protocol = "mqtt" }',
    } | {key: change}
    with pytest.raises(UserError, match=sentence):
        read(tmp_path, monkeypatch, "[one]\n" + "\n".join(lines.values()))


@pytest.mark.skipif(os.geteuid() != 0, reason="only root becomes another user")
def test_a_user_who_is_not_there_and_a_command_that_fails_are_sentences(tmp_path):
    setup = Setup(tmp_path, make().ports, 1000, "TLSv1.3")
    for keys, sentence in (
        ({"user": "no-such-user"}, "A server runs as no-such-user, and there is no such user"),
        ({"prepare": [["ls", "{folder}/nothing"]]}, r"ls ended with 2: .*nothing"),
    ):
        server = make(**keys)
        server.configure(setup)
        assert server.prepare
        with pytest.raises(ServerError, match=sentence):
            server.prepare(setup)


def test_the_files_belong_to_the_servers_user_and_nobody_else_reads_the_key(tmp_path, monkeypatch):
    given = []
    monkeypatch.setattr(packaged.os, "chown", lambda path, *ids: given.append((Path(path).name, ids)))
    server, setup = make(user="nobody"), Setup(tmp_path, make().ports, 1000, "TLSv1.3")
    server.configure(setup)
    assert server.prepare
    server.prepare(setup)
    assert {name for name, _ in given} == {tmp_path.name, "conf", "chain.pem", "key.pem"}
    assert len({ids for _, ids in given}) == 1
    assert (tmp_path / "key.pem").stat().st_mode & 0o777 == 0o600


@pytest.mark.parametrize("name", NAMES)
def test_make_installs_the_package(name):
    table = definitions.live_servers()[name]
    packages = [table.package] if table.package else list(table.needs)
    assert system_packages.PURPOSES[f"live-{name}"] == [*system_packages.LIVE_PACKAGES, *packages]
    assert all(package in system_packages.PRESENT for package in packages)


@pytest.mark.slow
@pytest.mark.skipif(os.geteuid() != 0, reason="network namespaces and memory cgroups need root")
@pytest.mark.parametrize("name", NAMES)
def test_a_real_server_holds_a_session_more_over_tls(name, tmp_path):
    """OpenSSL's session in the harness has 13,542 B or more, by the options that a server sets."""
    table = definitions.live_servers()[name]
    missing = system_packages.find_missing(system_packages.PURPOSES[f"live-{name}"])
    if missing:
        pytest.skip(f"{' '.join(missing)} is not installed")
    words = [sys.executable, ROOT / "tools/tls-memtest", "measure", "live", f"--server={name}", "--n=20,60"]
    options = ["--window=10", "--idle=0s", "--settle=0s", "--waves=0", f"--out={tmp_path}"]
    done = subprocess.run([*words, *options], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    runs = load_live(tmp_path)
    *plain, over_tls = group_live(runs)
    assert all(run.negotiated and run.negotiated["protocol"] == "TLSv1.3" for run in over_tls.runs)
    library = ("BoringSSL", "go1.") if table.library else "OpenSSL "
    assert all(run.tls_library and run.tls_library.startswith(library) for run in runs)
    if table.unmetered:
        assert [len(one.measured("rss")) for one in (*plain, over_tls)] == [2, 2] and not over_tls.measured("heap")
        return  # pages of 40 connections say nothing
    (with_tls, *without) = (
        increment
        for series in (over_tls, *plain)
        for increment in series.increments("established", live_costs.live_bytes).values()
    )
    if without:
        assert 13_000 < with_tls - without[0] < 80_000
    else:  # a proxy that listens for TLS alone: its buffers are in it
        assert table.no_plain and with_tls > 13_000
    if name == "httpd":
        return  # its threads keep what they have allocated for connections
    left = [live_costs.added(run, "closed", live_costs.live_bytes) for run in over_tls.measured("heap")]
    assert all(abs(found or 0) < 60 * 1000 for found in left)
