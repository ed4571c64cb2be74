"""nginx and HAProxy on the libraries of stacks: what is recorded, and exact live heap.

Real ones where the stack and the server are built already (`make live SERVER=nginx STACK=openssl@3.5.5`); as root."""

import os
import subprocess
import sys

import pytest

from tlsmem.base.paths import ROOT
from tlsmem.build import server_program
from tlsmem.config.servers import servers
from tlsmem.live.live_run import LiveProvenance, LiveRun
from tlsmem.live.servers import HAPROXY_SERVER, NGINX_SERVER, Program, ServerError, choose_stack, find_program
from tlsmem.schema.live_records import load_live
from tlsmem.stats import live_costs
from tlsmem.stats.live_costs import group_live

BUILDS = [(NGINX_SERVER, "openssl@3.5.5"), (NGINX_SERVER, "awslc@5.12.0"), (NGINX_SERVER, "boringssl@5.4.0")]
BUILDS += [
    (HAPROXY_SERVER, "openssl@3.5.5"),
    (HAPROXY_SERVER, "awslc@5.12.0"),
    (HAPROXY_SERVER, "wolfssl+haproxy@5.9.4"),
]
NAMES = [f"{server.name}-{stack}" for server, stack in BUILDS]


def find_built(server, stack):
    """Return the program, or skip: no test builds a library."""
    how = servers()[server.name].build
    program = ROOT / f"build/servers/{server.name}-{how.source.version}/{stack}/{how.program}"
    if not program.is_file() or not (ROOT / f"build/stacks/{stack}.stamp").is_file():
        pytest.skip(f"{server.name} is not built on {stack}")
    return program


@pytest.mark.parametrize(("server", "stack"), BUILDS, ids=NAMES)
def test_a_built_server_says_that_it_runs_on_the_stacks_library(server, stack):
    program = find_built(server, stack)
    said = server_program.ask_library(servers()[server.name], stack, program)
    assert server_program.is_library(said, stack)
    assert str(ROOT).encode() not in program.read_bytes()


@pytest.mark.slow
@pytest.mark.skipif(os.geteuid() != 0, reason="network namespaces and memory cgroups need root")
@pytest.mark.parametrize(("server", "stack"), BUILDS, ids=NAMES)
def test_a_connection_costs_a_whole_number_and_the_run_says_on_which_library(server, stack, tmp_path):
    find_built(server, stack)
    words = [ROOT / "tools/tls-memtest", "measure", "live", f"--server={server.name}", f"--stack={stack}"]
    options = ["--n=30,60", "--window=10", "--idle=0s", "--settle=0s", "--waves=0", f"--out={tmp_path}"]
    done = subprocess.run([sys.executable, *words, *options], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    runs = load_live(tmp_path)
    assert {(one.server, one.stack) for one in runs} == {(server.name, stack)}
    assert all(server_program.is_library(one.tls_library, stack) for one in runs)
    plain, over_tls = group_live(runs)
    for series in (plain, over_tls):
        (each,) = series.increments("idle", live_costs.live_bytes).values()
        assert each.denominator == 1
    (plain_each,) = plain.increments("idle", live_costs.live_bytes).values()
    assert each > 4 * plain_each
    assert f"| {server.name}" in done.stdout and "One server, several libraries" in done.stdout
    again = subprocess.run([sys.executable, *words, *options], capture_output=True, text=True, check=False)
    assert "8 runs, 8 already recorded" in again.stderr


def test_a_run_on_another_library_is_another_run():
    program = Program("/nowhere", "nginx version: nginx/1.26.3", "0" * 64, "OpenSSL 3.5.5 27 Jan 2026")
    keys = {
        LiveProvenance(choose_stack(NGINX_SERVER, stack), program).declared(run)["key"]
        for stack in ("openssl@3.5.5", "awslc@5.12.0")
        for run in [LiveRun("nginx", "tls", "rss", 10, 10, stack=stack)]
    }
    assert len(keys) == 2


def test_a_server_that_runs_on_another_library_than_the_stack_is_not_measured(monkeypatch, tmp_path):
    """A program that is linked with the system's library says so."""
    program = tmp_path / "nginx"
    program.write_text("#!/bin/sh\necho 'nginx version: nginx/1.26.3'\necho 'built with OpenSSL 3.0.19 27 Jan 2026'\n")
    program.chmod(0o755)
    monkeypatch.setattr(server_program, "provide_server", lambda *_: program)
    with pytest.raises(Exception, match=r"it runs on OpenSSL 3\.0\.19 27 Jan 2026, and was built on openssl@3\.5\.5"):
        find_program(choose_stack(NGINX_SERVER, "openssl@3.5.5"))


def test_a_configuration_of_ones_own_is_not_built(tmp_path):
    from tlsmem.live.own_configuration import find_server

    file = tmp_path / "nginx.conf"
    file.write_text("events {}\nhttp { server { listen 8081;\n listen 8444 ssl; } }\n")
    with pytest.raises(ServerError, match="has its own configuration, and is not built on openssl@3"):
        choose_stack(find_server(f"path:{file}"), "openssl@3.5.5")
