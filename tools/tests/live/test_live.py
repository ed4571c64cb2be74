"""Live runs of a server: what would run, and what is refused before anything runs."""

import re
import resource
import shutil
import subprocess
import sys

import pytest

from tests.support import forked_command
from tlsmem.base.paths import ROOT
from tlsmem.cli.live_campaign import list_stacks
from tlsmem.config.choices import EVERY_SERVER, LIVE_SERVERS, PACKAGED, RUNTIMES
from tlsmem.live.servers import SEARCHED, SERVERS, choose_stack


def live(*options: str, limit: int | None = None) -> subprocess.CompletedProcess[str]:
    """Run `measure live`: with a limit of open files, an interpreter of its own."""
    words = [sys.executable, ROOT / "tools/tls-memtest", "measure", "live", *options]
    if not limit:
        return forked_command.run(words)

    def lower_limit() -> None:
        resource.setrlimit(resource.RLIMIT_NOFILE, (limit, limit))

    return subprocess.run(words, capture_output=True, text=True, check=False, preexec_fn=lower_limit)


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        (
            ["--server=apache"],
            f"--server=apache must be {', '.join(LIVE_SERVERS)}, openssl-s_server, path:CONFIGURATION or all alone",
        ),
        (["--server=all,nginx"], "--server=all must be nginx, haproxy, "),
        (["--server=path:/nowhere"], "--server=path:/nowhere: /nowhere is no file"),
        (["--server=path:"], "--server=path:: name a configuration file after path:"),
        (["--server=nginx", "--n=1000,ten"], "--n=ten is not a whole number"),
        (["--server=nginx", "--window=most"], "--window=most is not a whole number"),
        (["--server=nginx", "--waves=-1", "--list"], "--waves: '-1' is not an amount"),
        (["--server=haproxy", "--stack=libressl@3.1.0"], "HAProxy cannot be built on libressl@3.1.0: LibreSSL 3.1.0, "),
        (["--server=nginx", "--stack=openssl@4.0.3"], "nginx cannot be built on openssl@4.0.3: OpenSSL 4.0 made ASN1"),
        (["--server=nginx,haproxy", "--stack=openssl@3.5.5,gnutls@3.8.9"], "nginx is not built on gnutls@3.8.9; it"),
        (["--server=go", "--stack=openssl@3.5.5"], "go has a library of its own, and is not built on openssl@3.5.5"),
        (["--server=redis", "--stack=openssl@3.5.5"], "redis has the library that its package links, and is not built"),
        (
            ["--server=postgresql", "--n=1000"],
            "N=1000: postgresql is configured for 900 connections at most, by memtest",
        ),
        (["--server=nginx", "--stack=openssl@9"], "--stack: memtest/stacks.toml has no stack openssl@9; did you mean "),
        (["--server=nginx", "--n=100", "--out=data"], "data is where recordings are, not one of them"),
    ],
)
def test_what_cannot_be_is_refused_before_anything_runs(options, sentence):
    refused = live(*options)
    assert (refused.returncode, refused.stdout) == (2, "")
    assert sentence in refused.stderr
    assert "Traceback" not in refused.stderr


def test_all_stacks_of_a_server_are_those_that_it_builds_on_and_of_others_the_packaged_library():
    assert list_stacks(SERVERS["go"]) == [PACKAGED]
    for name in ("nginx", "haproxy"):
        packaged, *tried = list_stacks(SERVERS[name])
        assert packaged == PACKAGED and len(tried) == 3
        assert [choose_stack(SERVERS[name], stack).stack for stack in tried] == tried
    assert {"nginx", "go", "valkey"} <= set(EVERY_SERVER) and not {*EVERY_SERVER} & {*RUNTIMES}


def test_call_sites_of_what_massif_cannot_see_are_refused_and_others_are_listed_without_it(tmp_path):
    refused = live("--server=caddy,go", "--sites", "--list", f"--out={tmp_path}")
    assert (refused.returncode, refused.stdout) == (77, "")
    assert "massif names no call sites of caddy: Go allocates by itself, without malloc; go: it alloc" in refused.stderr
    if not shutil.which("mosquitto", path=SEARCHED):
        pytest.skip("mosquitto is not installed")
    listed = live("--server=mosquitto,envoy", "--sites", "--list", f"--out={tmp_path}")
    assert listed.stdout.splitlines()[0] == "to go     mosquitto tls 20 connections window 10 sites"
    assert listed.stderr == "memtest: left out: envoy: Envoy has a malloc of its own inside, TCMalloc\n"


@pytest.mark.thorough
def test_more_connections_than_open_files_names_the_largest_number_that_fits(tmp_path):
    refused = live("--server=nginx", "--n=1000", f"--out={tmp_path}", limit=600)
    assert refused.returncode == 1
    assert refused.stderr == (
        "memtest: N=1000 is more than the limit of 600 open files allows; the largest N that fits is 400\n"
    )


@pytest.mark.thorough
@pytest.mark.skipif(not shutil.which("nginx", path=SEARCHED), reason="nginx is not installed")
def test_a_window_above_the_number_of_connections_is_all_of_them(tmp_path):
    listed = live("--server=nginx", "--n=10,1000", "--window=100,all", "--list", f"--out={tmp_path}")
    assert listed.returncode == 0, listed.stderr
    over_tls = [line.split("tls ")[1] for line in listed.stdout.splitlines() if "tls" in line and "rss" in line]
    assert over_tls == [
        "10 connections window 10 rss",
        "1,000 connections window 100 rss",
        "1,000 connections window 1,000 rss",
    ]


@pytest.mark.thorough
@pytest.mark.parametrize("word", ["live", "configuration"])
def test_tables_of_a_recording_go_into_a_file(tmp_path, word):
    command = [sys.executable, ROOT / "tools/tls-memtest", "measure", word, f"data/2026-11-28-amd-epyc-p0457-{word}"]
    done = forked_command.run([*command, "-o", tmp_path / "made.csv"], cwd=ROOT)
    assert (done.returncode, done.stdout) == (0, ""), done.stderr
    table, columns, *rows = (tmp_path / "made.csv").read_text().splitlines()
    assert table.startswith("# ") and columns.startswith("server,") and rows


SEALED = "data/2026-11-22-amd-epyc"
RECORDED = "data/2026-11-24-amd-epyc-p0457-live"


@pytest.mark.thorough
def test_a_recording_is_printed_of_one_server_alone():
    every, one = live(RECORDED), live(RECORDED, "--server=go")
    assert one.returncode == 0, one.stderr
    assert "nginx" in every.stdout and "nginx" not in one.stdout
    rows = [line for line in every.stdout.splitlines() if line.startswith("| go ")]
    assert rows and all(line.split()[1] == "go" for line in one.stdout.splitlines() if line.startswith("| go"))


@pytest.mark.parametrize(
    ("options", "status", "sentence"),
    [
        (
            ["--server=openssl-s_server"],
            1,
            f"memtest: {RECORDED} has no live runs of --server=openssl-s_server; it has: ",
        ),
        (["--n=100"], 2, "measure live: --n is of new runs, and RECORDING prints what is recorded; --server "),
        (
            ["--list"],
            2,
            "measure live: --list is of new runs, and RECORDING prints what is recorded; --server and --stack select",
        ),
    ],
)
def test_what_selects_nothing_of_a_recording_is_refused(options, status, sentence):
    refused = live(RECORDED, *options)
    assert (refused.returncode, refused.stdout) == (status, "")
    assert sentence in refused.stderr


@pytest.mark.thorough
@pytest.mark.parametrize(
    ("place", "sentence"),
    [
        ("README.md", "memtest: README.md is a file; live runs are read from the directory of a recording"),
        ("nowhere", "memtest: nowhere: no such recording; recordings are directories under data/"),
        ("data", "memtest: data: no live runs here; `make live SERVER=nginx` makes some"),
        (SEALED, f"memtest: {SEALED}: no live runs here; `make live SERVER=nginx` makes some"),
    ],
)
def test_a_place_without_live_runs_has_a_way_out_that_works(place, sentence):
    refused = live(place)
    assert (refused.returncode, refused.stdout) == (2 if place == "nowhere" else 1, "")
    assert re.sub("; data/ has .*", "", refused.stderr) == f"{sentence}\n"


@pytest.mark.thorough
def test_the_way_out_is_of_the_server_that_was_asked_for():
    assert live(SEALED, "--server", "haproxy").stderr.endswith("; `make live SERVER=haproxy` makes some\n")


@pytest.mark.thorough
def test_a_new_directory_without_live_runs_can_take_them(tmp_path):
    assert live(str(tmp_path)).stderr.endswith(
        f"no live runs here; `make live SERVER=nginx OUT={tmp_path}` makes some\n"
    )
