"""What one timed run says, and its repeats together: known answers."""

from collections.abc import Sequence

import pytest

from tests.support import synthetic_timed
from tests.support.synthetic_timed import FACTORS
from tlsmem.schema.records import RecordLine
from tlsmem.stats import bootstrap, timed_rates, timed_selection
from tlsmem.stats.session_cost import MIB
from tlsmem.stats.timed_summary import Gap, Ratio, RunSpan, Sample
from tlsmem.tables import timed_cells as cells
from tlsmem.tables.table import Cell, missing_cell

OPENSSL, SUITE = "openssl@3.5.5", "tls13-rsa-aes256"


def handshake(**kind) -> RecordLine:
    return synthetic_timed.record(OPENSSL, SUITE, **kind)


def transfer(**kind) -> RecordLine:
    return synthetic_timed.record(OPENSSL, SUITE, "throughput", **kind)


def changed(record: RecordLine, part: str, **fields) -> RecordLine:
    """With other figures of this part, in its first thread."""
    dumped = record.model_dump(by_alias=True)
    for one in dumped["timings"][0]["parts"]:
        if one["part"] == part:
            one |= fields
    return RecordLine.model_validate(dumped)


@pytest.mark.parametrize(
    ("quantity", "expected"),
    [
        (timed_rates.per_second("client"), 2_500),  # 400 us each
        (timed_rates.per_second("server"), 2_000),
        (timed_rates.handshakes_with_construction("client"), 1e9 / 450_000),
        (timed_rates.handshakes_with_construction("server"), 1e9 / 540_000),
        (timed_rates.mean_interval_ns("client_new"), 50_000),
        (timed_rates.mean_interval_ns("server_free"), 10_000),
        (timed_rates.faults_per_interval("server"), 6),
        (timed_rates.mean_interval_ns("clock"), 40),
        (timed_rates.mebibytes_per_second("send"), None),  # of no handshake
        (timed_rates.cipher_efficiency, None),
    ],
)
def test_of_a_run_of_handshakes(quantity, expected):
    assert quantity(handshake()) == (expected if expected is None else pytest.approx(expected))


@pytest.mark.parametrize("size", [16, 65_536, MIB])
def test_mebibytes_are_of_application_data_whatever_a_write_has(size):
    run = transfer(size=size)
    each = max(size, 65_536) / MIB  # a round is at least 64 KiB
    assert timed_rates.mebibytes_per_interval(run, "send") == pytest.approx(each)
    assert timed_rates.mebibytes_per_second("send")(run) == pytest.approx(4_000)
    assert timed_rates.mebibytes_per_second("receive")(run) == pytest.approx(5_000)
    assert timed_rates.cipher_efficiency(run) == pytest.approx(0.8)
    assert timed_rates.faults_per_mebibyte("send")(run) == pytest.approx(16 / each)


def test_threads_count_by_the_time_that_each_took():
    """One takes 400 us, the other three times as long: 1,024 handshakes in 819.2 ms."""
    slower = changed(handshake(threads=2), "client", total_ns=512 * 1_200_000)
    assert timed_rates.per_second("client")(slower) == pytest.approx(1_250)
    assert timed_rates.resumption_rate(slower) == 0
    assert timed_rates.resumption_rate(synthetic_timed.record(OPENSSL, f"{SUITE}-id", threads=2)) == 1


def test_what_a_driver_has_not_or_takes_no_time_is_none():
    assert timed_rates.cipher_efficiency(transfer(without=("seal",))) is None
    assert timed_rates.mebibytes_per_second("seal")(transfer(without=("seal",))) is None
    assert timed_rates.per_second("client")(changed(handshake(), "client", total_ns=0)) is None
    assert timed_rates.faults_per_interval("client_new")(handshake()) is None


def test_latencies_are_of_all_threads_and_repeats():
    runs = [handshake(threads=2, tail={3: 5}), handshake(repeat=2)]
    found = timed_rates.latencies(runs, "client")
    assert found.intervals == 2 * 517 + 512
    assert found.at_percentile(50) == pytest.approx(400_000, rel=0.001)
    assert found.at_percentile(99.9) == pytest.approx(1_200_000, rel=0.001)
    assert found.max_ns == pytest.approx(1_200_000, rel=0.001)
    assert timed_rates.latencies(runs, "seal") is None


def test_an_interval_is_of_the_median_and_no_fewer_than_three_repeats_have_one():
    known = Sample((100.0, 102.0, 98.0, 101.0, 99.0))
    assert known.median == 100
    assert known.spread == pytest.approx(0.04)
    assert 98 <= known.interval.low < 100 < known.interval.high <= 102
    assert known.interval == known.interval, "the same figures have the same interval"
    assert Sample((1.0, 2.0)).interval is None
    assert Sample((1.0,)).spread is None
    assert cells.interval_cell(Sample((1.0, 2.0))) == missing_cell("fewer than 3 repeats: no interval")
    assert cells.interval_cell(Sample((5.0, 5.0, 5.0))) == Cell("0.0 %", {"low": 5.0, "high": 5.0})


def test_a_factor_is_no_change_only_where_its_interval_holds_one():
    before = Sample((100.0, 102.0, 98.0, 101.0, 99.0))
    faster, alike = Sample((151.0, 152.0, 147.0, 150.0, 149.0)), Sample((100.5, 101.5, 98.5, 100.5, 99.5))
    assert cells.ratio_cell(Ratio(before, faster)).text == "1.50"
    data = cells.ratio_cell(Ratio(before, faster)).value
    assert data == {"factor": 1.5, "low": 1.4851, "high": 1.51}
    assert cells.ratio_cell(Ratio(before, alike)).text == "no change"
    assert cells.ratio_cell(Ratio(before, alike)).value["factor"] == pytest.approx(1.005, abs=1e-3)
    assert cells.ratio_cell(Ratio(faster, before)).text == "0.67"
    once = cells.ratio_cell(Ratio(Sample((100.0,)), Sample((100.5,))))
    assert (once.text, once.value, once.note) == ("1.00", {"factor": 1.005}, "fewer than 3 repeats: no interval")


def test_what_the_machine_does_to_both_is_in_no_factor():
    """A clock that falls by a quarter in some repeats; 2 % between neighbours, and other repeats are others'."""
    before = Sample((100.0, 75.0, 100.0, 75.0, 100.0), (1, 2, 3, 4, 5))
    after = Sample((76.5, 102.0, 102.0, 76.5, 102.0), (4, 3, 1, 2, 5))
    assert cells.ratio_cell(Ratio(before, after)) == Cell("1.02", {"factor": 1.02, "low": 1.02, "high": 1.02})
    shifted = Sample(after.values, (14, 13, 11, 12, 15))
    assert Ratio(before, shifted).value == pytest.approx(1.02) and Ratio(before, shifted).interval is None


def made_at(rates_of: Sequence[float], begins_s: Sequence[float], length_s: float = 0.5) -> Sample:
    spans = tuple(RunSpan(begin_s, begin_s + length_s) for begin_s in begins_s)
    return Sample(tuple(rates_of), tuple(range(1, len(rates_of) + 1)), spans)


def test_only_neighbours_are_held_against_each_other():
    """One slow repeat of the first stack, at a moment that the second never saw."""
    rated, faster = (2942.0, 3590.0, 3600.0), (3977.0, 3970.0, 3980.0)
    first = made_at(rated, (0, 2, 4))
    beside = Ratio(first, made_at(faster, (1, 3, 5)))
    assert (beside.value, beside.gap) == (pytest.approx(3970 / 3590), None)
    later = Ratio(first, made_at((3977.0, 2000.0, 4000.0), (240, 242, 244)))
    assert later.value == pytest.approx(3977 / 3590)
    assert later.gap == Gap(0, 3, pytest.approx(239.5))
    assert later.interval == bootstrap.ratio_interval(first.values, later.after.values), "not of pairs"
    note = cells.ratio_cell(later).note
    assert note.startswith("not back to back but 4 min apart: ratio of the medians")


def test_a_factor_that_is_not_the_quotient_of_its_neighbours_in_the_table_says_so():
    before, after = Sample((100.0, 75.0, 74.0, 100.0, 73.0)), Sample((140.0, 105.0, 103.6, 141.0, 130.0))
    factor = Ratio(before, after)
    assert (factor.value, after.median / before.median) == (pytest.approx(1.4), pytest.approx(1.733, abs=1e-3))
    assert (
        cells.ratio_cell(factor).note
        == "more than 5 % from the ratio of the medians, which come from different repeats"
    )


def test_one_after_the_other_is_not_interleaved_however_short_the_runs():
    first, second = made_at((100.0, 75.0, 100.0), (0, 1, 2)), made_at((110.0, 110.0, 82.5), (3, 4, 5))
    factor = Ratio(first, second)
    assert (factor.value, factor.paired) == (pytest.approx(1.1), [])
    assert "but 2 s apart" in cells.describe_gap(factor.gap)


def test_a_campaign_that_was_stopped_and_gone_on_with_keeps_the_repeats_that_are_neighbours():
    day = 86_400
    first = made_at((100.0, 50.0, 100.0, 100.0), (0, 2, 4 + day, 6 + day))
    factor = Ratio(first, made_at((120.0, 120.0, 120.0, 120.0), (1, 3 + day, 5 + day, 7 + day)))
    assert (factor.paired, factor.value) == ([1, 3, 4], pytest.approx(1.2))
    assert (factor.gap.paired, factor.gap.shared) == (3, 4)
    assert cells.describe_gap(factor.gap) == "from 3 of 4 repeats; the runs of the others were 24 h apart"
    long = made_at((100.0,), (0,), length_s=6), made_at((120.0,), (180,), length_s=6)
    assert cells.ratio_cell(Ratio(*long)).note == "fewer than 3 repeats: no interval", "29 runs may lie between"


@pytest.mark.parametrize(
    ("seconds", "text"), [(0.4, "0 s"), (119, "119 s"), (230, "4 min"), (10_000, "3 h"), (400_000, "5 days")]
)
def test_a_duration_is_in_a_unit_of_which_there_are_two(seconds, text):
    assert cells.format_duration(seconds) == text


@pytest.mark.parametrize(
    ("value", "text"), [(0.004, "0.00"), (99.994, "99.99"), (123.44, "123.4"), (1000, "1,000"), (6560.79, "6,561")]
)
def test_numbers_have_some_four_digits(value, text):
    assert cells.format_number(value) == text


def test_runs_that_stand_together_are_of_one_build_one_condition_and_the_newest():
    runs = synthetic_timed.campaign([OPENSSL], [SUITE])
    early = {"started_at": "2026-01-30T12:00:00Z"}
    old_build = handshake(binary_sha256="1" * 64, repeat=6, **early)
    shorter = handshake(repeat=7, argv=[*runs[0].argv[:2], "rounds=9", *runs[0].argv[3:]], **early)
    again = handshake(factor=2.0, started_at="2026-01-31T13:00:00Z")
    pinned = runs[1].model_copy(update={"argv": [*runs[1].argv[:-1], "cpus=7"]})
    found = timed_selection.select([old_build, shorter, *runs, pinned, again])
    (series,) = found.every()
    clients = [timed_rates.per_second("client")(run) for run in series.runs()]
    assert clients == pytest.approx([2_500 / factor for factor in (2.0, *FACTORS[1:])], rel=1e-4)
    assert found.left_out == (
        f"1 run of another build of {OPENSSL} is left out",
        f"1 run of {OPENSSL} is left out: made with rounds=9, and the last with rounds=512",
    )


def test_what_is_left_out_is_one_sentence_for_all_suites():
    suites = [SUITE, f"{SUITE}-id", "tls12-rsa-aes256"]
    short = {"started_at": "2026-01-30T12:00:00Z"}
    runs = synthetic_timed.campaign([OPENSSL, "boringssl@5.4.0"], suites)
    early = [one.model_copy(update={"argv": [*one.argv, "seconds=1"]} | short) for one in runs]
    elsewhere = runs[0].machine.model_copy(update={"cpus": 64})
    early = [early[0].model_copy(update={"machine": elsewhere}), *early[1:]]
    later = [one.model_copy(update={"argv": [*one.argv, "seconds=5"], "repeat": one.repeat + 9}) for one in runs]
    (said,) = timed_selection.select([*early, *later]).left_out
    assert said == (
        f"30 runs of {OPENSSL} and boringssl@5.4.0 are left out: made with seconds=1 and cpus 64, and the last with "
        "seconds=5 and cpus 2"
    )


def test_works_are_told_apart_and_in_order():
    runs = synthetic_timed.campaign([OPENSSL], [SUITE], threads=(1, 2))
    runs += synthetic_timed.campaign([OPENSSL], [SUITE], "throughput", size=16)
    runs += synthetic_timed.campaign([OPENSSL], [SUITE], "throughput")
    found = timed_selection.select([*runs, synthetic_timed.synthetic.record(OPENSSL, SUITE, 100)])
    assert [(work.scenario, work.size_bytes, work.threads) for work in found.works] == [
        ("throughput", 16, 1),
        ("throughput", MIB, 1),
        ("handshake", None, 1),
        ("handshake", None, 2),
    ]
    assert [work.threads for work in found.select_scenario("handshake").works] == [1]
    assert len(found.records) == 20, "no runs of memory"


def test_stacks_and_suites_stand_as_they_are_asked_for():
    runs = synthetic_timed.campaign([OPENSSL, "boringssl@5.4.0"], [SUITE, "tls12-rsa-aes256"])
    found = timed_selection.select(runs, ["boringssl@5.4.0", OPENSSL], ["tls12-rsa-aes256", SUITE])
    assert found.stacks == ("boringssl@5.4.0", OPENSSL)
    assert [work.suite for work in found.works] == ["tls12-rsa-aes256", SUITE]
