"""What is claimed holds on records that hold it, and fails by name on records with one fault planted."""

import subprocess

import pytest

from tests.support import synthetic
from tlsmem.base.paths import ROOT
from tlsmem.selfcheck import claims

PROVE = ROOT / "tools/dev/prove.py"
STACK, SUITE = "openssl@3.5.5", "tls13-rsa-aes256"


def changed(run, **of_every_phase):
    """The run with other figures in every phase, as functions of the old ones."""
    phases = [
        phase.model_copy(update={name: change(getattr(phase, name)) for name, change in of_every_phase.items()})
        for phase in run.phases
    ]
    return run.model_copy(update={"phases": phases})


def raised(heap):
    return heap.model_copy(
        update={"server": heap.server.model_copy(update={"peak_bytes": heap.server.peak_bytes + 16})}
    )


def repeat_runs():
    runs = [(n, "rss") for n in (100, 1000, 5000, 10000)] + [(n, "heap") for n in (100, 1000)]
    return [synthetic.record(STACK, SUITE, n, meter, repeat=k) for k in (1, 2, 3) for n, meter in runs]


def lawful_run(sessions, window, meter, off=1.0):
    """1,000,000 + 2,000 N + 3,000 W while handshakes are under way."""
    pairs = sessions // 2 if window == "all" else window
    peak = round((1_000_000 + 2_000 * sessions + 3_000 * pairs) * off)
    run = synthetic.record(STACK, SUITE, sessions, meter, window=window)
    if meter == "rss":
        return changed(run, peak_rss_bytes=lambda _: peak)
    return changed(run, heap=lambda heap: heap.model_copy(update={"total": total(heap.total, peak)}))


def total(heap, peak):
    return heap.model_copy(update={"peak_bytes": peak})


def law_runs(off=1.0):
    return [
        lawful_run(n, window, meter, off if window == 1000 else 1.0)
        for n in (5000, 10000)
        for window in (1, 100, 1000, "all")
        for meter in ("rss", "heap")
    ]


def large_runs(extra=0.0):
    runs = [synthetic.record(STACK, SUITE, n) for n in (5000, 10000, 50000)]
    last = changed(synthetic.record(STACK, SUITE, 100000), peak_rss_bytes=lambda value: round(value * (1 + extra)))
    return [*runs, last]


def verdicts(runs):
    """By claim; but for whether all runs are there, which these few are not."""
    rows = claims.proof_table(runs).rows
    return {cells[0].text: cells[-1].value for cells in rows if not cells[0].text.startswith("runs of campaign")}


REPEATS = {
    f"{claim}, N = {n}": True
    for claim in ("live heap and its peak repeat", "peak inside every phase repeats")
    for n in ("100", "1,000")
} | {"RSS slope repeats": True}
LAW = ("established heap at any window", "memory model, live heap", "memory model, RSS", claims.NARROW)


def test_what_holds_holds():
    assert verdicts(repeat_runs()) == REPEATS
    assert verdicts(law_runs()) == dict.fromkeys(LAW, True)
    assert verdicts(large_runs()) == {"RSS per session at large N": True}


def test_a_peak_that_differs_by_16_bytes_is_seen():
    runs = [
        changed(run, heap=raised) if (run.repeat, run.sessions) == (2, 100) and run.meter == "heap" else run
        for run in repeat_runs()
    ]
    off = ("live heap and its peak repeat, N = 100", "peak inside every phase repeats, N = 100")
    assert verdicts(runs) == REPEATS | dict.fromkeys(off, False)


def test_a_slope_that_does_not_repeat_is_seen():
    runs = [
        changed(run, peak_rss_bytes=lambda value: value * 1005 // 1000)
        if run.repeat == 3 and run.meter == "rss"
        else run
        for run in repeat_runs()
    ]
    assert verdicts(runs)["RSS slope repeats"] is False


@pytest.mark.parametrize(("off", "heap", "rss"), [(1.004, True, True), (1.007, False, True), (1.02, False, False)])
def test_a_window_off_the_law_is_seen(off, heap, rss):
    assert verdicts(law_runs(off)) == dict(zip(LAW, (True, heap, rss, True), strict=True))


def test_an_established_heap_that_depends_on_the_window_is_seen():
    def fatter(heap):
        return heap.model_copy(
            update={"total": heap.total.model_copy(update={"live_bytes": heap.total.live_bytes + 5000})}
        )

    runs = [
        changed(run, heap=fatter) if (run.sessions, run.window, run.meter) == (10000, 100, "heap") else run
        for run in law_runs()
    ]
    assert verdicts(runs)[LAW[0]] is False


def test_more_per_session_at_large_n_is_seen():
    assert verdicts(large_runs(0.005))["RSS per session at large N"] is True
    assert verdicts(large_runs(0.02))["RSS per session at large N"] is False


def split_runs(extra=0):
    return [synthetic.record(STACK, SUITE, n, "heap", extra * n, roles="split") for n in (1000, 2000)]


@pytest.mark.parametrize("extra, holds", [(0, True), (1, False)])
def test_a_role_that_costs_more_in_a_process_of_its_own_is_seen(extra, holds):
    runs = [synthetic.record(STACK, SUITE, n, "heap") for n in (100, 1000)] + split_runs(extra)
    assert verdicts(runs)["live heap of roles, split"] is holds


def test_what_was_not_recorded_is_no_proof():
    rows = {cells[0].text: (cells[3].text, cells[-1].value) for cells in claims.proof_table([]).rows}
    assert rows == {
        "runs of campaign repeat": ("0 of 180", False),
        "runs of campaign law": ("0 of 64", False),
        "runs of campaign large": ("0 of 16", False),
        "runs of campaign split": ("0 of 36", False),
        "runs of campaign keep": ("0 of 40", False),
    }


def test_a_failed_run_is_a_row():
    assert verdicts([synthetic.failed(STACK, SUITE, 100, "crashed")]) == {"a run, N = 100": False}


def test_a_run_of_another_build_is_in_no_campaign():
    """Though in its own campaign it would be the only build."""
    old = [
        run.model_copy(update={"binary_sha256": "a" * 64, "started_at": "2026-01-30T12:00:00Z"}) for run in law_runs()
    ]
    assert verdicts([*old, *large_runs()]) == {"RSS per session at large N": True}
    rows = {cells[0].text: cells[3].text for cells in claims.proof_table([*old, *large_runs()]).rows}
    assert rows["runs of campaign law"] == "2 of 64"


@pytest.mark.thorough
def test_the_command_says_what_is_left_out(tmp_path):
    other = synthetic.record(STACK, SUITE, 100, binary_sha256="a" * 64, started_at="2026-01-30T12:00:00Z")
    synthetic.write(tmp_path / "recording", [other, *large_runs()])
    done = subprocess.run([PROVE, "recording"], cwd=tmp_path, capture_output=True, text=True)
    assert done.stderr == f"prove: recording: 1 run of another build of {STACK} is left out\n"
    assert done.returncode == 1 and "RSS per session at large N" in done.stdout


@pytest.mark.thorough
def test_a_full_disk_is_a_sentence(tmp_path):
    synthetic.write(tmp_path / "recording", large_runs())
    with open("/dev/full", "w") as full:
        done = subprocess.run([PROVE, "recording"], cwd=tmp_path, stdout=full, stderr=subprocess.PIPE, text=True)
    assert done.returncode == 1 and done.stderr == "memtest: stdout: No space left on device\n"
