"""Plans with answers known by hand: the law from recordings, its arithmetic, what fits, fleets, HAProxy, bad input."""

import csv
import hashlib
import io
import json
import re
import subprocess
import sys
from contextlib import redirect_stderr, redirect_stdout
from fractions import Fraction
from pathlib import Path

import pytest
from hypothesis import given, strategies

from tests.support import in_process, synthetic, synthetic_timed
from tests.support.planned import AT_REST, FIXED, IN_USE, RELEASED, STACK, SUITE, H, default_runs, low_memory_runs
from tlsmem.base.paths import ROOT
from tlsmem.cli.dispatch import run_words
from tlsmem.config import amounts
from tlsmem.config.servers import find_server
from tlsmem.plan import capacity, fit_answer, haproxy_answer, memory_answer, storm_answer
from tlsmem.plan.amounts import format_size
from tlsmem.plan.assumptions import haproxy_assumptions
from tlsmem.plan.capacity import Backends, ContextCost, Demand, Price
from tlsmem.plan.case import Case
from tlsmem.plan.configuration import Configuration
from tlsmem.plan.configuration_costs import SettingCost
from tlsmem.plan.connection_model import BY_RATIO, MEASURED, ConnectionModel, MachineIdentity
from tlsmem.plan.fleet_answer import Fleet
from tlsmem.plan.haproxy_answer import HaproxyConstants
from tlsmem.plan.server_memory import measure_server
from tlsmem.schema.records import RecordLine
from tlsmem.stats import recorded_stacks
from tlsmem.stats.session_cost import KIB, MIB
from tlsmem.store import recordings

FRAGMENT = {"stack": STACK, "suite": SUITE, "allocator": "system", "how": MEASURED, "fixed": 0, "widest": 1}
MODEL = FRAGMENT | {"configuration": Configuration(), "machine": MachineIdentity("a CPU", 2, None)}


def recording(tmp_path: Path, *runs) -> list[Path]:
    return [synthetic.write(tmp_path / "recording", runs)]


def peak_run(roles: str, sessions: int, peak: int, window: int | str = "all", **kind):
    """A run of the suite itself, whose RSS is the same in every phase."""
    run = synthetic.record(STACK, SUITE, sessions, roles=roles, window=window, **kind)
    sizes = {"rss_bytes": peak, "peak_rss_bytes": peak, "rss_anon_bytes": peak, "rss_file_bytes": 0}
    phases = [one.model_dump() | sizes | {"rss_shmem_bytes": 0} for one in run.phases]
    return run.model_copy(update={"phases": [type(run.phases[0]).model_validate(one) for one in phases]})


def test_the_arithmetic_by_hand():
    price, demand = Price(1_000, 100, 50, 20, 7), Demand(Fraction(5, 100), Fraction(20, 100))
    assert capacity.memory_bytes(price, demand, 1000) == 1_000 + 1000 * 107 + 50 * 50 + 200 * 20
    shares = {"handshake_retention": 0.5, "closed_retention": 0.25}
    held = ConnectionModel(**MODEL, role="server", connection=100, handshake=50, **shares)
    assert capacity.after_handshakes(price, held, demand, 1000) == 1_000 + 100_000 + 1_250 + 4_000
    assert capacity.after_closing(price, held, demand, 1000) == 1_000 + (100_000 + 1_250 + 4_000) // 4 + 1


def test_connections_at_rest_are_those_that_are_neither_in_use_nor_busy():
    price = Price(1_000, 100, 50, 20, 7, rest=60)
    third = Demand(in_use=Fraction(1, 3))
    assert capacity.memory_bytes(price, third, 100) == 1_000 + 3_334 + 4_000 + 700  # each term is rounded up
    busy = Demand(Fraction(1, 2), 20, in_use=10)
    assert busy.resting(100) == 30
    assert capacity.memory_bytes(price, busy, 100) == 1_000 + 70 * 100 + 30 * 60 + 50 * 50 + 20 * 20 + 700
    with pytest.raises(ValueError, match="RSS at rest is not recorded"):
        capacity.memory_bytes(price._replace(rest=None), third, 100)


def test_connections_use_what_the_process_has_and_no_more_than_they_need():
    """By hand: 600 B of it in use, and 50 at rest. Of two states the more is counted: one connection in use suffices
    for what those in use add."""
    price = Price(1_000, 70, 30, 0, 0, rest=60, first=-600, first_at_rest=-50)
    for handshaking, more in ((50, 50 * 30), (0, 0)):
        assert capacity.memory_bytes(price, Demand(handshaking), 100) == 1_000 + 70 * 100 + more - 600
    assert capacity.memory_bytes(price, Demand(), 2) == 1_000
    mixed = Demand(in_use=Fraction(1, 4))
    assert capacity.memory_bytes(price, mixed, 100) == 1_000 + 70 * 25 + 60 * 75 - 50
    assert capacity.memory_bytes(price, Demand(in_use=0), 100) == 1_000 + 60 * 100 - 50


def test_littles_law():
    assert capacity.apply_littles_law(500, 0.12) == 60
    assert capacity.apply_littles_law(200, 60) == 12_000
    assert capacity.apply_littles_law(0.1, 1) == 1
    assert capacity.apply_littles_law(100, 1.1) == 110  # and not 111: the product of floats is 110.00000000000001


sizes = strategies.integers(0, 10**6)
contexts = strategies.builds(ContextCost, sizes, strategies.just("client context"))
proxies = strategies.none() | strategies.builds(Backends, *[sizes] * 4, strategies.none() | contexts)
certificates = strategies.builds(SettingCost, strategies.just("certificates"), sizes, sizes)
settings = strategies.just(()) | strategies.tuples(certificates)
prices = strategies.builds(Price, *[sizes] * 6, proxies, settings=settings).filter(lambda one: one.tls + one.kernel)
parts = strategies.fractions(0, Fraction(1, 2)) | strategies.integers(0, 10_000)
demands = strategies.builds(Demand, parts, parts)


@pytest.mark.thorough
@given(prices, demands, strategies.integers(0, 10**13))
def test_what_fits_fits_and_one_more_does_not(price, demand, size):
    most = capacity.fit_connections(price, demand, size)
    if most is None:
        assert capacity.memory_bytes(price, demand, 0) > size
    else:
        assert capacity.memory_bytes(price, demand, most) <= size < capacity.memory_bytes(price, demand, most + 1)


@pytest.mark.thorough
@given(prices, demands, strategies.integers(0, 10**7))
def test_fitting_is_the_inverse_of_memory(price, demand, sessions):
    """More fit if they take no more: the first ones use memory that the process has."""
    size = capacity.memory_bytes(price, demand, sessions)
    most = capacity.fit_connections(price, demand, size)
    assert most >= sessions
    assert capacity.memory_bytes(price, demand, most) == size


def test_a_record_in_flight_is_in_the_buffers_of_a_session_in_use_else_assumed():
    one = MODEL | {"role": "server", "connection": 30_000, "handshake": 0}
    assert ConnectionModel(**one, has_record_buffer=True, in_use=45_000).record(16_406) == (15_000, None)
    assert ConnectionModel(**one, has_record_buffer=True, in_use=30_000).record(16_406) == (0, None)
    size, note = ConnectionModel(**one, in_use=45_000).record(16_406)
    assert (size, note) == (
        16_406,
        "assumed: one buffer for a full record, because no recording shows one in the session",
    )


def test_it_runs_as_a_process_and_says_sentences():
    words = [
        sys.executable,
        str(ROOT / "tools/tls-memtest"),
        "plan",
        "memory",
        "--connections",
        "5",
        "--suite",
        "tls13-rsa-aes",
    ]
    done = subprocess.run(words, capture_output=True, text=True, cwd="/")
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith(
        "memtest: --suite: memtest/suites.toml has no suite tls13-rsa-aes; did you mean tls13-rsa-aes"
    )


def test_a_rate_is_cores_times_one_threads_and_beyond_what_was_measured_it_says_so(tmp_path):
    among = recording(tmp_path, *synthetic_timed.campaign([STACK], [SUITE]))
    one = storm_answer.find_rate(STACK, SUITE, "server", 8, among)
    assert one.each == pytest.approx(1e9 / 540_000)
    assert one.total == 8 * one.each
    assert "extrapolated" in one.note
    two_kinds = [one for threads in (2, 4) for one in synthetic_timed.campaign([STACK], [SUITE], threads=[threads])]
    assert storm_answer.find_rate(STACK, SUITE, "server", 1, recording(tmp_path / "threads", *two_kinds)).threads == 2
    assert storm_answer.find_rate(STACK, SUITE, "both", 1, among).each == pytest.approx(1e9 / (540_000 + 450_000))


def test_a_rate_measured_with_all_cores_at_once_goes_before_a_newer_one(tmp_path):
    one, two = (synthetic_timed.campaign([STACK], [SUITE], threads=[threads]) for threads in (1, 2))
    among = [recording(tmp_path / "new", *one)[0], recording(tmp_path / "old", *two)[0]]
    threads = [storm_answer.find_rate(STACK, SUITE, "server", cores, among).threads for cores in (1, 2, 8)]
    assert threads == [1, 2, 2]


def test_a_fleet_shares_alike_and_rounds_up():
    fleet = Fleet(10_000_000, 40, 1)
    assert (fleet.before, fleet.after, fleet.more) == (250_000, 256_411, 6_411)


def test_a_fleets_usual_load_is_there_before_and_after(tmp_path):
    """Ten hosts of 100, 10 in the handshake and 20 reading on each; one fails, and 12 more come to each of nine."""
    where = recording(tmp_path, *default_runs())
    words = f"fleet --stack {STACK} --clients 1000 --hosts 10 --handshaking 10% --in-flight 20 --kernel-bytes 0 "
    words += (
        "--record-bytes 1000 --arrivals at-once --handshake-rate 10 --cores 1 --rtt 0 --client-time 0 --format json"
    )
    before, peak, after = told(plan(*words.split(), where=where))["fleet"]
    assert before["bytes"] == FIXED + 100 * IN_USE + 10 * H + 20 * 1000
    assert peak["bytes"] == after["bytes"] == FIXED + 112 * IN_USE + 22 * H + 20 * 1000
    assert [one["shaking"] for one in (before, peak, after)] == [10, 22, 10]


def test_haproxys_maxconn_by_hand():
    """With its own constants and 1 GiB, TLS on one side: (1 GiB - 4 MB) x 0.97 / 129,920 = 7,986."""
    proxy = haproxy_assumptions()
    built_in = HaproxyConstants(proxy.session_bytes, proxy.handshake_bytes)
    assert (1_073_741_824 - 4_000_000) * 97 // 100 // 129_920 == 7_986
    assert haproxy_answer.maxconn(built_in, 1024 * MIB, 1, proxy) == 7_900
    assert haproxy_answer.maxconn(built_in, MIB, 1, proxy) == 0
    assert [haproxy_answer.round_to_two_digits(one) for one in (7, 99, 100, 129_999)] == [7, 99, 100, 120_000]


def test_haproxys_constants_hold_session_and_peak_of_either_role():
    server = ConnectionModel(**MODEL, role="server", connection=50_000, handshake=20_000)
    client = ConnectionModel(**MODEL, role="client", connection=60_000, handshake=10_000)
    assert haproxy_answer.haproxy_constants([server]) == (49 * KIB, 20 * KIB)  # 70,000 - 50,176 are 19.4 KiB
    assert haproxy_answer.haproxy_constants([server, client]) == (59 * KIB, 10 * KIB)


def test_haproxys_constants_name_the_side_whose_rss_they_are():
    server = ConnectionModel(**MODEL, role="server", connection=50_000, handshake=40_000)
    client = ConnectionModel(**MODEL, role="client", connection=60_000, handshake=10_000)
    case = Case(server, Price(0, 1, 0, 0, 3_866), None)
    section = haproxy_answer.haproxy_section(case, [server, client])
    assert section.title.startswith("OpenSSL 3.5.5 proxy with TLS on both sides, ")
    assert [line.remark for line in section.lines[:2]] == [
        "RSS in use, a client: 60,000 B",
        "peak, a server: 90,000 B minus the above",
    ]
    answer = haproxy_answer.answer_haproxy([(case, [server, client])], 1024 * MIB, 2, 10_000)
    (most,) = [row[3].value for row in answer.tables[0].rows[1:]]
    assert f"kernel memory: add {format_size(10_000 * most)} for maxconn {most:,}." in " ".join(answer.notes)
    assert " A proxy with TLS on both sides, suite " in answer.tables[0].caption
    assert any("set maxconn and, twice as large, maxsslconn to it" in note for note in answer.notes)


@pytest.mark.parametrize(
    ("parsed", "text", "value"),
    [
        (amounts.parse_size, "16GiB", 2**34),
        (amounts.parse_size, "16G", 2**34),
        (amounts.parse_size, "16GB", 16 * 10**9),
        (amounts.parse_size, "1.5KiB", 1536),
        (amounts.parse_count, "10M", 10**7),
        (amounts.parse_count, "100,000", 100_000),
        (amounts.parse_share, "5%", Fraction(1, 20)),
        (amounts.parse_share, "5000", 5000),
        (amounts.parse_seconds, "200ms", 0.2),
        (amounts.parse_seconds, "2min", 120.0),
        (amounts.parse_rate, "500/s", 500.0),
    ],
)
def test_amounts_are_read_as_people_write_them(parsed, text, value):
    assert parsed(text) == value


def plan(*words, where=None) -> subprocess.CompletedProcess:
    """As its process would have it."""
    asked = [*words, *(["--recording", str(where[0])] if where else [])]
    recordings.load_stack.cache_clear()
    out, err = io.StringIO(), io.StringIO()
    with redirect_stdout(out), redirect_stderr(err):
        status = in_process.exit_status(lambda: run_words(["plan", *asked]))
    return subprocess.CompletedProcess(asked, status, out.getvalue(), err.getvalue())


@pytest.mark.parametrize(
    "words",
    [
        "memory --connections 0",
        "memory --connections -5",
        "memory --connections 1.5",
        "memory --connections 100 --handshaking 101%",
        "memory --connections 100 --handshaking 80% --in-flight 30%",
        "memory --connections 100 --handshaking 101",
        "memory --connections 100 --in-use 101",
        "memory --connections 100 --in-use 10% --state at-rest",
        "memory --connections 100 --as nginx --low-memory",
        "memory --connections 100 --tickets many",
        "memory --connections 100 --rate 5",
        "memory --connections 100 --rate 5 --rtt 1s --handshaking 1%",
        "memory --connections 100 --stalled-rate 5",
        "memory --connections 100 --kernel-bytes much",
        "fit --memory 0",
        "fit --memory 16XiB",
        "storm --clients 10 --within 0s",
        "storm --clients 10 --cores 0",
        "storm --clients 10 --handshake-rate 0",
        "fleet --clients 10M --hosts 40 --fail 40",
        "fleet --clients 10M --hosts 0",
        "fleet --clients 10M --hosts 40 --fail 0",
    ],
)
def test_what_cannot_be_is_a_usage_error(words, snapshot):
    done = plan(*words.split())
    assert done.returncode == 2
    assert done.stderr == snapshot
    assert done.stderr.count("\n") == 1


def told(done: subprocess.CompletedProcess) -> dict[str, list[dict]]:
    assert done.returncode == 0, done.stderr
    return {one["name"]: one["rows"] for one in json.loads(done.stdout)["tables"]}


def test_memory_is_fixed_and_each_term_and_says_what_it_extrapolates(tmp_path):
    where = recording(tmp_path, *default_runs())
    words = f"memory --stack {STACK} --connections 100000 --handshaking 5% --in-flight 20% --kernel-bytes 4KiB"
    done = plan(*words.split(), "--record-bytes", "16000", "--format", "json", where=where)
    rows = {row["what"]: row["bytes"] for row in told(done)["memory"]}
    assert rows["peak"] == FIXED + 100_000 * (IN_USE + 4096) + 5_000 * H + 20_000 * 16_000
    assert rows["RSS at peak"] == rows["RSS after closing all"] == rows["peak"] - 100_000 * 4096
    shown = plan(*words.split(), "--details", where=where).stdout
    assert "Measured up to 1,000 connections; beyond that, extrapolated." in shown
    assert "extrapolated: openssl@3.5.5 was measured up to 1,000 connections" in shown
    assert "left out" in shown
    assert "extrapolated" not in plan("memory", "--stack", STACK, "--connections", "1000", where=where).stdout


def test_a_share_in_use_low_memory_and_tickets_are_inputs(tmp_path):
    where = recording(tmp_path, *default_runs(), *low_memory_runs())
    words = f"memory --stack {STACK} --connections 1000 --kernel-bytes 0"
    peaks = {
        more: next(row["bytes"] for row in told(done)["memory"] if row["what"] == "peak")
        for more in ("--in-use 30%", "--in-use 300 --tickets library", "--low-memory", "--in-use 0")
        for done in [plan(*words.split(), *more.split(), "--format", "json", where=where)]
    }
    assert peaks["--in-use 30%"] == FIXED + 300 * IN_USE + 700 * AT_REST == peaks["--in-use 300 --tickets library"]
    assert peaks["--low-memory"] == FIXED + 1000 * RELEASED
    assert peaks["--in-use 0"] == FIXED + 1000 * AT_REST
    lacking = plan(*words.split(), "--tickets", "0", where=where)
    assert lacking.returncode == 1 and lacking.stderr.startswith(f"memtest: not recorded: RSS of {STACK} as a server")
    assert f"to record it: tools/tls-memtest measure deployed-config --stacks {STACK}" in lacking.stderr
    assert f"--suites {SUITE} --tickets 3" in plan(*words.split(), "--tickets", "3", where=where).stderr


SCREENS = {
    "in part in use": "memory --connections 100000 --in-use 30%",
    "memory": "memory --connections 100000 --handshaking 5%",
    "at rest": "memory --connections 1M --state at-rest",
    "no handshakes": "memory --connections 1000",
    "proxy": "memory --connections 1000 --role both --kernel-bytes 1000",
    "fit": "fit --memory 16GiB --in-flight 20%",
    "storm": "storm --clients 10000 --arrivals at-once --handshake-rate 500 --cores 2 --limit 100",
    "fleet": "fleet --clients 100000 --hosts 40 --fail 1 --arrivals even --handshake-rate 500 --cores 2",
    "haproxy": "haproxy --memory 16GiB",
}


@pytest.mark.parametrize("words", [pytest.param(words, id=name) for name, words in SCREENS.items()])
def test_the_answer_is_the_first_line_and_the_screen_has_80_columns(tmp_path, words, snapshot):
    few = "1000" in words.split() and "both" not in words
    runs = default_runs(handshakes=not few) + low_memory_runs()
    done = plan(*words.split(), "--stack", STACK, where=recording(tmp_path, *runs))
    assert done.returncode == 0, done.stderr
    answer_lines, origin = re.split(r"\nFrom\s", done.stdout, maxsplit=1)  # where lines break depends on the path
    lines = [line for line in answer_lines.splitlines() if "tools/tls-memtest" not in line]  # a command stays whole
    assert max(map(len, lines)) <= 80
    assert [answer_lines, origin[origin.index("More:") :]] == snapshot


def test_a_release_without_handshakes_names_the_nearest_with_them(tmp_path):
    lacking, near, other = "openssl@3.5.7", "openssl@3.5.4", "openssl@4.0.3"
    known, unknown = default_runs(), default_runs(handshakes=False)
    of_releases = {STACK: unknown, lacking: unknown, near: known, other: known}
    lines = [(one.model_dump_json(by_alias=True), to) for to, runs in of_releases.items() for one in runs]
    where = recording(tmp_path, *(RecordLine.model_validate_json(line.replace(STACK, to)) for line, to in lines))
    shown = {
        one: plan("memory", "--connections", "1000", "--stack", one, where=where).stdout for one in (lacking, near)
    }
    assert f"\nRecorded with it: --stack {near}\n" in shown[lacking]
    assert "Recorded with it" not in shown[near]


def test_the_first_line_has_the_memory_of_active_and_of_idle_connections(tmp_path):
    """100,000 of 54,000 B and of 40,000 B, and of 84,000 B in a handshake; with 9 MB of the process and no kernel."""
    words = f"memory --connections 100000 --stack {STACK} --kernel-bytes 0"
    first = plan(*words.split(), where=recording(tmp_path, *default_runs())).stdout.splitlines()[0]
    sizes = [f"{(FIXED + 100_000 * each) / 2**30:.2f}" for each in (IN_USE, AT_REST, IN_USE + H)]
    assert first == "Provision {} GiB for 100,000 active connections ({} idle, {} worst case)".format(*sizes)


def test_few_connections_are_extrapolated_too(tmp_path):
    where = recording(tmp_path, *default_runs())
    shown = {n: plan("memory", "--connections", n, "--stack", STACK, where=where).stdout for n in ("1", "100")}
    assert "for 1 active connection (" in shown["1"] and "for 100 active connections (" in shown["100"]
    note = "Measured from 100 connections on; with fewer, idle may come out above active."
    assert {n: note in text for n, text in shown.items()} == {"1": True, "100": False}


def test_csv_has_one_table_and_the_others_are_named(tmp_path):
    where, file = recording(tmp_path, *default_runs()), tmp_path / "plan.csv"
    done = plan("memory", "--connections", "1000", "--stack", STACK, "-o", str(file), where=where)
    assert (done.returncode, done.stdout) == (0, "")
    also = "--table terms or left-out prints another, --format json all"
    assert done.stderr == f"memtest: CSV has one table, memory; {also}\n"
    with file.open() as stream:
        rows = list(csv.DictReader(stream))
    assert {row["stack"] for row in rows} == {STACK} and [row for row in rows if row["what"] == "peak"]
    done = plan("memory", "--connections", "1000", "--stack", STACK, "--table=terms", "--format=csv", where=where)
    assert done.stdout.startswith("stack,law,recording") and done.stderr == ""


TERMS = "Terms of the memory model"


def test_details_are_the_answer_and_its_tables(tmp_path):
    words = f"memory --connections 1000 --stack {STACK}"
    where = recording(tmp_path, *default_runs())
    screen, details = (plan(*words.split(), *more, where=where).stdout for more in ([], ["--details"]))
    assert details.startswith(screen) and "**" not in screen
    titles = [line for line in details.splitlines() if line.startswith("**")]
    assert titles == [
        "**Memory of 1,000 connections**",
        "**Terms of the memory model**",
        "**What the figures leave out**",
    ]


def test_a_page_takes_the_screen_as_text(tmp_path):
    where, page = recording(tmp_path, *default_runs()), tmp_path / "page.md"
    words = f"memory --connections 1000 --stack {STACK} --recording {where[0]}"
    page.write_text(f"<!-- begin: tools/tls-memtest plan {words} -->\n<!-- end -->\n")
    assert plan(*words.split(), "--into", str(page)).returncode == 0
    assert page.read_text().splitlines()[2:4] == ["```text", plan(*words.split()).stdout.splitlines()[0]]


def test_a_library_is_its_newest_release(tmp_path):
    runs = [run for stack in (STACK, "rustls+aws-lc@0.23.46") for run in default_runs(stack=stack)]
    done = plan("memory", "--connections", "5", "--stack", "rustls", where=recording(tmp_path, *runs))
    assert "rustls 0.23.46 (aws-lc) server" in done.stdout


@pytest.mark.thorough
def test_a_stack_without_the_option_is_left_out_and_the_others_are_answered():
    words = "memory --connections 1000 --low-memory --format json --stack wolfssl+server@5.9.4 --stack boringssl@5.4.0"
    done = plan(*words.split())
    assert done.returncode == 1
    (table, *_) = json.loads(done.stdout)["tables"]
    assert {row["stack"] for row in table["rows"]} == {"boringssl@5.4.0"}
    (reason,) = [line for line in done.stderr.splitlines() if line.startswith("memtest: left out: ")]
    assert "wolfssl+server@5.9.4" in reason
    assert reason.endswith("leave --low-memory out to plan with its defaults, or those of wolfssl@5.9.4")
    alone = plan(*words.replace(" --stack boringssl@5.4.0", "").replace("+server", "").split())
    assert (alone.returncode, alone.stdout) == (1, "")
    assert alone.stderr.endswith("leave --low-memory out to plan with its defaults\n")


def test_a_release_series_is_its_newest_recorded_release(monkeypatch):
    there = [f"openssl@{version}" for version in ("3.50.1", "3.5.5", "3.5.10", "3.6.0", "1.1.1w")]
    monkeypatch.setattr(recordings, "stacks", lambda path: there)
    assert recorded_stacks.resolve_stack("openssl@3.5", [Path()]) == "openssl@3.5.10"
    assert recorded_stacks.resolve_stack("openssl@1.1.1", [Path()]) == "openssl@1.1.1w"
    assert recorded_stacks.resolve_stack("openssl@3.5.5", [Path()]) == "openssl@3.5.5"
    with pytest.raises(ValueError, match=r"no recording has the stack openssl@3\.4"):
        recorded_stacks.resolve_stack("openssl@3.4", [Path()])


def test_nginx_is_suggested_only_where_it_can_run_the_stack():
    fragment = MODEL | {"role": "server", "connection": 1, "handshake": 0}
    for stack, suggests in {"openssl@3.5.5": True, "rustls+aws-lc@0.23.46": False}.items():
        case = Case(ConnectionModel(**fragment | {"stack": stack}), Price(0, 1, 0, 0, 0), None)
        assert ("--as nginx" in memory_answer.describe_next([case])) is suggests


def test_a_limit_that_not_even_the_process_fits_is_none_of_the_answer():
    """At rest, the line of RSS may begin higher: then 0 connections fit if all are idle."""
    active, idle = Price(9_000_000, 50_000, 0, 0, 0), Price(9_500_000, 40_000, 0, 0, 0)
    model = ConnectionModel(**MODEL, role="server", connection=50_000, handshake=0)
    case = Case(model, active, None, idle, active)
    assert "2 active connections fit into 8.68 MiB (0 if all idle; " in fit_answer.fit_headline(
        case, 2, 9_100_000, False
    )


def storm_case(retention: float, **fields) -> Case:
    """100 connections take 1,000,000 B, and their handshakes as much again; of these a share stays."""
    fragment = MODEL | {"role": "server", "connection": 10_000, "handshake": 10_000, "handshake_retention": retention}
    active = Price(0, 10_000, 10_000, 0, 0)
    return Case(ConnectionModel(**fragment | fields), active, None, active, active)


def haproxy_case(**fields) -> Case:
    """The same in HAProxy, which keeps more for each handshake, as `price_model` adds it: docs/how-to/plan.md."""
    case = storm_case(1.0, configuration=Configuration(server=find_server("haproxy")), **fields)
    active = case.price._replace(handshake=case.price.handshake + 4_614)
    return case._replace(active=active, measured=measure_server("haproxy"), handshake_excess=4_614)


def test_what_a_storm_takes_and_what_stays_is_a_sentence():
    assert memory_answer.describe_storms([storm_case(1.0)], 1_000) == [
        "If all clients reconnect at once: 19.1 MiB, and memory use stays that high."
    ]
    (partly,) = memory_answer.describe_storms([storm_case(0.5)], 1_000)
    assert partly == "If all clients reconnect at once: 19.1 MiB, and memory use stays at 14.3 MiB."
    storm, excess = memory_answer.describe_storms([haproxy_case()], 1_000)
    assert storm == "If all clients reconnect at once: ≈23.5 MiB, and memory use stays that high."
    assert excess.startswith(
        "For each concurrent handshake, the plan counts 4,614 B that HAProxy itself keeps, measured on OpenSSL 3.0"
    )
    _, unknown = memory_answer.describe_storms([haproxy_case(stack="awslc@5.12.0")], 1_000)
    assert unknown.endswith("(4,614 B with OpenSSL 3.0.19; not measured with AWS-LC 5.12.0).")
    assert memory_answer.describe_storms([storm_case(1.0, how=BY_RATIO)], 1_000) == []  # not measured
    quiet = storm_case(1.0)
    assert memory_answer.describe_storms([quiet._replace(active=quiet.price._replace(handshake=0))], 1_000) == []


def test_of_two_stacks_the_difference_of_a_connection_is_a_sentence():
    """By hand: 50,000 + 1,000 + 3,866 B and 10,000 + 1,000 + 3,866 B differ by 40,000 B, 73 % of 54,866 B."""
    large, small = storm_case(1.0), storm_case(1.0, stack="awslc@5.12.0")
    large, small = (
        one._replace(price=Price(0, size, 0, 0, 3_866, own=1_000)) for one, size in ((large, 50_000), (small, 10_000))
    )
    sentence = (
        "A connection of AWS-LC 5.12.0 takes 40,000 B (73 %) less than one of OpenSSL 3.5.5: 14,866 B instead of "
        "54,866 B, kernel memory included."
    )
    assert memory_answer.describe_difference([large, small]) == [sentence]
    assert memory_answer.describe_difference([small, large]) == [sentence]
    elsewhere = storm_case(1.0, machine=MachineIdentity("another CPU", 2, None))
    for others in ([small], [large, large], [large, small, small], [elsewhere, small]):
        assert memory_answer.describe_difference(others) == []
    assert memory_answer.describe_difference([large, storm_case(1.0, how=BY_RATIO)]) == []


def test_another_allocator_is_for_connections_that_are_opened_once():
    assert memory_answer.describe_allocator_choice([storm_case(1.0)]) == []
    (sentence,) = memory_answer.describe_allocator_choice([storm_case(1.0, allocator="jemalloc")])
    assert sentence.startswith("This is for connections that are opened once.") and "jemalloc" in sentence
    assert (ROOT / "docs/findings/churn.md").is_file()


def test_the_limit_that_always_holds_is_a_sentence_but_not_haproxys():
    """By hand: 100 MiB are 5,242 connections of 20,000 B, and 4,260 of 24,614 B."""
    limit = fit_answer.describe_highest_limits([storm_case(1.0)], 100 * MIB)
    assert limit == ["Limit connections to 5,240; that many fit even in the worst case."]
    excess, way = fit_answer.describe_highest_limits([haproxy_case()], 100 * MIB)
    headline = fit_answer.fit_headline(haproxy_case(), 4_260, 100 * MIB, several=False)
    assert headline.endswith("4,260 in the worst case)") and "counts 4,614 B" in excess
    assert way.endswith(
        "To set maxconn and maxsslconn, with kernel memory set aside: "
        "tools/tls-memtest plan haproxy --memory 100MiB --stack openssl@3.5.5"
    )
    assert "5,240" not in excess + way


def test_the_hint_for_maxconn_keeps_what_changes_the_figure():
    stack, suite = "awslc@5.12.0", "tls13-rsa-mtls-aes256"
    case = haproxy_case(stack=stack, suite=suite, allocator="jemalloc")
    case = case._replace(price=case.price._replace(backends=Backends(1, 0, 0, 1, None)))
    *_, way = fit_answer.describe_highest_limits([case], 100 * MIB, ["--kernel-bytes", "1"])
    kept = f"--stack {stack} --suite {suite} --allocator jemalloc --role both --kernel-bytes 1"
    assert way.endswith(f"set aside: tools/tls-memtest plan haproxy --memory 100MiB {kept}")


def test_what_is_left_for_haproxy_does_not_include_the_kernel():
    """100 MiB are 3,682 connections of 24,614 B and 3,866 B of the kernel: 14,234,612 B, and 86 MiB are left."""
    case = haproxy_case()
    case = case._replace(price=case.price._replace(kernel=3_866), active=case.active._replace(kernel=3_866))
    *_, way = fit_answer.describe_highest_limits([case], 100 * MIB)
    assert "plan haproxy --memory 86MiB" in way


def test_the_command_for_a_session_is_of_the_options_of_the_plan():
    case = storm_case(1.0, configuration=Configuration("low-memory"))
    assert case.cost_command == f"{storm_case(1.0).cost_command} --low-memory"


def test_fit_is_what_memory_says(tmp_path):
    where = recording(tmp_path, *default_runs())
    words = f"fit --stack {STACK} --memory 1GiB --handshaking 10% --kernel-bytes 0 --format json"
    (row,) = told(plan(*words.split(), where=where))["fit"]
    assert row["connections"] == (2**30 - FIXED) * 10 // (10 * IN_USE + H)


@pytest.mark.thorough
def test_a_storm_of_all_at_once_is_known_and_drawn(tmp_path):
    """100 clients, one core, ten handshakes a second, no way: all in the handshake after 9.9 s."""
    where = recording(tmp_path, *default_runs())
    words = f"storm --stack {STACK} --clients 100 --arrivals at-once --handshake-rate 10 --cores 1 --kernel-bytes 0 "
    words += f"--rtt 0 --client-time 0 --format json -o {tmp_path}/storm"
    (row,) = told(plan(*words.split(), where=where))["storm"]
    assert row["most_shaking"] == 100
    assert row["peak_bytes"] == row["after_bytes"] == FIXED + 100 * (IN_USE + H)
    assert (row["peak_s"], row["over_s"], row["longest_wait_s"]) == (9.9, 10.0, 10.0)
    assert (tmp_path / "storm.png").stat().st_size > 10_000
    drawn = (tmp_path / "storm.svg").read_bytes()
    assert b"<svg" in drawn
    plan(*words.split(), where=where)
    assert (tmp_path / "storm.svg").read_bytes() == drawn


def test_what_is_not_recorded_is_a_sentence(tmp_path, snapshot):
    broken = [synthetic.failed(STACK, SUITE, 1000, "killed by SIGKILL")]
    where = recording(tmp_path, *broken)
    done = plan("memory", "--connections", "5", "--stack", STACK, where=where)
    assert (done.returncode, done.stdout) == (1, "")
    again = plan("memory", "--connections", "5", "--stack", "opensl@3.5.5", where=where)
    nowhere = plan("fit", "--memory", "1GiB", where=[tmp_path / "none"])
    assert (again.returncode, nowhere.returncode) == (2, 2)
    assert [done.stderr, again.stderr, nowhere.stderr] == snapshot


def test_a_rate_or_an_allocator_that_is_not_recorded_is_said_with_what_records_it(tmp_path, snapshot):
    """Nothing is estimated from runs at rest, or from live heap."""
    at_rest = recording(tmp_path / "rest", *synthetic.campaign([STACK], [SUITE], roles="split"))
    done = plan("memory", "--connections", "5", "--stack", STACK, where=at_rest)
    where = recording(tmp_path / "use", *default_runs())
    storm = plan("storm", "--clients", "5", "--stack", STACK, where=where)
    other = plan("memory", "--connections", "5", "--stack", STACK, "--allocator", "jemalloc", where=where)
    few = recording(tmp_path / "few", *default_runs(handshakes=False))
    handshakes = plan("memory", "--connections", "5", "--stack", STACK, "--handshaking", "1", where=few)
    every = [done, storm, other, handshakes]
    assert [(one.returncode, one.stdout) for one in every] == [(1, "")] * 4
    assert [one.stderr for one in every] == snapshot


def test_rates_of_another_machine_are_never_mixed_in_silently(tmp_path):
    run = synthetic.record(STACK, SUITE, 2)
    other = run.machine.model_dump() | {"cpu": "Another CPU"}
    timed = synthetic_timed.campaign([STACK], [SUITE], machine=other)
    where = recording(tmp_path, *default_runs())
    beside = synthetic.write(tmp_path / "timed", timed)
    words = f"storm --clients 5 --stack {STACK} --recording {beside}"
    assert "another machine than the memory" in " ".join(plan(*words.split(), where=where).stdout.split())


def test_where_the_law_is_claimed_of_no_run_it_is_said(tmp_path):
    one_at_a_time = [peak_run("keep-server", n, FIXED + n * IN_USE, 1) for n in (1000, 2000, 4000)]
    done = plan("check", "--stack", STACK, where=recording(tmp_path, *one_at_a_time))
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("No recorded run has as many concurrent handshakes")


def test_runs_of_another_machine_are_never_held_against_the_law_in_silence(tmp_path):
    def pairs(where, **kind):
        runs = [
            peak_run("together", n, size, w, key=hashlib.md5(f"{where}{n}{w}".encode()).hexdigest()[:16], **kind)
            for n in (5000, 10_000)
            for w in (100, 1000, "all")
            if (size := FIXED + n * IN_USE + (n // 2 if w == "all" else w) * H)
        ]
        return synthetic.write(tmp_path / where, runs)

    other = synthetic.record(STACK, SUITE, 2).machine.model_dump() | {"cpu": "Another CPU"}
    words = ["check", "--details", "--stack", STACK, "--recording", str(pairs("new")), "--recording"]
    alike = plan(*words, str(pairs("old")))
    assert (alike.returncode, "another machine" in alike.stdout) == (0, False)
    assert "on another machine than the runs" in plan(*words, str(pairs("other", machine=other))).stdout


def test_a_maxconn_beyond_what_was_measured_is_marked(tmp_path):
    where = recording(tmp_path, *low_memory_runs())
    assert "extrapolated" in plan("haproxy", "--memory", "1GiB", "--stack", STACK, where=where).stdout
    small = plan("haproxy", "--memory", "64MiB", "--stack", STACK, where=where)
    assert small.returncode == 0 and "extrapolated" not in small.stdout


@pytest.mark.thorough
def test_the_law_is_near_what_was_measured_of_other_runs():
    """The committed recordings: at windows between, at 100,000 sessions, and in another recording."""
    rows = told(plan("check", "--format", "json"))["check"]
    claimed = [row for row in rows if row["window"] >= row["sessions"] / 200 or ", " in row["process"]]
    assert len(claimed) > 30
    assert max(abs(row["error"]) for row in claimed) < 0.05
    assert max(abs(row["error"]) for row in claimed if row["sessions"] == 100_000) < 0.001


def test_runs_of_another_machine_that_the_law_leaves_out_are_said(tmp_path, snapshot):
    machine = synthetic.record(STACK, SUITE, 2).machine.model_dump() | {"cpu": "Another \x1b[31mCPU"}
    earlier = {"machine": machine, "started_at": "2026-01-01T00:00:00Z"}
    others = [type(run).model_validate(run.model_dump(by_alias=True) | earlier) for run in default_runs()]
    done = plan("memory", "--connections", "5", "--stack", STACK, where=recording(tmp_path, *others, *default_runs()))
    assert done.returncode == 0
    assert done.stderr == snapshot
    assert "\x1b" not in done.stderr
