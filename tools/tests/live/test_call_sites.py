"""Call sites of a connection: what is added, by massif's snapshots of our own making, and in a small server."""

import os
import shutil
from pathlib import Path

import pytest

from tests.live.test_traps import CONNECTIONS, FORKS, take_timeline
from tlsmem.live import call_sites
from tlsmem.live.call_sites import SITES, HeldSite, find_sites, list_largest, make_words
from tlsmem.live.servers import ServerError
from tlsmem.schema.live_records import LiveSite

HEADER = "desc: --threshold=0\ncmd: server\ntime_unit: i\n"
SNAPSHOT = (
    "#-----------\nsnapshot=0\n#-----------\ntime=1\nmem_heap_B={total}\nmem_heap_extra_B=0\nmem_stacks_B=0\n"
    "heap_tree=detailed\nn{sites}: {total} (heap allocation functions) malloc/new/new[], --alloc-fns, etc.\n"
)
SSL, TABLE, BUFFER = "SSL_new (in /usr/lib/libssl.so.3)", "grow_table (table.c:7)", "accept_client (server.c:9)"


def write_snapshot(file: Path, **bytes_of: int) -> Path:
    """Write what massif would: the bytes of SSL, TABLE and BUFFER, each called by main."""
    lines = [HEADER + SNAPSHOT.format(total=sum(bytes_of.values()), sites=len(bytes_of))]
    for number, (name, size) in enumerate(bytes_of.items(), start=1):
        lines.append(f" n1: {size} 0x{number}000: {globals()[name]}\n  n0: {size} 0x9000: main (server.c:1)\n")
    file.write_text("".join(lines))
    return file


def sizes(sites: list[LiveSite]) -> dict[str, int]:
    return {one.callers[0]: one.bytes for one in sites}


def test_what_was_there_before_is_no_connections_and_what_is_freed_counts(tmp_path):
    before = {1: write_snapshot(tmp_path / "a", SSL=100, TABLE=500)}
    after = {1: write_snapshot(tmp_path / "b", SSL=900, TABLE=450, BUFFER=64)}
    found = find_sites(before, after, 1)
    assert sizes(found) == {"SSL_new": 800, "accept_client": 64, "grow_table": -50}
    assert {one.callers[0]: one.held_by for one in found} == {
        "SSL_new": "TLS",
        "accept_client": "server",
        "grow_table": "server",
    }
    assert found[0].library == "OpenSSL (libssl.so.3)" and found[1].library is None


def test_what_a_process_inherits_at_a_fork_is_taken_off_and_stays_its_parents(tmp_path):
    before = {1: write_snapshot(tmp_path / "a", TABLE=500, BUFFER=70)}
    after = {1: before[1], 2: write_snapshot(tmp_path / "b", TABLE=500, SSL=900), 3: tmp_path / "b"}
    assert sizes(find_sites(before, after, 1)) == {"SSL_new": 1800}  # the two children freed BUFFER, the parent did not


def test_a_snapshot_that_is_no_massif_file_is_a_sentence(tmp_path):
    (tmp_path / "a").write_text("nothing\n")
    with pytest.raises(ServerError, match="a: "):
        find_sites({1: tmp_path / "a"}, {}, 1)


def test_many_call_sites_are_one_of_each_holder_and_no_byte_is_lost():
    added = {HeldSite((f"f{number}",), "TLS" if number % 2 else "server", None): number for number in range(500)}
    found = list_largest(added)
    assert len(found) == SITES + 2 and sum(one.bytes for one in found) == sum(added.values())
    assert [one.callers for one in found[SITES:]] == [[], []]


def test_without_valgrind_or_its_library_the_sentence_has_the_command(tmp_path, monkeypatch):
    monkeypatch.setattr(call_sites, "MARKS", tmp_path / "libmarks.so")
    monkeypatch.setattr(call_sites.shutil, "which", lambda _: "/usr/bin/valgrind")
    with pytest.raises(ServerError, match=r"libmarks\.so is not there: make .*libmarks\.so$"):
        make_words(tmp_path)
    monkeypatch.setattr(call_sites.shutil, "which", lambda _: None)
    with pytest.raises(ServerError, match=r"massif, which is not installed: apt install valgrind$"):
        make_words(tmp_path)


@pytest.mark.slow
@pytest.mark.skipif(os.geteuid() != 0, reason="network namespaces and memory cgroups need root")
@pytest.mark.skipif(not shutil.which("valgrind") or not call_sites.MARKS.exists(), reason="needs valgrind, libmarks.so")
@pytest.mark.parametrize("before", ["", "import os; os.environ.clear()"], ids=["", "no environment"])
def test_a_process_for_each_connection_is_asked_and_what_it_inherits_counts_once(before):
    """The server holds 16 MiB, and each of its processes 100,000 bytes of its own. nginx clears its environment."""
    sites = take_timeline(f"{before}\n{FORKS}", "sites").sites
    assert sites and 100_000 <= sum(one.bytes for one in sites) / CONNECTIONS < 2**20
