"""Tables of timed runs: known answers, holes with their reason, rows that belong together."""

import pytest

from tests.support import synthetic, synthetic_timed
from tlsmem.run.machine_noise import TICK_NS
from tlsmem.stats import timed_selection
from tlsmem.tables import scenario_catalogue
from tlsmem.tables.table import MISSING, Table

OPENSSL, RUSTLS, BORING = "openssl@3.5.5", "rustls+aws-lc@0.23.46", "boringssl@5.4.0"
SUITE, TLS12 = "tls13-rsa-aes256", "tls12-rsa-aes256"
STACKS = [OPENSSL, RUSTLS, BORING]
JEMALLOC = {"name": "jemalloc", "version": "5.3", "settings": None, "library": "libjemalloc.so.2"}


def table(records, name: str) -> Table:
    (made,) = scenario_catalogue.build_timed(timed_selection.select(records), [name])
    return made


def rows(made: Table) -> list[dict]:
    keys = [column.key for column in made.columns]
    assert len(set(keys)) == len(keys)
    return [dict(zip(keys, row, strict=True)) for row in made.rows]


def values(made: Table, *keys: str) -> list[tuple]:
    return [tuple(row[key].value for key in keys) for row in rows(made)]


def test_transfer_has_both_rates_what_is_left_of_the_cipher_and_faults(snapshot):
    made = table(synthetic_timed.campaign(STACKS, [SUITE], "throughput"), "transfer")
    assert values(made, "stack", "send_mib_per_s", "receive_mib_per_s", "cipher_share_percent") == [
        (OPENSSL, 4_000, 5_000, 80),
        (RUSTLS, 5_000, 4_000, 80),
        (BORING, 2_500, 2_000, 80),
    ]
    assert values(made, "send_faults_per_mib", "receive_faults_per_mib")[0] == (16, 0)
    (first, *_) = rows(made)
    assert first["send_interval"].text == "0.4 %"
    assert first["send_interval"].value == {"low": pytest.approx(4_000 / 1.004), "high": pytest.approx(4_000 / 0.996)}
    assert first["published_send"].text == "(3.5.1: 6,093)"
    for figure in ("5 runs", " 5.0 % ", " 4.0 % ", " 1 thread", " 1 MiB", " 64 rounds"):
        assert figure in made.caption, figure
    assert made.caption == snapshot


def test_without_a_sealer_the_share_is_a_dash_that_says_so(snapshot):
    made = table(synthetic_timed.campaign([OPENSSL], [SUITE], "throughput", without=("seal",)), "transfer")
    (row,) = rows(made)
    assert row["cipher_share_percent"].text == MISSING
    assert row["cipher_share_percent"].note == snapshot
    assert row["send_mib_per_s"].value == 4_000


def test_sizes_are_a_column_where_there_are_several():
    runs = [
        run
        for size in (16, 1024, 2**20)
        for run in synthetic_timed.campaign([OPENSSL], [SUITE], "throughput", size=size)
    ]
    made = table(runs, "transfer")
    assert [row["size_bytes"].text for row in rows(made)] == ["16 B", "1 KiB", "1 MiB"]
    assert "writes of" not in made.caption
    assert values(made, "send_faults_per_mib") == [(256,), (256,), (16,)], "of a MiB, not of a round of 64 KiB"


def test_handshakes_have_both_roles_with_and_without_construction():
    made = table(synthetic_timed.campaign([OPENSSL, RUSTLS], [TLS12, f"{TLS12}-id"]), "handshakes")
    assert values(made, "suite", "role", "stack")[:4] == [
        (TLS12, "client", OPENSSL),
        (TLS12, "client", RUSTLS),
        (TLS12, "server", OPENSSL),
        (TLS12, "server", RUSTLS),
    ]
    assert values(made, "per_s", "with_construction_per_s", "faults_each")[:2] == [
        (2_500, pytest.approx(1e9 / 450_000, abs=1e-3), 4),
        (5_000, pytest.approx(1e9 / 225_000, abs=1e-3), 4),
    ]
    assert [row["hit_rate"].text for row in rows(made)] == ["none"] * 4 + ["100.0 %"] * 4


def test_construction_and_freeing_are_apart(snapshot):
    made = table(synthetic_timed.campaign([RUSTLS], [SUITE]), "sessions")
    assert values(made, "role", "new_us", "free_us", "handshake_us") == [
        ("client", 25, 4, 200),
        ("server", 2, 5, 400),
    ]
    assert rows(made)[0]["new_faults"].note == snapshot


def test_holes_say_why_and_what_was_published_stays(snapshot):
    runs = synthetic_timed.campaign([OPENSSL], [SUITE])
    runs += [synthetic_timed.failed("mbedtls@2.28.10", SUITE, "does TLSv1.2 only", "unsupported")]
    runs += [synthetic_timed.failed("openssl@3.2.0", SUITE, "resumed 62.5 % of its\nhandshakes")]
    found = {(row["stack"].value, row["role"].value): row for row in rows(table(runs, "handshakes"))}
    unsupported, failed = found["mbedtls@2.28.10", "client"], found["openssl@3.2.0", "client"]
    for key in ("per_s", "interval", "with_construction_per_s", "hit_rate", "faults_each"):
        assert (unsupported[key].text, unsupported[key].note) == (MISSING, "unsupported: does TLSv1.2 only")
        assert failed[key].note == "failed: resumed 62.5 % of its handshakes"
    assert unsupported["published_per_s"].text == MISSING
    assert unsupported["published_per_s"].note == snapshot
    assert failed["published_per_s"].value["rate"] == 2273.57
    assert [row["p50_us"].note for row in rows(table(runs, "latency"))][1] == "unsupported: does TLSv1.2 only"
    assert rows(table(runs, "noise"))[1]["load"].note == "unsupported: does TLSv1.2 only"
    assert rows(table(runs, "harness"))[1]["clock_ns"].note == "unsupported: does TLSv1.2 only"


def test_two_repeats_have_a_median_and_no_interval(snapshot):
    made = table(synthetic_timed.campaign([OPENSSL], [SUITE], factors=(1.0, 1.0)), "handshakes")
    (client, _) = rows(made)
    assert client["per_s"].value == 2_500
    assert client["interval"].text == MISSING and " 3 " in client["interval"].note
    assert client["interval"].note == snapshot


def test_latency_is_of_intervals_and_says_where_they_are_too_few(snapshot):
    runs = synthetic_timed.campaign([OPENSSL], [SUITE], factors=(1.0, 1.0), tail={2: 50, 10: 5})
    client = rows(table(runs, "latency"))[0]
    assert client["intervals"].value == 2 * 567
    expected = {"p50_us": 400, "p90_us": 400, "p99_us": 800, "p999_us": 4_000, "max_us": 4_000}
    for key, us in expected.items():
        assert client[key].value == pytest.approx(us, rel=0.001), key
    few = rows(table(synthetic_timed.campaign([OPENSSL], [SUITE], "throughput", factors=(1.0,)), "latency"))[0]
    assert [few[f"{key}_us"].text == MISSING for key in ("p50", "p90", "p99", "p999", "max")] == [0, 0, 1, 1, 0]
    assert " 64 " in few["p99_us"].note
    assert few["p99_us"].note == snapshot


def test_threads_are_held_against_one_and_marked_where_they_share_a_cpu(snapshot):
    runs = synthetic_timed.campaign([OPENSSL], [SUITE], threads=(1,))
    runs += [
        synthetic_timed.record(OPENSSL, SUITE, repeat=repeat, threads=count, factor=slower * factor)
        for repeat, factor in enumerate(synthetic_timed.FACTORS, start=1)
        for count, slower in ((2, 1.25), (4, 4.0))
    ]
    runs += synthetic_timed.campaign([RUSTLS], [SUITE], threads=(1,))
    made = table(runs, "threads")
    server = [row for row in rows(made) if row["part"].value == "server"]
    assert [(row["threads"].value, row["rate"].value, row["of_one_percent"].value) for row in server] == [
        (1, 2_000, 100),
        (2, 1_600, 80),
        (4, 500, 25),
    ]
    marks = [row["threads"].note for row in server]
    assert marks[:2] == [None, None]
    assert " 2 CPUs:" in marks[2]
    assert marks[2] == snapshot
    assert {row["stack"].value for row in rows(made)} == {OPENSSL}, "a stack with one number of threads has no row"
    low, high = server[1]["of_one_interval"].value.values()
    assert low == pytest.approx(0.8) == high
    assert values(table(runs, "handshakes"), "per_s")[0] == (2_500,), "elsewhere only the fewest threads"


def test_side_by_side_the_first_is_the_base():
    runs = synthetic_timed.campaign(STACKS, [SUITE]) + synthetic_timed.campaign(STACKS, [SUITE], "throughput")
    made = table(runs, "factor")
    sending, receiving, client, server = rows(made)
    assert [sending[stack].value for stack in STACKS] == [4_000, 5_000, 2_500]
    assert [row[f"factor_{RUSTLS}"].text for row in (sending, receiving, client, server)] == [
        "1.25",
        "0.80",
        "2.00",
        "1.25",
    ]
    assert server[f"factor_{BORING}"].value["factor"] == pytest.approx(0.625, abs=1e-4)
    assert f"factor_{OPENSSL}" not in sending
    assert (sending["unit"].value, client["unit"].value) == ("MiB/s", "handshakes/s")


def test_a_configuration_that_was_added_later_is_no_neighbour(snapshot):
    runs = synthetic_timed.campaign([OPENSSL], [SUITE], factors=(1.0, 1.2, 1.1))
    later = {"started_at": "2026-01-31T12:04:00Z", "elapsed_ns": 10**9, "allocator": JEMALLOC}
    runs += synthetic_timed.campaign([OPENSSL], [SUITE], factors=(1.0, 1.2, 1.2), **later)
    client, _ = rows(table(runs, "configurations"))
    assert client["factor"].value["factor"] == pytest.approx(1.1 / 1.2, abs=1e-3), "that of pairs is 1"
    assert " 4 min " in client["factor"].note
    assert client["factor"].note == snapshot


def test_published_factors_are_of_both_versions_on_one_day_only(snapshot):
    of_then = synthetic_timed.campaign(["openssl@3.3.2", "rustls+aws-lc@0.23.15"], [SUITE], "throughput")
    sending = rows(table(of_then, "factor"))[0]["published_rustls+aws-lc@0.23.15"]
    assert sending.value == pytest.approx(7094.13 / 5982.18, abs=1e-4)
    assert all(name in sending.note for name in ("2024-10-18", "Xeon E-2386G", "rustls", "jemalloc"))
    assert sending.note == snapshot
    other = synthetic_timed.campaign(["openssl@3.2.0", "rustls+aws-lc@0.23.15"], [SUITE], "throughput")
    assert rows(table(other, "factor"))[0]["published_rustls+aws-lc@0.23.15"].text == MISSING
    invalid = synthetic_timed.campaign(["openssl@3.2.0", "rustls+aws-lc+jemalloc-rust@0.22.0"], [f"{SUITE}-id"])
    assert rows(table(invalid, "factor"))[0]["published_rustls+aws-lc+jemalloc-rust@0.22.0"].text == "[3.30]"


def test_a_factor_of_what_was_not_measured_is_a_hole():
    runs = synthetic_timed.campaign([OPENSSL], [SUITE, TLS12])
    runs += [*synthetic_timed.campaign([RUSTLS], [TLS12]), synthetic_timed.failed(RUSTLS, SUITE, "no")]
    found = {(row["suite"].value, row["part"].value): row for row in rows(table(runs, "factor"))}
    assert found[SUITE, "client"][f"factor_{RUSTLS}"].note == "failed: no"
    assert found[TLS12, "client"][f"factor_{RUSTLS}"].text == "2.00"


def test_too_many_stacks_do_not_stand_side_by_side(snapshot):
    many = [f"openssl@3.{minor}.0" for minor in range(7)]
    runs = synthetic_timed.campaign(many, [SUITE], factors=(1.0,))
    with pytest.raises(ValueError, match=r"7 .* 6") as error:
        scenario_catalogue.build_timed(timed_selection.select(runs), ["factor"])
    assert str(error.value) == snapshot
    assert "factor" not in [made.name for made in scenario_catalogue.build_timed(timed_selection.select(runs))]


def test_configurations_differ_in_one_setting():
    stacks = [
        "rustls+aws-lc@0.23.46",
        "rustls+ring@0.23.46",
        "rustls+aws-lc+jemalloc-rust@0.23.46",
        "rustls+ring@0.22.0",
    ]
    runs = synthetic_timed.campaign([*stacks, "openssl@3.5.5", "openssl+clang@3.5.5", "openssl+membio@3.5.5"], [SUITE])
    runs += synthetic_timed.campaign(["openssl@3.5.5", "openssl+clang@3.5.5"], [SUITE], allocator=JEMALLOC)
    runs += synthetic_timed.campaign(["openssl+clang@3.5.5"], [TLS12])  # alone in its suite
    runs += synthetic_timed.campaign(["rustls+ring@0.22.0"], [f"{SUITE}+low-memory"])
    clients = [row for row in rows(table(runs, "configurations")) if row["part"].value == "client"]
    told = [tuple(row[key].value for key in ("stack", "setting", "first", "second")) for row in clients]
    assert sorted(told) == [
        ("openssl+clang@3.5.5", "allocator", "system", "jemalloc"),
        ("openssl@3.5.5", "allocator", "system", "jemalloc"),
        ("openssl@3.5.5", "compiler", "gcc", "clang"),
        ("openssl@3.5.5", "compiler", "gcc", "clang"),  # on jemalloc
        ("openssl@3.5.5", "transport", "callbacks", "membio"),
        ("rustls+aws-lc@0.23.46", "Rust's allocator", "C's", "jemalloc-rust"),
        ("rustls+aws-lc@0.23.46", "provider", "aws-lc", "ring"),
        ("rustls+ring@0.22.0", "options", "default", "low-memory"),
    ]


def test_the_harness_has_at_most_this_share():
    runs = synthetic_timed.campaign([OPENSSL], [SUITE], "throughput", factors=(1.0,))
    (row,) = rows(table(runs, "harness"))
    assert [row[key].value for key in ("wire_write_us", "wire_read_us", "clock_ns")] == [10, 8, 40]
    assert row["first_share_percent"].value == pytest.approx(100 * (10_000 + 40) / 250_000, abs=1e-4)
    assert row["second_share_percent"].value == pytest.approx(100 * (8_000 + 40) / 200_000, abs=1e-4)
    (row,) = rows(table(synthetic_timed.campaign([OPENSSL], [SUITE], factors=(1.0,)), "harness"))
    assert row["first_share_percent"].value == pytest.approx(100 * (18_000 + 4 * 40) / 400_000, abs=1e-4)


def test_noise_is_the_most_of_any_repeat():
    ticks = 2 * TICK_NS  # of two CPUs, which are as good as nothing
    loud = synthetic_timed.noise(1.5, ticks + 20_000_000, ticks + 100_000_000, (2_000.0, 2_900.0))
    quiet = synthetic_timed.noise(busy_ns=ticks // 2)
    runs = [
        synthetic_timed.record(OPENSSL, SUITE, repeat=repeat, factor=factor, threads=2, noise=noise)
        for repeat, (factor, noise) in enumerate([(1.0, quiet), (1.25, loud), (1.0, quiet)], start=1)
    ]
    (row,) = rows(table(runs, "noise"))
    assert row["first_spread"].value == pytest.approx(20)
    assert (row["load"].value, row["busy_cpus"].value, row["steal_percent"].value) == (1.5, 0.1, 1)
    assert (row["mhz"].text, row["mhz"].value) == ("2,000–3,000", {"low": 2_000, "high": 3_000})
    assert row["preempted_per_s"].value == pytest.approx(1e9 / runs[0].timings[1].elapsed_ns, abs=1e-4)


def test_captions_say_how_long_runs_were_and_what_noise_there_was(snapshot):
    loaded = synthetic_timed.noise(load=4.0)
    runs = synthetic_timed.campaign([OPENSSL, RUSTLS], [SUITE], threads=(1, 2), noise=loaded)
    runs += synthetic_timed.campaign([OPENSSL], [SUITE], factors=(1.0,), rounds=128, allocator=JEMALLOC)
    for name in ("handshakes", "latency", "noise", "factor", "threads", "configurations"):
        said = table(runs, name).caption
        assert " rounds " in said and "Noise: " in said, name
        assert said == snapshot(name=name)
    said = table(runs, "noise").caption
    assert " 128 to 512 rounds " in said and " 20 of 21 runs" in said
    assert "Noise" not in table(synthetic_timed.campaign([OPENSSL], [SUITE]), "latency").caption


def test_an_interval_of_small_writes_is_of_many():
    runs = [synthetic_timed.record(OPENSSL, SUITE, "throughput", size=size) for size in (16, 2**20)]
    assert [row["interval"].text for row in rows(table(runs, "latency"))][::2] == ["4,096 writes", "a write"]


def test_every_table_says_what_it_needs(snapshot):
    transfers = timed_selection.select(synthetic_timed.campaign([OPENSSL], [SUITE], "throughput"))
    for name in ("configurations", "factor", "handshakes", "sessions", "threads"):
        with pytest.raises(ValueError, match=rf" {name} ") as refused:
            scenario_catalogue.build_timed(transfers, [name])
        assert str(refused.value) == snapshot(name=name)
    assert [made.name for made in scenario_catalogue.build_timed(transfers)] == [
        "settings",
        "transfer",
        "latency",
        "harness",
        "noise",
    ]


def test_the_machine_and_the_builds_are_declared():
    (row,) = rows(table([*synthetic_timed.campaign([OPENSSL], [SUITE])], "settings"))
    assert row["compiler"].value == "gcc 12.2.0" and "window" not in row
    runs = synthetic_timed.campaign(STACKS, [SUITE])
    (made,) = scenario_catalogue.build_timed(timed_selection.select(runs, STACKS[::-1]), ["settings"])
    assert [row[0].value for row in made.rows] == STACKS[::-1], "as they were asked for"
    assert row["stack"].value == OPENSSL


def test_runs_of_memory_are_none_of_these():
    both = [*synthetic.campaign([OPENSSL], [SUITE]), *synthetic_timed.campaign([OPENSSL], [SUITE])]
    assert len(timed_selection.select(both).records) == 5


def test_instructions_are_of_a_handshake_or_of_a_mebibyte(snapshot):
    parts = {"client": 1_000_000.5, "client_new": 20_000.0, "client_free": 3_000.0, "server": 2e6, "server_new": 1.0}
    runs = [synthetic_timed.counted(OPENSSL, SUITE, parts=parts | {"server_free": 2.0})]
    moved = {"send": 120_000.0, "receive": 60_000.0, "seal": 80_000.0, "wire_write": 20_000.0, "wire_read": 10_000.0}
    runs += [synthetic_timed.counted(OPENSSL, SUITE, "throughput", moved, size=16)]
    runs += [synthetic_timed.counted(RUSTLS, SUITE, "throughput", {"send": 1.0, "receive": 1.0}, size=16)]
    made = table(runs, "instructions")
    sent, of_rustls, received, _, client, _ = rows(made)
    assert (sent["each"].value, sent["unit"].value, sent["cipher_percent"].value) == (1_600_000, "MiB", 80)
    assert received["each"].value == 800_000, "a round is 64 KiB, and the wire's copying is none of the stack's"
    assert of_rustls["cipher_percent"].note == snapshot(name="no sealer")
    assert received["cipher_percent"].note == client["cipher_percent"].note == snapshot(name="of sending")
    assert sent["new"].note == sent["free"].note == snapshot(name="of handshakes")
    assert [client[key].value for key in ("each", "new", "free", "unit")] == [1_000_000.5, 20_000, 3_000, "handshake"]
    assert "AVX-512, VAES" in made.caption and "valgrind 3.19.0" in made.caption
    assert made.caption == snapshot(name="caption")


def test_a_run_that_could_not_be_counted_says_why_and_is_in_no_other_table():
    why = "under callgrind: no function client_handshake of the core's was called; is the harness stripped?"
    failed = synthetic_timed.counted(OPENSSL, SUITE, status="failed", reason=why, instructions=None, negotiated=None)
    runs = [*synthetic_timed.campaign([OPENSSL], [SUITE], threads=(2,)), failed]
    assert rows(table(runs, "instructions"))[0]["each"].note == f"failed: {why}"
    assert values(table(runs, "handshakes"), "per_s") == [(2_500,), (2_000,)]
