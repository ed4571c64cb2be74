"""What tools/dev/check_census.py says of a look that does not hold, and a small run with a real server."""

import dataclasses
import os
import subprocess
import sys

import pytest

import census_looks
import census_servers
import census_table
from census_looks import Look, take_look
from tlsmem.base.errors import UserError
from tlsmem.base.paths import ROOT
from tlsmem.stats.missing import Missing

HOLDS = Look(
    program="server",
    library="OpenSSL 3.0.19",
    state="all open",
    true=200,
    counted=200,
    tls_bytes=2_889_600,
    own_bio_bytes=0,
    anon_bytes=9_000_000,
    parts_bytes=9_000_000,
    touched_bytes=0,
    seconds=0.5,
    metered=14_014.0,
    of_library=14_448.0,
    with_socket=200,
)


@pytest.mark.parametrize(
    ("true", "counted", "holds"), [(200, 200, True), (200, 198, True), (200, 197, False), (0, 1, False), (0, 0, True)]
)
def test_a_count_holds_within_one_percent(true, counted, holds):
    assert dataclasses.replace(HOLDS, true=true, counted=counted).is_counted == holds


def test_what_does_not_hold_is_said():
    wrong = dataclasses.replace(HOLDS, counted=150, with_socket=150, tls_bytes=150 * 14_448)
    assert list(census_table.list_failures([HOLDS, wrong])) == ["server, all open: 150 sessions counted, 200 are true"]
    closed = dataclasses.replace(HOLDS, with_socket=199)
    assert list(census_table.list_failures([closed])) == [
        "server, all open: of 200 sessions 199 have an open socket",
    ]
    untold = dataclasses.replace(HOLDS, with_socket=Missing("BIOs of its own"))
    assert not list(census_table.list_failures([untold]))
    touched = dataclasses.replace(HOLDS, touched_bytes=4096)
    assert list(census_table.list_failures([touched])) == [
        "server, all open: RSS, page tables and Pss_Anon grew by 4,096 B"
    ]
    unexplained = dataclasses.replace(HOLDS, parts_bytes=8_800_000)
    assert list(census_table.list_failures([unexplained])) == [
        "server, all open: the parts leave 200,000 B of RssAnon unexplained"
    ]


def test_bytes_hold_within_five_percent_of_what_the_library_allocated():
    """Without those that the program keeps in BIOs of its own."""
    kept = dataclasses.replace(HOLDS, tls_bytes=2_889_600 + 200 * 68_384, own_bio_bytes=200 * 68_384)
    assert not list(census_table.list_failures([kept]))
    more = dataclasses.replace(HOLDS, tls_bytes=200 * 15_200)
    assert list(census_table.list_failures([more])) == [
        "server, all open: a session has 15,200 B by the census, the library allocated 14,448 B"
    ]
    in_mappings = dataclasses.replace(more, program="stunnel")
    assert not list(census_table.list_failures([in_mappings]))
    unknown = dataclasses.replace(more, of_library=Missing("heaptrack is not installed"))
    assert list(census_table.list_failures([unknown])) == [
        "server: its bytes were compared with nothing: heaptrack is not installed"
    ]


def test_a_target_that_changes_while_it_is_looked_at_is_seen(monkeypatch):
    sizes = iter([1_000_000] * 2 + [1_004_096])
    monkeypatch.setattr(census_looks, "STILL_S", 0.01)
    monkeypatch.setattr(census_looks, "read_sizes", lambda _: next(sizes))
    monkeypatch.setattr(census_looks, "take_census", lambda _: ([], []))
    assert take_look("server", "all open", 0, [1], Missing("none"), Missing("none")).touched_bytes == 4096


def test_an_unknown_program_is_one_sentence():
    with pytest.raises(UserError, match="--program abc: there are nginx; HAProxy;") as raised:
        census_table.list_programs("abc", None)
    assert raised.value.status == 2


def test_a_directory_without_a_system_is_one_sentence(tmp_path):
    with pytest.raises(UserError, match=r"no system .*; debootstrap makes one") as raised:
        census_table.list_programs("nginx", tmp_path)
    assert raised.value.status == 2


def test_servers_of_another_system_have_its_name(tmp_path):
    (tmp_path / "etc").mkdir()
    (tmp_path / "etc/os-release").write_text('ID=debian\nVERSION_ID="13"\nHOME_URL="https://www.debian.org/?a=b"\n')
    programs, _ = census_table.list_programs("nginx", tmp_path)
    assert "nginx, Debian 13" not in programs  # it is not installed there
    (tmp_path / "usr/sbin").mkdir(parents=True)
    (tmp_path / "usr/sbin/nginx").write_text("")
    (tmp_path / "usr/sbin/nginx").chmod(0o755)
    programs, _ = census_table.list_programs("nginx", tmp_path)
    assert "nginx, Debian 13" in programs
    (tmp_path / "etc/os-release").write_text("VERSION_CODENAME=forky\nID=debian\n")
    programs, _ = census_table.list_programs("nginx", tmp_path)
    assert "nginx, Debian forky" in programs


def test_each_system_that_is_there_has_rows(tmp_path, monkeypatch):
    monkeypatch.setattr(census_servers, "ROOT", tmp_path)
    for number in (13, 14):
        (tmp_path / f"build/debian-{number}/etc").mkdir(parents=True)
        (tmp_path / f"build/debian-{number}/etc/os-release").write_text(f"ID=debian\nVERSION_ID={number}\n")
    titles = [one.title for one in census_servers.list_servers(None)]
    assert {"nginx", "nginx, Debian 13", "nginx, Debian 14"} <= set(titles)
    titles = [one.title for one in census_servers.list_servers(tmp_path / "build/debian-14")]
    assert "nginx, Debian 13" not in titles and "nginx, Debian 14" in titles


@pytest.mark.slow
@pytest.mark.skipif(os.geteuid() != 0, reason="only root makes a network")
def test_a_process_of_another_user_is_refused():
    words = [sys.executable, ROOT / "tools/dev/check_census.py", "--program", "another user"]
    done = subprocess.run(words, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert "only its user and root may read its memory" in done.stdout


@pytest.mark.slow
@pytest.mark.skipif(os.geteuid() != 0, reason="only root makes a network")
def test_sessions_of_a_real_server_are_counted():
    words = [sys.executable, ROOT / "tools/dev/check_census.py", "--program", "CPython, server", "--sessions", "20"]
    done = subprocess.run(words, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    rows = [[cell.strip() for cell in line.split("|")] for line in done.stdout.splitlines()]
    rows = [row for row in rows if row[1:2] == ["CPython, server"]]
    assert [row[3:7] for row in rows] == [
        ["all open", "20", "20", "20"],
        ["half closed", "10", "10", "10"],
        ["all closed", "0", "0", "0"],
        ["peer silent", "10", "10", "10"],
        ["half a hello", "10", "10", "10"],
        ["hello only", "10", "10", "10"],
    ]
