"""What real servers hold beside TLS, as computed by hand from raw live runs; and plans against all of these runs."""

import contextlib
import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from tests.support import forked_command
from tlsmem.base.errors import UserError
from tlsmem.base.paths import ROOT
from tlsmem.cli.dispatch import run_words
from tlsmem.config.servers import servers
from tlsmem.plan import server_memory
from tlsmem.plan.amounts import format_size
from tlsmem.plan.capacity import Price
from tlsmem.plan.case import Case, describe_limits
from tlsmem.plan.configuration import Configuration
from tlsmem.plan.connection_model import BY_RATIO, MEASURED, ConnectionModel, MachineIdentity
from tlsmem.plan.live_check import check_live
from tlsmem.plan.server_memory import measure_server, predict_rss
from tlsmem.schema.live_records import LiveRecord, append_live, load_live_file
from tlsmem.store import recordings

NGINX = ROOT / "data/2026-11-24-amd-epyc-p0457-live/live/nginx.jsonl.zst"

# The largest errors of a plan that is given a live run's connections and handshakes at a time, by server and state.
# With one handshake at a time, hyper's read buffers are all resident at rest. Go's RSS depends on when its garbage
# collector has run.
MARGINS = {
    ("nginx", "in use"): 0.03,
    ("nginx", "at rest"): 0.03,
    ("haproxy", "in use"): 0.03,
    ("haproxy", "at rest"): 0.03,
    ("rustls", "in use"): 0.08,
    ("rustls", "at rest"): 0.26,
    ("go", "in use"): 0.07,
    ("go", "at rest"): 0.12,
}


@pytest.mark.parametrize(
    ("name", "process", "at_rest", "in_use"),
    [
        ("nginx", 16_499_331, 622, 921),
        ("haproxy", 22_097_920, 1_499, 1_498),
        ("go", 9_322_496, 23_304, 26_852),
        ("rustls", 5_914_624, 12_838, 33_339),
    ],
)
def test_what_a_server_holds_is_its_rss_in_live_runs_less_a_session(name, process, at_rest, in_use):
    found = measure_server(name)
    assert (found.process, found.beside) == (process, {"at-rest": at_rest, "in-use": in_use})


def test_what_one_handshake_at_a_time_leaves_is_added_where_it_is_notably_more():
    """By hand: RSS of rustls at rest is on a line of 20,611 B over 1,000, 3,000 and 9,900 connections after 100
    handshakes at a time, and of 27,410 B after one at a time."""
    found = {name: measure_server(name) for name in ("nginx", "haproxy", "go", "rustls")}
    assert {name: set(one.one_by_one) for name, one in found.items()} == {
        "nginx": set(),
        "haproxy": set(),
        "go": set(),  # in use 7.9 % more, because of its garbage
        "rustls": {"at-rest", "in-use"},
    }
    assert found["rustls"].one_by_one["at-rest"] == 27_410 - 20_611
    assert found["rustls"].own(at_rest=True) == 12_838 + 27_410 - 20_611


def test_haproxy_keeps_more_for_each_handshake_than_a_plan_has():
    """By hand: 9,900 connections, all in the handshake at once, have 519,524,352 B; the plan has 473,240,917 B."""
    excess = server_memory.measure_handshake_excess("haproxy")  # the process has had 20 of the handshakes
    assert excess == round((519_524_352 - 473_240_917) / (9_900 - 20)) == 4_685
    assert server_memory.measure_handshake_excess("nginx") is None  # the plan has more


def test_nginx_has_an_entry_of_worker_connections_for_each_and_a_sixteenth_more():
    """By hand: 1,000 and 9,900 connections with 2,100 and 19,900 worker_connections differ by 7.75 MB: 435.8 B each."""
    found = measure_server("nginx")
    assert found.entry == pytest.approx(435.8, abs=0.1)
    assert found.own(at_rest=False) == 921 + 465
    assert measure_server("haproxy").own(at_rest=False) == 1_498


def test_a_server_without_live_runs_has_no_memory_of_its_own():
    assert [name for name in servers() if not measure_server(name)] == [
        "httpd",
        "envoy",
        "python",
        "node",
        "rust-openssl",
    ]


@pytest.mark.parametrize("fault", ["no file", "one number of connections", "another window"])
def test_a_recording_without_the_runs_of_a_server_is_not_recorded(fault, monkeypatch, tmp_path):
    runs = load_live_file(NGINX)
    if fault == "another window":
        runs = [run for run in runs if run.window != server_memory.WINDOW]
    if fault == "one number of connections":
        runs = [run for run in runs if run.connections == runs[0].connections]
    if fault != "no file":
        write_runs(tmp_path, runs)
    assert measure_server("nginx", among=(tmp_path,)) is None


def write_runs(recording: Path, runs: Sequence[LiveRecord], **changes: object) -> None:
    """Record live runs, changed, as another recording."""
    for run in runs:
        append_live(recording, run.model_copy(update=changes))


def test_a_plan_takes_the_live_runs_of_the_library_that_it_is_for(tmp_path):
    """Those of nginx as it is packaged, recorded again as built on OpenSSL 3.5.5: the same process; of a connection,
    what is beyond a session of that release. Of another library there are none: the packaged ones."""
    write_runs(tmp_path, load_live_file(NGINX), stack="openssl@3.5.5")
    among = (tmp_path, NGINX.parents[1])
    built, packaged = (measure_server("nginx", stack, among) for stack in ("openssl@3.5.5", "awslc@5.12.0"))
    assert (built.recording, built.stack, packaged.stack) == (tmp_path, "openssl@3.5.5", "openssl@system")
    assert packaged == measure_server("nginx", among=among[1:])
    assert built.process == packaged.process
    assert built.beside["in-use"] == 0  # such a session is larger than these connections are
    assert not measure_server("nginx", "openssl@3.5.5", among[1:]).is_built


def test_a_prediction_is_not_fitted_to_the_run_that_it_is_held_against(tmp_path):
    """With RSS of the largest runs doubled, the prediction of the largest is as before, and that of others is not."""
    runs, most = load_live_file(NGINX), 9_900
    write_runs(tmp_path, [double_rss(run) if run.connections == most else run for run in runs])
    found = [run for run in runs if (run.transport, run.meter, run.window) == ("tls", "rss", 100)]
    for run in found:
        before, now = (predict_rss("nginx", run, "in-use", path, (path,)) for path in (NGINX.parents[1], tmp_path))
        assert (before == now) == (run.connections == most)


def double_rss(run: LiveRecord) -> LiveRecord:
    phases = [
        phase.model_copy(update={"server": phase.server.model_copy(update={"rss_bytes": 2 * phase.server.rss_bytes})})
        for phase in run.phases
    ]
    return run.model_copy(update={"phases": phases})


def said(*words: str) -> str:
    done = forked_command.run(
        [sys.executable, str(ROOT / "tools/tls-memtest"), "plan", "memory", "--connections=1000", *words]
    )
    assert done.returncode == 0, done.stderr
    return " ".join(done.stdout.split())


@pytest.mark.thorough
def test_another_allocator_leaves_a_servers_own_memory_as_measured_and_the_answer_says_so():
    sentence = "They are as measured with glibc malloc, not with jemalloc."
    assert sentence in said("--stack=openssl@3.5.5", "--as=nginx", "--allocator=jemalloc")
    assert "as measured with glibc" not in said("--stack=openssl@3.5.5", "--as=nginx")


@pytest.mark.thorough
def test_every_figure_of_an_estimate_is_marked():
    estimate = said("--stack=openssl@3.5.5", "--allocator=jemalloc")
    assert "1,000 x ≈55,233 B" in estimate and "0 x ≈9,122 B" in estimate
    assert "≈" not in said("--stack=openssl@3.5.5")


def test_another_build_is_marked_where_it_is_an_estimate():
    machine = MachineIdentity("a CPU", 2, None)
    build = ("a@1", "tls13-rsa-aes256", "jemalloc", "server")
    model = ConnectionModel(*build, MEASURED, 0, 1_000, 0, 1, Configuration(), machine)
    other = replace(model, stack="a+b@1", how=BY_RATIO)
    cases = [
        Case(model, Price(0, 1_000, 0, 0, 0), None, other_build=one) for one in (other, replace(other, how=MEASURED))
    ]
    assert ["a connection takes ≈1,000 B" in describe_limits([case], 1)[0] for case in cases] == [True, False]


@pytest.fixture(scope="module")
def checks():
    return check_live()


@pytest.mark.parametrize("kind", MARGINS, ids=" ".join)
def test_a_plan_of_a_server_is_as_near_to_each_of_its_live_runs_as_is_said(checks, kind):
    found = [one for one in checks if (one.server, one.state) == kind and not one.build]
    assert len(found) >= 11
    assert max(abs(one.error) for one in found) <= MARGINS[kind]


def test_a_plan_of_a_server_on_each_library_is_within_three_percent(checks):
    found = [one for one in checks if one.server in ("nginx", "haproxy") and one.build]
    assert [(one.server, one.build, one.connections, one.window) for one in found if abs(one.error) > 0.03] == []


def test_plans_of_other_servers_are_within_five_percent(checks):
    """Redis, Valkey and Caddy are not: timers of jemalloc, and garbage."""
    there = ("envoy", "hitch", "httpd", "mosquitto", "pgbouncer", "postgresql", "stunnel")
    found = [one for one in checks if one.server in there]
    assert {one.server for one in found} == {*there}
    assert [(one.server, one.connections, one.window) for one in found if abs(one.error) > 0.05] == []


def test_connections_and_handshakes_of_the_fitted_runs_are_within_four_percent(checks):
    measured = ("nginx", "haproxy", "rustls")
    found = [one for one in checks if one.window == server_memory.WINDOW and one.server in measured]
    assert max(abs(one.error) for one in found) <= 0.035


def screen_of(capsys, *words: str) -> str:
    with contextlib.suppress(UserError):
        run_words(["plan", *words])
    return " ".join(capsys.readouterr().out.split())


@pytest.mark.parametrize("stack", [(), ("--stack", "wolfssl"), ("--stack", "wolfssl+server@5.9.4")])
def test_wolfssl_has_one_figure_in_haproxy_and_names_its_other_build(capsys, stack):
    shown = screen_of(capsys, "haproxy", *stack)
    assert "RSS in use: 54,023 B" in shown
    assert "RSS in use: 3,509 B" not in shown
    assert "wolfSSL 5.9.4 (default build), a connection takes 3,509 B of RSS (wolfssl@5.9.4, library defaults)" in shown


def test_the_first_line_says_what_one_of_two_libraries_saves_in_a_server(capsys, monkeypatch):
    """By hand, for 1,000 connections: 22,097,920 B of HAProxy as it is packaged, of which connections use what 20
    handshakes on OpenSSL 3.0.19 left, and 26,665 or 10,637 B each; on OpenSSL also 20 times what HAProxy keeps."""
    monkeypatch.setattr(recordings, "find_live_recordings", lambda named=(): (NGINX.parents[1],))
    words = ("--connections", "1000", "--stack", "openssl@3.5.5", "--stack", "awslc@5.12.0")
    shown = screen_of(capsys, "memory", *words, "--as", "haproxy")
    process = 22_097_920 - measure_server("haproxy", None, (NGINX.parents[1],)).reused["in-use"]
    more, less = process - 20 * 4_685 + 26_665_000, process + 10_637_000
    saved = f"{format_size(more - less)} ({100 * (more - less) / more:.0f} %)"
    assert shown.startswith(
        f"AWS-LC 5.12.0 saves ≈{saved} in HAProxy: {format_size(less)} instead of {format_size(more)} "
    )
    assert "HAProxy itself was not measured on OpenSSL 3.5.5 or AWS-LC 5.12.0" in shown
    assert not screen_of(capsys, "memory", *words).startswith("AWS-LC 5.12.0 saves")
