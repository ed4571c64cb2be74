"""Plans with answers known by hand: the law from recordings, its arithmetic, what fits, fleets, HAProxy, bad input."""

import hashlib
import io
import json
import subprocess
import sys
from contextlib import redirect_stderr, redirect_stdout
from fractions import Fraction
from pathlib import Path

import pytest
from hypothesis import given, strategies

from tests.support import synthetic, synthetic_timed
from tlsmem.base.paths import ROOT
from tlsmem.cli import plan as command
from tlsmem.config import amounts
from tlsmem.plan import answer, capacity, find_model, handshake_rates, haproxy_answer
from tlsmem.plan.assumptions import haproxy_assumptions
from tlsmem.plan.capacity import Demand, Price
from tlsmem.plan.connection_model import BY_HEAP, BY_RATIO, MEASURED, QUOTIENT, ConnectionModel
from tlsmem.plan.fleet_answer import Fleet
from tlsmem.plan.haproxy_answer import HaproxyConstants
from tlsmem.stats.session_cost import KIB, MIB

STACK, SUITE = "openssl@3.5.5", "tls13-rsa-aes256"
FRAME = {"function": "grow", "file": None, "line": None, "module": "libssl.so", "offset": 1}
FIXED, E, H = 8_000_000, 40_000, 25_000  # of the server below


def planted(roles: str, sessions: int, rss: int, established: int, window: int | str = "all", **kind):
    """A run whose peak is in the handshake, and what it has when all are established and when all are closed."""
    run = synthetic.record(STACK, SUITE, sessions, roles=roles, window=window, **kind)
    phases = [one.model_dump() for one in run.phases]
    for one in phases:
        size = established if one["phase"] in ("established", "payload", "reply", "idle", "closed") else rss
        one |= {"rss_bytes": size, "peak_rss_bytes": max(rss, size), "rss_anon_bytes": size}
        one |= {"rss_file_bytes": 0, "rss_shmem_bytes": 0}
    return run.model_copy(update={"phases": [type(run.phases[0]).model_validate(one) for one in phases]})


def split(counts=(200, 1000, 20_000), held=1.0):
    """All servers in the handshake at once; `held` of H stays when they are established."""
    each = E + H
    return [planted("split", n, FIXED + n // 2 * each, FIXED + n // 2 * E + round(held * n // 2 * H)) for n in counts]


def kept(counts=(200, 1000, 2000)):
    """100 handshakes at a time, whose clients are in the process too."""
    return [planted("keep-server", n, size, size, 100) for n in counts if (size := 3 * FIXED + n // 2 * E)]


def recording(tmp_path: Path, *runs) -> list[Path]:
    return [synthetic.write(tmp_path / "recording", runs)]


def law(among, allocator="system", role="server") -> ConnectionModel:
    return find_model.choose_model(STACK, SUITE, allocator, role, among)


def test_the_law_of_a_server_is_read_from_few_and_from_all_handshakes_at_once(tmp_path):
    one = law(recording(tmp_path, *split(), *kept()))
    assert one.how == MEASURED
    assert (one.fixed, one.kept, one.handshake) == pytest.approx((FIXED, E, H))
    assert (one.widest, one.held_shaking, one.held_closed) == (1_000, 1.0, pytest.approx(1.0))


def test_what_stays_of_the_handshakes_is_as_recorded(tmp_path):
    assert law(recording(tmp_path, *split(held=0.4), *kept())).held_shaking == pytest.approx(0.4)


def test_without_few_handshakes_at_once_the_law_is_an_estimate_and_says_so(tmp_path):
    heaps = [synthetic.record(STACK, SUITE, n, "heap", roles="split") for n in (200, 1000)]
    one = law(recording(tmp_path, *split(), *heaps))
    assert one.how == BY_HEAP
    assert (one.kept, one.handshake) == pytest.approx((52_000, E + H - 52_000))  # the heap runs' figure


def test_of_one_number_of_sessions_there_is_a_quotient_and_it_says_so(tmp_path):
    one = law(recording(tmp_path, *split(counts=(2000,))))
    assert one.how == QUOTIENT
    assert (one.fixed, one.peak) == (0, pytest.approx(FIXED / 1000 + E + H))


def test_of_both_ends_the_law_is_of_pairs(tmp_path):
    runs = [
        planted("together", n, size, size, w)
        for n in (5000, 10_000)
        for w in (100, 1000, "all")
        if (size := FIXED + n // 2 * 2 * E + (n // 2 if w == "all" else w) * H)
    ]
    one = law(recording(tmp_path, *runs), role="both")
    assert one.how == MEASURED
    assert (one.fixed, one.kept, one.handshake) == pytest.approx((FIXED, 2 * E, H), rel=1e-6)


def test_another_allocator_is_a_quotient_of_peaks_and_gives_back_as_recorded(tmp_path):
    named = {"name": "jemalloc", "version": "5.3.0-1", "settings": None, "library": None}
    counts = (200, 1000)
    system = [planted("together", n, FIXED + n * 60_000, FIXED + n * 60_000) for n in counts]
    other = [planted("together", n, FIXED + n * 90_000, FIXED + n * 45_000, allocator=named) for n in counts]
    among = recording(tmp_path, *split(), *kept(), *system, *other)
    one = law(among, "jemalloc")
    assert one.how == BY_RATIO
    assert (one.kept, one.handshake, one.fixed) == pytest.approx((1.5 * E, 1.5 * H, FIXED))
    assert one.held_closed == pytest.approx(0.5)
    assert (law(among).widest, one.widest) == (1_000, 500)  # connections, of two sessions each


def test_the_arithmetic_by_hand():
    price, demand = Price(1_000, 100, 50, 20, 7), Demand(Fraction(5, 100), Fraction(20, 100))
    assert capacity.memory_bytes(price, demand, 1000) == 1_000 + 1000 * 107 + 50 * 50 + 200 * 20
    held = ConnectionModel(STACK, SUITE, "system", "server", MEASURED, 1_000, 100, 50, None, 0, False, 10, 0.5, 0.25)
    assert capacity.after_handshakes(price, held, demand, 1000) == 1_000 + 100_000 + 1_250 + 4_000
    assert capacity.after_closing(price, held, demand, 1000) == 1_000 + (100_000 + 1_250 + 4_000) // 4 + 1


def test_littles_law():
    assert capacity.apply_littles_law(500, 0.12) == 60
    assert capacity.apply_littles_law(200, 60) == 12_000
    assert capacity.apply_littles_law(0.1, 1) == 1
    assert capacity.apply_littles_law(100, 1.1) == 110  # and not 111: the product of floats is 110.00000000000001


prices = strategies.builds(Price, *[strategies.integers(0, 10**6)] * 6).filter(lambda one: one.kept + one.kernel)
parts = strategies.fractions(0, Fraction(1, 2)) | strategies.integers(0, 10_000)
demands = strategies.builds(Demand, parts, parts)


@given(prices, demands, strategies.integers(0, 10**13))
def test_what_fits_fits_and_one_more_does_not(price, demand, size):
    most = capacity.fit_connections(price, demand, size)
    if most is None:
        assert capacity.memory_bytes(price, demand, 0) > size
    else:
        assert capacity.memory_bytes(price, demand, most) <= size < capacity.memory_bytes(price, demand, most + 1)


@given(prices, demands, strategies.integers(0, 10**7))
def test_fitting_is_the_inverse_of_memory(price, demand, sessions):
    assert capacity.fit_connections(price, demand, capacity.memory_bytes(price, demand, sessions)) == sessions


def test_a_record_in_flight_is_all_of_a_session_that_has_its_buffers_else_assumed():
    one = {"stack": STACK, "suite": SUITE, "allocator": "system", "role": "server", "how": MEASURED}
    one |= {"fixed": 0, "kept": 30_000, "handshake": 0, "widest": 1}
    flying, note = ConnectionModel(**one, used=50_000, grows=16_000, whole_record=True).record(16_406)
    assert flying == 20_000
    assert note.startswith("derived: live heap")
    measured = ConnectionModel(**one, used=50_000, grows=16_000, whole_record=True, in_use=45_000)
    assert measured.record(16_406) == (15_000, None)
    flying, note = ConnectionModel(**one, used=30_096, grows=96, whole_record=False).record(16_406)
    assert flying == 96 + 16_406
    assert note.startswith("assumed")


def test_it_runs_as_a_process_and_says_sentences():
    words = [sys.executable, str(ROOT / "tools/plan.py"), "memory", "--connections", "5", "--suite", "tls13-rsa-aes"]
    done = subprocess.run(words, capture_output=True, text=True, cwd="/")
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr.startswith("plan: no suite tls13-rsa-aes in memtest/suites.toml; did you mean tls13-rsa-aes")


BLOCKS = [(16_704, "server", True), (16_383, "server", False), (16_704, "client", False)]


@pytest.mark.parametrize(("size", "role", "whole"), BLOCKS)
def test_that_a_session_has_room_for_a_whole_record_is_seen_in_its_call_stacks(tmp_path, size, role, whole):
    run = synthetic.record(STACK, SUITE, 200, "sites", roles="split").model_dump(by_alias=True)
    for phase in run["phases"]:
        live = [{"role": role, "since": "payload", "stack": 0, "blocks": 2, "bytes": 2 * size}]
        phase["sites"]["live"] = live if phase["phase"] == "reply" else []
    run["sites"] = {"frames": [FRAME], "stacks": [[0]]}
    where = recording(tmp_path, *split(), *kept(), synthetic.Record.model_validate(run))
    assert law(where).whole_record is whole


def test_a_rate_is_cores_times_one_threads_and_beyond_what_was_measured_it_says_so(tmp_path):
    among = recording(tmp_path, *synthetic_timed.campaign([STACK], [SUITE]))
    one = handshake_rates.find_rate(STACK, SUITE, "server", 8, among)
    assert one.each == pytest.approx(1e9 / 540_000)
    assert one.total == 8 * one.each
    assert "extrapolated" in one.note
    two_kinds = [one for threads in (2, 4) for one in synthetic_timed.campaign([STACK], [SUITE], threads=[threads])]
    assert (
        handshake_rates.find_rate(STACK, SUITE, "server", 1, recording(tmp_path / "threads", *two_kinds)).threads == 2
    )
    assert handshake_rates.find_rate(STACK, SUITE, "both", 1, among).each == pytest.approx(1e9 / (540_000 + 450_000))


def test_a_rate_measured_with_all_cores_at_once_goes_before_a_newer_one(tmp_path):
    one, two = (synthetic_timed.campaign([STACK], [SUITE], threads=[threads]) for threads in (1, 2))
    among = [recording(tmp_path / "new", *one)[0], recording(tmp_path / "old", *two)[0]]
    threads = [handshake_rates.find_rate(STACK, SUITE, "server", cores, among).threads for cores in (1, 2, 8)]
    assert threads == [1, 2, 2]


def test_a_fleet_shares_alike_and_rounds_up():
    fleet = Fleet(10_000_000, 40, 1)
    assert (fleet.before, fleet.after, fleet.more) == (250_000, 256_411, 6_411)


def test_a_fleets_usual_load_is_there_before_and_after(tmp_path):
    """Ten hosts of 100, 10 in the handshake and 20 reading on each; one fails, and 12 more come to each of nine."""
    where = recording(tmp_path, *split(), *kept())
    words = f"fleet --stack {STACK} --clients 1000 --hosts 10 --handshaking 10% --in-flight 20 --kernel-bytes 0 "
    words += (
        "--record-bytes 1000 --arrivals at-once --handshake-rate 10 --cores 1 --rtt 0 --client-time 0 --format json"
    )
    before, peak, after = told(plan(*words.split(), where=where))["fleet"]
    assert before["bytes"] == FIXED + 100 * E + 10 * H + 20 * 1000
    assert peak["bytes"] == after["bytes"] == FIXED + 112 * E + 22 * H + 20 * 1000
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
    one = {"stack": STACK, "suite": SUITE, "allocator": "system", "how": MEASURED, "fixed": 0}
    server = ConnectionModel(
        **one, role="server", kept=30_000, handshake=40_000, used=50_000, grows=0, whole_record=True, widest=1
    )
    client = ConnectionModel(
        **one, role="client", kept=45_000, handshake=10_000, used=60_000, grows=0, whole_record=True, widest=1
    )
    assert haproxy_answer.haproxy_constants([server]) == (49 * KIB, 20 * KIB)  # 70,000 - 50,176 are 19.4 KiB
    assert haproxy_answer.haproxy_constants([server, client]) == (59 * KIB, 10 * KIB)


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
    out, err = io.StringIO(), io.StringIO()
    with redirect_stdout(out), redirect_stderr(err), pytest.raises(SystemExit) as ended:
        given = command.parser().parse_args(asked)
        answer.ended(given, command.parser())
    said, code = ended.value.code, ended.value.code
    if isinstance(said, str):
        print(said, file=err)
        code = 1
    return subprocess.CompletedProcess(asked, code, out.getvalue(), err.getvalue())


@pytest.mark.parametrize(
    "words",
    [
        "memory --connections 0",
        "memory --connections -5",
        "memory --connections 1.5",
        "memory --connections 100 --handshaking 101%",
        "memory --connections 100 --handshaking 80% --in-flight 30%",
        "memory --connections 100 --handshaking 101",
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
    assert done.stderr.rpartition("error: ")[2] == snapshot  # without the usage, which wraps as the terminal is wide
    assert "Traceback" not in done.stderr


def told(done: subprocess.CompletedProcess) -> dict[str, list[dict]]:
    assert done.returncode == 0, done.stderr
    return {one["name"]: one["rows"] for one in json.loads(done.stdout)["tables"]}


def test_memory_is_fixed_and_each_term_and_says_what_it_extrapolates(tmp_path):
    where = recording(tmp_path, *split(), *kept())
    words = f"memory --stack {STACK} --connections 100000 --handshaking 5% --in-flight 20% --kernel-bytes 4KiB"
    done = plan(*words.split(), "--record-bytes", "16000", "--format", "json", where=where)
    rows = {row["what"]: row["bytes"] for row in told(done)["memory"]}
    assert rows["peak"] == FIXED + 100_000 * (E + 4096) + 5_000 * H + 20_000 * 16_000
    assert rows["process alone"] == rows["process, all closed"] == rows["peak"] - 100_000 * 4096
    shown = plan(*words.split(), where=where).stdout
    assert "extrapolated: the widest N measured of openssl@3.5.5 is 1,000" in shown
    assert "left out" in shown
    assert "extrapolated" not in plan("memory", "--stack", STACK, "--connections", "1000", where=where).stdout


def test_fit_is_what_memory_says(tmp_path):
    where = recording(tmp_path, *split(), *kept())
    words = f"fit --stack {STACK} --memory 1GiB --handshaking 10% --kernel-bytes 0 --format json"
    (row,) = told(plan(*words.split(), where=where))["fit"]
    assert row["connections"] == (2**30 - FIXED) * 10 // (10 * E + H)


def test_a_storm_of_all_at_once_is_known_and_drawn(tmp_path):
    """100 clients, one core, ten handshakes a second, no way: all in the handshake after 9.9 s."""
    where = recording(tmp_path, *split(), *kept())
    words = f"storm --stack {STACK} --clients 100 --arrivals at-once --handshake-rate 10 --cores 1 --kernel-bytes 0 "
    words += f"--rtt 0 --client-time 0 --format json -o {tmp_path}/storm"
    (row,) = told(plan(*words.split(), where=where))["storm"]
    assert row["most_shaking"] == 100
    assert row["peak_bytes"] == row["after_bytes"] == FIXED + 100 * (E + H)
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
    assert (again.returncode, nowhere.returncode) == (1, 1)
    assert [done.stderr, again.stderr, nowhere.stderr] == snapshot


def test_a_role_a_rate_or_an_allocator_that_is_not_recorded_says_what_records_it(tmp_path, snapshot):
    where = recording(tmp_path, *synthetic.campaign([STACK], [SUITE]))
    done = plan("memory", "--connections", "5", "--stack", STACK, where=where)
    assert "estimate" in plan("memory", "--connections", "5", "--stack", STACK, "--role", "both", where=where).stdout
    storm = plan("storm", "--clients", "5", "--stack", STACK, "--role", "both", where=where)
    other = plan("memory", "--connections", "5", "--stack", STACK, "--allocator", "hoard", where=where)
    assert [done.returncode, storm.returncode, other.returncode] == [1, 1, 1]
    assert [done.stderr, storm.stderr, other.stderr] == snapshot


def test_of_one_n_a_plan_marks_its_quotient(tmp_path):
    where = recording(tmp_path, *split(counts=(2000,)))
    shown = plan("memory", "--connections", "500", "--stack", STACK, where=where).stdout
    assert "quotient: one N was recorded" in shown


def test_rates_of_another_machine_are_never_mixed_in_silently(tmp_path):
    run = synthetic.record(STACK, SUITE, 2)
    other = run.machine.model_dump() | {"cpu": "Another CPU"}
    timed = synthetic_timed.campaign([STACK], [SUITE], machine=other)
    where = recording(tmp_path, *split(), *kept())
    beside = synthetic.write(tmp_path / "timed", timed)
    words = f"storm --clients 5 --stack {STACK} --recording {beside}"
    assert "of another machine than memory" in plan(*words.split(), where=where).stdout


def test_where_the_law_is_claimed_of_no_run_it_is_said(tmp_path):
    one_at_a_time = [planted("keep-server", n, FIXED + n * E, FIXED, 1) for n in (1000, 2000, 4000)]
    done = plan("check", "--stack", STACK, where=recording(tmp_path, *one_at_a_time))
    assert done.returncode == 0, done.stderr
    assert "Where the law is claimed: none of these." in done.stdout


def test_runs_of_another_machine_are_never_held_against_the_law_in_silence(tmp_path):
    def pairs(where, **kind):
        runs = [
            planted("together", n, size, size, w, key=hashlib.md5(f"{where}{n}{w}".encode()).hexdigest()[:16], **kind)
            for n in (5000, 10_000)
            for w in (100, 1000, "all")
            if (size := FIXED + n * E + (n // 2 if w == "all" else w) * H)
        ]
        return synthetic.write(tmp_path / where, runs)

    other = synthetic.record(STACK, SUITE, 2).machine.model_dump() | {"cpu": "Another CPU"}
    words = ["check", "--stack", STACK, "--recording", str(pairs("new")), "--recording"]
    alike = plan(*words, str(pairs("old")))
    assert (alike.returncode, "another machine" in alike.stdout) == (0, False)
    assert "of another machine than the law" in plan(*words, str(pairs("other", machine=other))).stdout


def test_a_maxconn_beyond_what_was_measured_is_marked(tmp_path):
    where = recording(tmp_path, *split(), *kept())
    assert "extrapolated" in plan("haproxy", "--memory", "1GiB", "--stack", STACK, where=where).stdout
    small = plan("haproxy", "--memory", "64MiB", "--stack", STACK, where=where)
    assert small.returncode == 0 and "extrapolated" not in small.stdout


def test_the_law_is_near_what_was_measured_of_other_runs():
    """The committed recordings: at windows between, at 100,000 sessions, and in another recording."""
    rows = told(plan("check", "--format", "json"))["check"]
    claimed = [row for row in rows if row["window"] >= row["sessions"] / 200]
    assert len(claimed) > 30
    assert max(abs(row["error"]) for row in claimed) < 0.05
    assert max(abs(row["error"]) for row in claimed if row["sessions"] == 100_000) < 0.001


def test_runs_of_another_machine_that_the_law_leaves_out_are_said(tmp_path, snapshot):
    machine = synthetic.record(STACK, SUITE, 2).machine.model_dump() | {"cpu": "Another \x1b[31mCPU"}
    earlier = {"machine": machine, "started_at": "2026-01-01T00:00:00Z"}
    others = [run.model_copy(update={"started_at": earlier["started_at"]}) for run in split()]
    others = [type(run).model_validate(run.model_dump(by_alias=True) | earlier) for run in others]
    done = plan("memory", "--connections", "5", "--stack", STACK, where=recording(tmp_path, *others, *split(), *kept()))
    assert done.returncode == 0
    assert done.stderr == snapshot
    assert "\x1b" not in done.stderr
