"""Plans of connections as servers run them: RSS in use, at rest and as a named server, with answers known by hand."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support import synthetic
from tlsmem.base.paths import ROOT
from tlsmem.config.servers import servers
from tlsmem.plan import find_model
from tlsmem.plan.configuration import Configuration, configure
from tlsmem.schema.records import Record

STACK, SUITE = "openssl@3.5.5", "tls13-rsa-aes256"
FIXED, AT_REST, IN_USE, RELEASED, H = 9_000_000, 40_000, 54_000, 21_000, 30_000
LIVE, RELEASED_LIVE = 53_000, 20_500
DEFAULT, LOW = f"{SUITE}+tickets-library", f"{SUITE}+low-memory+tickets-library"
COUNTS = (200, 2000)


def used_run(variant: str, sessions: int, meter: str = "rss", window: int | str = 100, live: int = 0, **sizes: int):
    """A run with full records of a process a role; `sizes` are RSS a session, of the peak in the handshake, at rest and
    in use, `live` is live heap in use."""
    run = synthetic.record(STACK, variant, sessions, meter, roles="split", window=window).model_dump(by_alias=True)
    pairs, phases = sessions // 2, []
    for phase in run["phases"]:
        phases.append(phase)
        if phase["phase"] == "reply":
            phases.append(json.loads(json.dumps(phase)) | {"phase": "blocked"})
    phases.sort(key=lambda one: one["process"] == "server")
    order = [*synthetic.PHASES[:9], "blocked", *synthetic.PHASES[9:]]
    phases.sort(key=lambda one: order.index(one["phase"]))
    for phase in phases:
        name = phase["phase"]
        state = "peak" if name == "server 1" else "rest" if order.index(name) < order.index("blocked") else "use"
        each = sizes.get(state, 0) if name not in ("contexts", "sessions") else 0
        size = FIXED + pairs * each
        phase |= {"rss_bytes": size, "peak_rss_bytes": size, "rss_anon_bytes": size, "rss_file_bytes": 0}
        if meter == "heap" and name == "blocked" and phase["process"] == "server":
            counts = {key: one for key, one in phase["heap"].items() if key != "total"}
            counts |= {"server": synthetic.heap(pairs * live, pairs * 40, pairs * live)}
            total = {key: sum(one[key] for one in counts.values()) for key in counts["server"]}
            phase["heap"] = counts | {"total": total}
    return Record.model_validate(run | {"phases": phases, "argv": [*run["argv"], "data=full"]})


def used_runs(variant: str, use: int, rest: int, live: int, handshakes: bool = True) -> list[Record]:
    """Few handshakes at a time, the heap, and all handshakes at once."""
    found = [used_run(variant, n, use=use, rest=rest, peak=rest) for n in COUNTS]
    found += [used_run(variant, n, "heap", live=live) for n in COUNTS]
    if handshakes:
        found += [used_run(variant, n, window="all", use=use + H, rest=use + H, peak=use + H) for n in COUNTS]
    return found


def default_runs(**kind) -> list[Record]:
    return used_runs(DEFAULT, IN_USE, AT_REST, LIVE, **kind)


def low_memory_runs(**kind) -> list[Record]:
    return used_runs(LOW, RELEASED, RELEASED, RELEASED_LIVE, **kind)


def model(tmp_path: Path, runs: list[Record], configuration: Configuration):
    where = synthetic.write(tmp_path / "recording", runs)
    return find_model.choose_configured(STACK, SUITE, "system", "server", configuration, [where])


def plan(*words: str, where: Path) -> subprocess.CompletedProcess:
    command = [sys.executable, str(ROOT / "tools/plan.py"), *words, "--recording", str(where)]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def rows(done: subprocess.CompletedProcess, table: str) -> list[dict]:
    assert done.returncode == 0, done.stderr
    return next(one["rows"] for one in json.loads(done.stdout)["tables"] if one["name"] == table)


def test_in_use_is_the_slope_of_rss_when_all_wait_in_a_read(tmp_path):
    found = model(tmp_path, default_runs(), Configuration())
    assert (found.fixed, found.kept, found.handshake) == pytest.approx((FIXED, IN_USE, H))
    assert (found.live, found.widest, found.held_shaking) == (LIVE, 1_000, 1.0)


def test_at_rest_is_the_slope_before_anything_was_sent_and_knows_what_use_adds(tmp_path):
    found = model(tmp_path, default_runs(), Configuration(phase="established"))
    assert (found.kept, found.in_use) == pytest.approx((AT_REST, IN_USE))


def test_a_server_that_releases_buffers_is_the_low_memory_variant(tmp_path):
    found = model(tmp_path, default_runs() + low_memory_runs(), configure("nginx", "in-use", STACK))
    assert (found.kept, found.live) == pytest.approx((RELEASED, RELEASED_LIVE))
    assert found.configuration.own_bytes == 512


def test_only_libraries_that_have_the_mode_release_buffers_in_nginx():
    assert configure("nginx", "in-use", "openssl+clang@3.5.5").options == "low-memory"
    assert configure("nginx", "in-use", "boringssl@5.4.0").options == "default"
    assert configure("go", "in-use", "go@1.26.8") == Configuration(server=servers()["go"])


def test_handshakes_of_another_configuration_are_never_taken(tmp_path):
    runs = default_runs() + low_memory_runs(handshakes=False)
    assert model(tmp_path, runs, configure("nginx", "in-use", STACK)).handshake is None


def test_a_recording_that_has_the_handshakes_too_is_preferred(tmp_path):
    lacking = synthetic.write(tmp_path / "newer", default_runs(handshakes=False))
    whole = synthetic.write(tmp_path / "older", default_runs())
    found = find_model.choose_configured(STACK, SUITE, "system", "server", Configuration(), [lacking, whole])
    assert found.origin == whole


def test_memory_as_nginx_is_rss_in_use_and_512_bytes(tmp_path):
    where = synthetic.write(tmp_path / "recording", low_memory_runs())
    words = f"memory --stack {STACK} --connections 1000 --as nginx --kernel-bytes 0 --format json"
    found = {row["what"]: row["bytes"] for row in rows(plan(*words.split(), where=where), "memory")}
    assert found["peak"] == FIXED + 1000 * (RELEASED + 512)
    assert "peak, once all have been used" not in found


def test_the_used_state_is_the_default_where_it_is_recorded(tmp_path):
    where = synthetic.write(tmp_path / "recording", default_runs() + low_memory_runs())
    words = f"memory --stack {STACK} --connections 1000 --kernel-bytes 0 --format json"
    found = {row["what"]: row["bytes"] for row in rows(plan(*words.split(), where=where), "memory")}
    assert found["peak"] == FIXED + 1000 * IN_USE
    at_rest = plan(*words.split(), "--state", "at-rest", where=where)
    found = {row["what"]: row["bytes"] for row in rows(at_rest, "memory")}
    assert found["peak"] == FIXED + 1000 * AT_REST
    assert found["peak, once all have been used"] == FIXED + 1000 * IN_USE


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
        pytest.param(f"memory --connections 5 --stack {STACK} --as ngnix", 1, id="misspelt"),
    ],
)
def test_a_server_that_cannot_be_planned_is_a_sentence(tmp_path, words, code, snapshot):
    runs = low_memory_runs(handshakes=False) if "nginx" in words else default_runs()
    done = plan(*words.split(), where=synthetic.write(tmp_path / "recording", runs))
    assert (done.returncode, done.stdout) == (code, "")
    assert done.stderr.splitlines()[-1].rpartition("error: ")[2] == snapshot


def test_every_server_names_its_sources():
    for name, server in servers().items():
        assert all("(" in one for one in server.sources), name
        assert set(server.releases) <= set(server.libraries), name
        assert (server.own_bytes is None) == (server.own_source is None), name
