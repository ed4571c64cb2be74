"""What stands in a line is of one binary and of like runs, and how much is left out is said."""

import subprocess

import pytest

from tests.support import synthetic, synthetic_timed
from tests.support.commands import command_line
from tlsmem.schema import records
from tlsmem.stats.comparability import describe_left_out, select_comparable
from tlsmem.stats.selection import select

STACK, OTHER, SUITE = "openssl@3.5.5", "null@c", "tls13-rsa-aes256"
OLD, NEW = "a" * 64, "b" * 64


def run(sessions, binary, hour, stack=STACK, **changes):
    started = f"2026-01-31T{hour:02}:00:00Z"
    return synthetic.record(stack, SUITE, sessions, binary_sha256=binary, started_at=started, **changes)


def rebuilt():
    """Two runs of the build made first, then one of them and a larger one again of the next."""
    of_stack = [run(100, OLD, 8), run(1000, OLD, 8), run(1000, NEW, 9), run(5000, NEW, 9)]
    return [*of_stack, run(100, OLD, 8, OTHER), run(1000, OLD, 8, OTHER)]


def kept(records, stack=STACK):
    return sorted((one.sessions, one.binary_sha256[0]) for one in select(records).records if one.stack == stack)


def test_no_line_goes_through_two_builds():
    assert kept(rebuilt()) == [(1000, "b"), (5000, "b")]
    assert kept(rebuilt(), OTHER) == [(100, "a"), (1000, "a")]


def test_the_latest_build_is_that_of_the_run_started_last_wherever_its_line_stands():
    assert kept(rebuilt()[::-1]) == kept(rebuilt())


def test_of_runs_started_together_the_last_line_counts():
    assert kept([run(100, OLD, 8), run(100, NEW, 8)]) == [(100, "b")]


def test_a_run_of_the_latest_build_stands_though_another_build_ran_the_same_later():
    assert kept([run(100, NEW, 8), run(100, OLD, 9), run(1000, NEW, 10)]) == [(100, "b"), (1000, "b")]


def test_how_many_are_left_out_is_a_sentence_for_each_stack():
    assert select(rebuilt()).left_out == (f"2 runs of other builds of {STACK} are left out",)
    assert select(rebuilt()[1:]).left_out == (f"1 run of another build of {STACK} is left out",)
    assert select(rebuilt(), stacks=[OTHER]).left_out == ()


def test_runs_with_full_records_stand_beside_those_without():
    """The suite is the same; what the sessions send is a setting of its own."""
    full = [one.model_copy(update={"argv": [*one.argv, "data=full"]}) for one in (run(100, OLD, 9), run(1000, OLD, 9))]
    assert select([run(100, OLD, 8), run(1000, OLD, 8), *full]).left_out == ()
    assert select([*full, run(100, OLD, 10), run(1000, OLD, 10)]).left_out == ()


def test_another_compiler_is_named_with_the_one_that_counts():
    by_clang = [one.model_copy(update={"compiler": "clang 14.0.6"}) for one in rebuilt()[:2]]
    said = select([*by_clang, *rebuilt()[2:]]).left_out
    kept = rebuilt()[-1].compiler
    assert said == (f"2 runs of other builds of {STACK} are left out, made by clang 14.0.6 and not by {kept}",)


def test_what_was_not_asked_for_is_not_said_to_be_left_out():
    narrow = run(100, OLD, 8, window=1)
    assert select([*rebuilt(), narrow, run(100, NEW, 9, window=1)], windows=["1"]).left_out == (
        f"1 run of another build of {STACK} is left out",
    )


def on(**changes):
    return synthetic.record(STACK, SUITE, 100).machine.model_dump() | changes


ELSE = {
    "argv": {"argv": ["build/harness/x", "memory", "sessions=100", "certs=memtest/certs/ecdsa-p256"]},
    "machine": {"machine": on(kernel="6.2.0")},
    "meter": {"meter": "heap", "meter_sha256": OLD},
}
SAME = {
    "argv": {"argv": ["build/harness/y", "memory", "sessions=1", "window=3", "cpu=1", "certs=memtest/certs/rsa-2048"]},
    "machine": {"machine": on(memory_bytes=1, governor="performance", thp_host="never")},
}


@pytest.mark.parametrize("what", ELSE)
def test_no_line_goes_through_runs_that_differ_in_more_than_their_campaign_says(what):
    last = {"meter": "heap", "meter_sha256": NEW} if what == "meter" else {}
    runs = [run(100, NEW, 8, **ELSE[what]), run(1000, NEW, 9, **last), run(5000, NEW, 10)]
    assert kept(runs) == kept(runs[::-1]) == [(1000, "b"), (5000, "b")]
    said = f"1 run of {STACK} in {SUITE} with other arguments, on another machine or by another meter is left out"
    assert select(runs).left_out == describe_left_out(runs) == (said,)
    assert select_comparable(select_comparable(runs)) == select_comparable(runs)


def on_path(**changes):
    """A run's fields of a machine whose path is recorded: schema 6."""
    path = {"vendor": "Maker", "family": "25", "model": "1", "xcr0": "0x7", "libc_build_id": "ab", "page_bytes": 4096}
    path |= {"flags": "avx2 adx"} | {name: value for name, value in changes.items() if name in path or name == "flags"}
    elsewhere = {name: value for name, value in changes.items() if name not in path}
    return {"schema": 6, "machine": on(path=path, **elsewhere)}


def with_path(record):
    return record.model_copy(update={"path": records.run_path(record.model_dump())})


@pytest.mark.parametrize("change", [{"flags": "avx2"}, {"xcr0": "0xe7"}, {"libc_build_id": "cd"}, {"cpus": 4}], ids=str)
def test_runs_of_two_paths_are_never_in_one_line(change):
    """One CPU name, kernel and libc: before the path was recorded these were one machine."""
    runs = [
        run(100, NEW, 8, **on_path()),
        run(1000, NEW, 9, **on_path(**change)),
        run(5000, NEW, 10, **on_path(**change)),
    ]
    assert kept(map(with_path, runs)) == [(1000, "b"), (5000, "b")]


def test_a_run_without_a_path_is_in_no_line_with_those_that_have_one():
    runs = [run(100, NEW, 8), with_path(run(1000, NEW, 9, **on_path()))]
    assert kept(runs) == [(1000, "b")]
    assert select(runs).left_out != ()


def test_another_kernel_is_no_other_machine_once_the_path_is_recorded():
    runs = [run(100, NEW, 8, **on_path(kernel="6.2.0")), run(1000, NEW, 9, **on_path())]
    assert kept(map(with_path, runs)) == [(100, "b"), (1000, "b")]
    assert len({records.run_key(one.model_dump() | {"sessions": 2, "argv": []}) for one in runs}) == 1


def test_a_masked_cpu_has_a_line_of_its_own_beside_the_whole_one():
    masked = {"cpu_features": {"name": "no-adx", "variables": {"A": "b"}, "hides": ["adx"]}}
    runs = [with_path(run(n, NEW, 8, **on_path(), **more)) for n in (100, 1000) for more in ({}, masked)]
    assert len({one.path for one in runs}) == 2
    found = select(runs)
    lines = [[one.sessions for one in found.series(STACK, setting).records] for setting in found.settings]
    assert [setting.cpu for setting in found.settings] == ["all", "no-adx"] and lines == [[100, 1000]] * 2


@pytest.mark.parametrize("what", SAME)
def test_what_may_differ_between_runs_of_one_line(what):
    runs = [run(100, NEW, 8, **SAME[what]), run(1000, NEW, 9)]
    assert kept(runs) == [(100, "b"), (1000, "b")] and select(runs).left_out == ()


@pytest.mark.thorough
@pytest.mark.parametrize(("command", "more"), [("show tables", []), ("show mem", ["-o", "picture.svg"])])
def test_the_tools_say_so_on_stderr(tmp_path, command, more):
    synthetic.write(tmp_path / "recording", rebuilt())
    words = [*command_line(command), "recording", *more]
    done = subprocess.run(words, cwd=tmp_path, capture_output=True, text=True)
    assert done.stderr == f"memtest: recording: 2 runs of other builds of {STACK} are left out\n"
    assert done.returncode == 0


def test_timed_runs_are_in_no_line_of_memory_whenever_they_were_made():
    of_memory = synthetic.campaign([STACK], [SUITE])
    of_time = synthetic_timed.campaign([STACK], [SUITE], binary_sha256=NEW, started_at="2026-02-01T12:00:00Z")
    found = select([*of_time, *of_memory])
    assert list(found.records) == list(select(of_memory).records)
    assert found.left_out == ()
    with pytest.raises(ValueError, match=f"the recording has no runs of the suite {SUITE}; it has: none"):
        select(of_time, suites=[SUITE])
