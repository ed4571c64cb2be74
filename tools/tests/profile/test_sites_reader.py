"""The profile in a sites run: per session what heap runs say, by the same roles; of two processes as of one."""

import pytest

from tests.support import planted, synthetic
from tlsmem.base.paths import ROOT
from tlsmem.explore import callers_tree, profile_selection
from tlsmem.profile import sites_reader
from tlsmem.profile.buckets.sums import BucketSums
from tlsmem.profile.errors import Unreadable
from tlsmem.profile.heap_profile import BASE, LiveHeap, is_phase_end, sum_live
from tlsmem.schema.records import RecordedFrame as Recorded
from tlsmem.schema.records import RecordLine
from tlsmem.store import read_runs

RECORDING = ROOT / "data/2026-11-21-amd-epyc-2"
SLOPES = {  # of heap runs: one more session at `established`
    ("openssl@3.5.5", "client"): LiveHeap(47_592, 194),
    ("openssl@3.5.5", "server"): LiveHeap(37_286, 48),
    ("rustls+aws-lc@0.23.46", "client"): LiveHeap(9_712, 12),
    ("rustls+aws-lc@0.23.46", "server"): LiveHeap(7_529, 10),
}


@pytest.fixture(scope="module")
def runs() -> list[RecordLine]:
    stacks = dict.fromkeys(stack for stack, _ in SLOPES)
    return [run for stack in stacks for run in read_runs.load(RECORDING / f"{stack}.jsonl") if run.meter == "sites"]


def test_a_session_holds_what_one_more_session_adds(runs):
    found = {run.stack: sites_reader.profile_from_record(run) for run in runs if run.suite == "tls13-rsa-aes256"}
    for (stack, role), slope in SLOPES.items():
        assert sum_live(found[stack].live_of_sessions("established", role)) == slope
        assert found[stack].sessions_of_role == 1


def test_the_owner_by_frames_is_the_role_that_the_meter_knew(runs):
    for run in runs:
        profile = sites_reader.profile_from_record(run)
        for phase in run.phases:
            moment = profile.moments[phase.phase]
            assert moment.bytes == sum_live(moment.live).bytes == sum(one.bytes for one in phase.sites.live)
            for role in ("client", "server"):
                live = [one for one in phase.sites.live if one.role == role]
                expected = LiveHeap(sum(one.bytes for one in live), sum(one.blocks for one in live))
                assert sum_live(profile.live(phase.phase, role)) == expected
                assert profile.live_of_sessions(phase.phase, role) == profile.live(phase.phase, role)
    assert not profile.moments[BASE].live


def test_stacks_are_those_of_the_record_up_to_main(runs):
    for run in [run for run in runs if run.suite == "tls13-rsa-aes256"]:
        profile, sites = sites_reader.profile_from_record(run), run.sites
        frames, stacks = sites.frames, sites.stacks
        numbers = sites_reader.add_stacks(sites, profile.stacks, range(len(stacks)))
        for stack, number in numbers.items():
            recorded = [frames[at] for at in stacks[stack]]
            found = profile.stacks.frames(number)
            assert [(one.function, one.line, one.address) for one in found] == [
                (one.function, one.line, one.offset) for one in recorded
            ]
            assert found[-1].function == "main"


def test_inlined_functions_share_a_place_and_files_begin_at_their_package(runs):
    profile = sites_reader.profile_from_record(next(run for run in runs if run.stack.startswith("rustls")))
    assert all(len({(one.module, one.address) for one in place}) <= 1 for place in profile.stacks.places)
    assert any(len(place) > 5 for place in profile.stacks.places)
    assert not any("registry" in (one.file or "") for place in profile.stacks.places for one in place)


def made(live: dict[tuple[str, str], list[tuple[str, int, int]]], stripped: bool = False, **kind) -> RecordLine:
    """Blocks of (allocated in, stack, bytes) by phase and process; stack 0 is a client's, stack 1 a server's.

    Stripped, functions have no names, and both are one stack."""
    run = synthetic.record("null@c", "tls13-rsa-aes256", 100, "sites", **kind).model_dump(by_alias=True)
    for phase in run["phases"]:
        phase["sites"]["live"] = [
            {"role": ("client", "server")[stack], "since": since, "stack": stack, "blocks": 1, "bytes": size}
            for since, stack, size in live.get((phase["phase"], phase["process"]), [])
        ]
    names = ["malloc", "client_session_new", "server_session_new", "main"]
    shown = [{"function": n, "file": None, "line": None, "module": "h", "offset": at} for at, n in enumerate(names)]
    shown = [one | {"function": None} for one in shown] if stripped else shown
    stacks = [[0, 1, 3], [0, 1 if stripped else 2, 3]]
    return RecordLine.model_validate(run | {"sites": {"frames": shown, "stacks": stacks}})


CLIENT = {("idle", "client"): [("sessions", 0, 40), ("client 1", 0, 2)]}
SERVER = {("idle", "server"): [("sessions", 1, 1_000)], ("established", "server"): [("sessions", 1, 7)]}


def test_both_processes_of_a_split_run_are_one_profile():
    run = made(CLIENT | SERVER, roles="split")
    profile = sites_reader.profile_from_record(run)
    assert list(profile.moments) == list(synthetic.PHASES)
    assert sum_live(profile.live("idle", "client")) == LiveHeap(42, 2)
    assert sum_live(profile.live("idle", "server")) == LiveHeap(1_000, 1)
    assert sum_live(profile.live("established")) == LiveHeap(7, 1)
    assert profile.moments["idle"].bytes == 1_042
    assert sum_live(sites_reader.profile_from_record(run, "server").live("idle")) == LiveHeap(1_000, 1)


def test_a_peak_of_a_phase_is_a_moment_before_its_end():
    """Each session at its own peak, by stack and to the byte; elsewhere the peak is what is live."""
    run = planted.run("sites", 200, momentary=planted.MOMENTARY)
    profile = sites_reader.profile_from_record(run)
    peaks = [name for name in profile.moments if not is_phase_end(name)]
    assert [*profile.moments][1:5] == ["peak of sessions", "sessions", "peak of client 1", "client 1"]
    assert peaks == [f"peak of {name}" for name in synthetic.PHASES if name in synthetic.MADE]
    for role, size in ("client", 14_100 + 7_000), ("server", 14_116 + 640):
        assert sum_live(profile.live_of_sessions("peak of client 1", role)).bytes == size
        assert profile.live("peak of client 2", role) == profile.live("client 2", role)
    (added,) = profile.live("peak of client 1", "client").keys() - profile.live("client 1").keys()
    assert [frame.function for frame in profile.stacks.frames(added)][1] == "EVP_PKEY_verify"


def test_peaks_are_no_ends_of_phases_for_buckets_and_selections():
    with_peaks, without = (
        sites_reader.profile_from_record(planted.run("sites", 200, momentary=one)) for one in (planted.MOMENTARY, None)
    )
    for of in (lambda one: BucketSums(one).phases(), lambda one: BucketSums(one).fullest("client")):
        assert of(with_peaks) == of(without)
    assert profile_selection.select_moment(with_peaks).name == profile_selection.select_moment(without).name
    said = profile_selection.describe_moment("peak of client 1")
    assert said == "at the peak of each session in `client 1`"


@pytest.mark.parametrize("name", ["peak", "peak of client 2"])
def test_a_recording_without_call_stacks_at_peaks_says_so_and_how_to_record_them(runs, name):
    run = next(run for run in runs if (run.stack, run.suite) == ("openssl@3.5.5", "tls13-rsa-aes256"))
    with pytest.raises(ValueError, match="no moment nothing"):
        profile_selection.select_moment(sites_reader.profile_from_record(run), "nothing")
    with pytest.raises(ValueError) as stop:
        profile_selection.select_moment(sites_reader.profile_from_record(run), name)
    assert str(stop.value) == (
        "the run of openssl@3.5.5, tls13-rsa-aes256, N = 1,000: call stacks at peaks are not recorded: this sites run "
        "is of schema 2, and they are kept from 9 on; to record it: tools/tls-memtest measure mem "
        "--stacks openssl@3.5.5 --suites tls13-rsa-aes256"
    )
    full = planted.run("sites", 200, argv=["memtest", "data=full"])
    with pytest.raises(ValueError, match=r"tools/tls-memtest measure in-use-sites --stacks"):
        profile_selection.select_moment(sites_reader.profile_from_record(full), name)


def test_what_one_stack_allocated_in_two_phases_is_one_stack_s():
    (held,) = (
        sites_reader.profile_from_record(made({("idle", "both"): [("sessions", 0, 40), ("client 1", 0, 2)]}))
        .live("idle")
        .values()
    )
    assert held == LiveHeap(42, 2)


def test_without_names_the_meter_says_whose_a_block_is():
    live = {("idle", "both"): [("sessions", 0, 40), ("client 1", 0, 2), ("sessions", 1, 9)]}
    profile = sites_reader.profile_from_record(made(live, stripped=True))
    assert sum_live(profile.live("idle", "client")) == LiveHeap(42, 2)
    assert sum_live(profile.live("idle", "server")) == LiveHeap(9, 1)
    assert len({profile.stacks.frames(stack) for stack in profile.live("idle")}) == 1
    text = callers_tree.draw_tree(callers_tree.tree(profile, "idle", "server"), "")
    assert len(text.children[0].label.plain.splitlines()) == 3


def test_functions_without_names_are_told_with_the_way_out(runs):
    live = {("idle", "both"): [("sessions", 0, 40), ("sessions", 1, 60)]}
    (said,) = sites_reader.profile_from_record(made(live, stripped=True)).warnings
    assert "no names for the functions that hold 100% of the bytes at idle, in h (100%): build it with -g1" in said
    assert not any(sites_reader.profile_from_record(one).warnings for one in [made(live), *runs])


def test_a_block_of_one_role_in_a_call_for_the_other_is_a_sentence(snapshot):
    run = made(CLIENT, roles="split").model_dump(by_alias=True)
    for frame in run["sites"]["frames"]:
        frame["function"] = frame["function"].replace("client", "server")
    with pytest.raises(Unreadable, match="client") as error:
        sites_reader.profile_from_record(RecordLine.model_validate(run))
    assert str(error.value) == snapshot


def test_a_run_without_call_stacks_is_a_sentence():
    with pytest.raises(Unreadable, match=r"^the run of null@c, .* N = 100 is no sites run"):
        sites_reader.profile_from_record(synthetic.record("null@c", "tls13-rsa-aes256", 100, "heap"))


def test_names_are_the_same_from_build_to_build():
    one = Recorded(function="rustls::vecbuf::append::h0123456789abcdef", file=None, line=None, module="h", offset=1)
    assert sites_reader.convert_frame(one).function == "rustls::vecbuf::append"
    assert sites_reader.convert_frame(one.model_copy(update={"function": None})).function is None
