"""Plans of connections as servers run them: RSS in use, at rest and as a named server, with answers known by hand."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support import forked_command, synthetic
from tests.support.planned import (
    AT_REST,
    COUNTS,
    FIXED,
    IN_USE,
    LIVE,
    RELEASED,
    RELEASED_LIVE,
    STACK,
    SUITE,
    H,
    default_runs,
    low_memory_runs,
    used_runs,
)
from tlsmem.base.paths import ROOT
from tlsmem.config.servers import servers
from tlsmem.plan import find_model
from tlsmem.plan.configuration import Configuration, configure
from tlsmem.plan.connection_model import BY_RATIO, MEASURED, SUMMED, ModelRequest
from tlsmem.plan.server_memory import measure_server
from tlsmem.schema.records import RecordLine
from tlsmem.store import recordings

CONTEXTS = f"tools/tls-memtest measure contexts --stacks {STACK}"


def model(tmp_path: Path, runs: list[RecordLine], configuration: Configuration, allocator="system", role="server"):
    where = synthetic.write(tmp_path / "recording", runs)
    recordings.load_stack.cache_clear()
    return find_model.find_model(ModelRequest(STACK, SUITE, allocator, role, configuration), [where])


def plan(*words: str, where: Path) -> subprocess.CompletedProcess:
    command = [sys.executable, str(ROOT / "tools/tls-memtest"), "plan", *words, "--recording", str(where)]
    return forked_command.run(command)


def rows(done: subprocess.CompletedProcess, table: str) -> list[dict]:
    assert done.returncode == 0, done.stderr
    return next(one["rows"] for one in json.loads(done.stdout)["tables"] if one["name"] == table)


def test_in_use_is_the_slope_of_rss_when_all_wait_in_a_read(tmp_path):
    found = model(tmp_path, default_runs(), Configuration())
    assert (found.fixed, found.connection, found.handshake) == pytest.approx((FIXED, IN_USE, H))
    assert (found.live, found.widest, found.handshake_retention) == (LIVE, 1_000, 1.0)


def test_at_rest_is_the_slope_before_anything_was_sent_and_knows_what_use_adds(tmp_path):
    found = model(tmp_path, default_runs(), Configuration(phase="established"))
    assert (found.connection, found.in_use) == pytest.approx((AT_REST, IN_USE))


def test_a_server_that_releases_buffers_is_the_low_memory_variant(tmp_path):
    found = model(tmp_path, default_runs() + low_memory_runs(), configure("nginx", "in-use", STACK))
    assert (found.connection, found.live) == pytest.approx((RELEASED, RELEASED_LIVE))


def test_only_libraries_that_have_the_mode_release_buffers_in_nginx():
    assert configure("nginx", "in-use", "openssl+clang@3.5.5").options == "low-memory"
    assert configure("nginx", "in-use", "boringssl@5.4.0").options == "default"
    assert configure("go", "in-use", "go@1.26.8") == Configuration(server=servers()["go"])


def test_haproxy_runs_on_wolfssl_as_servers_build_it_alone():
    assert configure("haproxy", "in-use", "wolfssl+server@5.9.4").options == "default"
    with pytest.raises(ValueError, match=r"^--as: HAProxy does not run on wolfssl@5.9.4; .*, wolfssl\+server"):
        configure("haproxy", "in-use", "wolfssl@5.9.4")


def test_handshakes_of_another_configuration_are_never_taken(tmp_path):
    runs = default_runs() + low_memory_runs(handshakes=False)
    assert model(tmp_path, runs, configure("nginx", "in-use", STACK)).handshake is None


def test_the_newest_recording_is_taken_and_one_with_handshakes_where_they_are_needed(tmp_path):
    newer = synthetic.write(tmp_path / "newer", default_runs(handshakes=False))
    older = synthetic.write(tmp_path / "older", default_runs())
    wanted = ModelRequest(STACK, SUITE, "system", "server", Configuration())
    assert find_model.find_model(wanted, [newer, older]).origin == newer
    assert find_model.find_model(wanted, [newer, older], handshakes=True).origin == older
    (newer / f"{STACK}.jsonl").write_text("not read\n")
    recordings.load_stack.cache_clear()
    recordings.loaded.clear()
    assert find_model.find_model(wanted, [older, newer], handshakes=True).origin == older


@pytest.mark.parametrize("retained", [0.0, 0.4, 1.0])
def test_the_share_of_handshake_memory_that_stays_is_as_recorded(tmp_path, retained):
    found = model(tmp_path, default_runs(retained=retained), Configuration())
    assert (found.handshake, found.handshake_retention) == pytest.approx((H, retained))


def test_no_tickets_are_recorded_as_the_suite_itself_or_by_name(tmp_path):
    """Handshakes without tickets are recorded by `--tickets 0`, which names them."""
    wanted, others = Configuration(tickets=0), {"use": IN_USE, "rest": AT_REST, "live": LIVE}
    own = used_runs(SUITE, handshakes=False, **others)
    assert model(tmp_path / "own", own, wanted).handshake is None
    named = used_runs(f"{SUITE}+tickets-0", **others)
    assert model(tmp_path / "named", named, wanted).handshake == pytest.approx(H)
    assert model(tmp_path / "others", default_runs(), wanted) is None


def test_nothing_is_derived_from_live_heap(tmp_path):
    """Heap runs, and RSS with all handshakes concurrent, are no RSS in use."""
    runs = [run for run in default_runs() if run.meter == "heap" or run.window == "all"]
    assert model(tmp_path, runs, Configuration()) is None


def test_one_number_of_sessions_is_no_slope(tmp_path):
    assert model(tmp_path, default_runs(counts=(2000,)), Configuration()) is None


def test_a_proxys_connection_is_the_sum_of_both_sessions(tmp_path):
    found = model(tmp_path, default_runs(), Configuration(), role="both")
    assert (found.how, found.widest, found.live) == (SUMMED, 1_000, LIVE + 64_000)
    assert (found.fixed, found.connection, found.handshake) == pytest.approx((FIXED, 2 * IN_USE, 2 * H))


def test_another_allocator_is_the_ratio_of_peaks_until_it_is_recorded(tmp_path):
    named = {"name": "jemalloc", "version": "5.3.0-1", "settings": None, "library": None}
    peaks = ((60_000, {}), (90_000, {"allocator": named}))
    pairs = [together(n, size, **kind) for n in COUNTS for size, kind in peaks]
    found = model(tmp_path / "a", [*default_runs(), *pairs], Configuration(), "jemalloc")
    assert found.how == BY_RATIO
    assert (found.connection, found.handshake, found.fixed) == pytest.approx((1.5 * IN_USE, 1.5 * H, FIXED))
    recorded = default_runs(allocator=named)
    found = model(tmp_path / "b", [*default_runs(), *pairs, *recorded], Configuration(), "jemalloc")
    assert (found.how, found.connection) == (MEASURED, pytest.approx(IN_USE))


def together(sessions: int, each: int, **kind) -> RecordLine:
    """A run with both ends in one process, in the suite itself, that needs so many bytes for a session."""
    run = synthetic.record(STACK, SUITE, sessions, **kind).model_dump(by_alias=True)
    size = FIXED + sessions * each
    for phase in run["phases"]:
        phase |= {"rss_bytes": size, "peak_rss_bytes": size, "rss_anon_bytes": size}
        phase |= {"rss_file_bytes": 0, "rss_shmem_bytes": 0}
    return RecordLine.model_validate(run)


def test_memory_as_nginx_is_its_own_process_rss_in_use_and_its_own_bytes(tmp_path):
    """The live runs of nginx are those of data/: on this library, or as it is packaged."""
    nginx = measure_server("nginx", STACK)
    where = synthetic.write(tmp_path / "recording", low_memory_runs())
    words = f"memory --stack {STACK} --connections 1000 --as nginx --kernel-bytes 0 --format json"
    found = {row["what"]: row["bytes"] for row in rows(plan(*words.split(), where=where), "memory")}
    quiet = nginx.process + 1000 * (RELEASED + nginx.beside["in-use"] + nginx.table)
    assert found["peak"] == quiet - nginx.reused["in-use"]  # connections use what the first 20 handshakes left
    assert found["peak, worst case"] == found["peak"] + 1000 * H


@pytest.mark.thorough
def test_a_proxy_has_as_many_backend_connections_as_are_said(tmp_path):
    """50 backends are 50 client sessions; without --backends there are 1,000."""
    where = synthetic.write(tmp_path / "recording", default_runs())
    words = f"memory --stack {STACK} --connections 1000 --role both --kernel-bytes 7".split()
    found = {row["what"]: row["bytes"] for row in rows(plan(*words, "--format", "json", where=where), "memory")}
    assert found["peak"] == FIXED + 1000 * (2 * IN_USE + 7)
    words += ["--backends", "50"]
    found = {row["what"]: row["bytes"] for row in rows(plan(*words, "--format", "json", where=where), "memory")}
    assert (found["backend connections"], found["kernel, backends"]) == (50 * IN_USE, 50 * 7)
    assert found["peak"] == FIXED + 1050 * (IN_USE + 7)
    assert found["RSS at peak"] == FIXED + 1050 * IN_USE
    assert found["peak, if all idle"] == FIXED + 1050 * (AT_REST + 7)
    shown = " ".join(plan(*words, where=where).stdout.split())
    assert f"A backend context of OpenSSL 3.5.5: not recorded and not included; to record it: {CONTEXTS}" in shown


def test_what_fits_beside_backend_connections_is_the_inverse_of_memory(tmp_path):
    where = synthetic.write(tmp_path / "recording", default_runs())
    size = FIXED + 1050 * (IN_USE + 7)
    words = f"fit --stack {STACK} --memory {size} --role both --backends 50 --kernel-bytes 7 --format json".split()
    (found,) = rows(plan(*words, where=where), "fit")
    assert (found["connections"], found["bytes"], found["next_each_bytes"]) == (1000, size, IN_USE + 7)


def test_each_server_behind_a_proxy_has_a_context_of_its_own():
    """By hand from the raw runs of contexts with 20 and 200 client contexts: 23,620 B each."""
    words = f"memory --stack {STACK} --connections 1000 --role both --backends 200 --backend-servers 10"
    done = forked_command.run(
        [sys.executable, str(ROOT / "tools/tls-memtest"), "plan", *words.split(), "--format", "json"]
    )
    (found,) = [row for row in rows(done, "memory") if row["what"] == "backend contexts"]
    assert (found["count"], found["each_bytes"], found["bytes"]) == (10, 23_620, 236_200)


def test_a_backend_context_has_the_suite_and_the_recording_that_it_is_from():
    words = f"memory --stack {STACK} --connections 1000 --role both --backends 200".split()
    said = " ".join(
        forked_command.run([sys.executable, str(ROOT / "tools/tls-memtest"), "plan", *words]).stdout.split()
    )
    assert "one CA, in tls13-rsa-aes256-many, data/2026-11-24-amd-epyc-p0457-contexts." in said


@pytest.mark.thorough
def test_the_used_state_is_the_default_where_it_is_recorded(tmp_path):
    where = synthetic.write(tmp_path / "recording", default_runs() + low_memory_runs())
    words = f"memory --stack {STACK} --connections 1000 --kernel-bytes 0 --format json"
    found = {row["what"]: row["bytes"] for row in rows(plan(*words.split(), where=where), "memory")}
    assert (found["peak"], found["peak, if all idle"]) == (FIXED + 1000 * IN_USE, FIXED + 1000 * AT_REST)
    at_rest = plan(*words.split(), "--state", "at-rest", where=where)
    found = {row["what"]: row["bytes"] for row in rows(at_rest, "memory")}
    assert found["peak"] == FIXED + 1000 * AT_REST
    assert found["peak, if all active"] == FIXED + 1000 * IN_USE


def test_haproxys_constants_are_of_sessions_as_haproxy_runs_them(tmp_path):
    """21,000 B are 21 KiB; the peak of 51,000 B needs 29,496 B, which is 28.8 KiB, beyond that."""
    where = synthetic.write(tmp_path / "recording", default_runs() + low_memory_runs())
    found = rows(plan("haproxy", "--stack", STACK, "--format", "json", where=where), "haproxy")[-1]
    assert (found["session_bytes"], found["handshake_bytes"]) == (21 * 1024, 29 * 1024)


@pytest.mark.parametrize(
    ("words", "code"),
    [
        pytest.param(f"memory --connections 5 --stack {STACK} --as haproxy", 1, id="not recorded"),
        pytest.param(f"memory --connections 5 --stack {STACK} --as nginx --handshaking 1", 1, id="no handshakes"),
        pytest.param(f"memory --connections 5 --stack {STACK} --as go", 1, id="another library"),
        pytest.param("memory --connections 5 --as go", 2, id="no usual stack"),
        pytest.param(f"memory --connections 5 --stack {STACK} --as ngnix", 2, id="misspelt"),
        pytest.param(f"memory --connections 5 --stack {STACK} --allocator jemaloc", 2, id="misspelt allocator"),
        pytest.param(f"memory --connections 5 --stack {STACK} --allocator foo", 2, id="unknown allocator"),
        pytest.param(f"fleet --clients 5 --hosts 40 --stack {STACK}", 2, id="fewer clients than hosts"),
        pytest.param(f"memory --connections 5 --stack {STACK} --backends 5", 2, id="backends of no proxy"),
        pytest.param(f"fit --memory 1G --stack {STACK} --role both --backend-servers 5", 2, id="servers alone"),
    ],
)
def test_a_server_that_cannot_be_planned_is_a_sentence(tmp_path, words, code, snapshot):
    runs = low_memory_runs(handshakes=False) if "nginx" in words else default_runs()
    done = plan(*words.split(), where=synthetic.write(tmp_path / "recording", runs))
    assert (done.returncode, done.stdout) == (code, "")
    assert done.stderr.splitlines()[-1].rpartition("error: ")[2] == snapshot


def client_certificates(where: Path, *words: str) -> list[str]:
    """What a plan says of them."""
    done = plan("memory", "--stack", STACK, "--connections", "5", "--format", "json", *words, where=where)
    return [row["why"] for row in rows(done, "left-out") if row["what"] == "client certificates"]


@pytest.mark.thorough
def test_client_certificates_are_a_suite_to_plan_with_only_where_it_is_recorded(tmp_path):
    mutual = f"{SUITE}-mutual"
    without = synthetic.write(tmp_path / "without", default_runs())
    advice = f"tools/tls-memtest measure deployed-config --stacks {STACK} --suites {mutual}"
    assert client_certificates(without) == [
        f"a session keeps the chain of a verified client; RSS not recorded; to record it: {advice}"
    ]
    recorded = used_runs(f"{mutual}+tickets-library", IN_USE + 5_000, AT_REST, LIVE)
    where = synthetic.write(tmp_path / "with", default_runs() + recorded)
    assert client_certificates(where) == [f"a session keeps the chain of a verified client: --suite {mutual}"]
    assert client_certificates(where, "--suite", mutual) == []


def test_what_a_stack_cannot_do_comes_with_a_reason_and_no_command(tmp_path):
    where = synthetic.write(tmp_path / "recording", default_runs())
    done = plan("check", "--stack", "bearssl@0.6", "--suite", SUITE, where=where)
    assert (done.returncode, "tls-memtest measure" in done.stderr) == (1, False)
    done = forked_command.run(
        [sys.executable, str(ROOT / "tools/tls-memtest"), "plan", "check", "--stack", "bearssl@0.6", "--suite", SUITE]
    )
    assert "cannot be recorded: bearssl@0.6 does not do tls13-rsa-aes256" in done.stderr


def test_every_server_names_its_sources():
    for name, server in servers().items():
        assert all("(" in one for one in server.sources), name
        assert {one.partition("+")[0] for one in server.libraries} >= set(server.releases), name
