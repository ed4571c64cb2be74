"""One run tells little: no repeat of a recording differs from another, or bends, where all repeats together do not."""

from itertools import permutations
from pathlib import Path

import pytest

from tests.support import synthetic
from tlsmem.base.paths import ROOT
from tlsmem.schema.recording_files import is_recording
from tlsmem.stats import bends, repeats, session_cost
from tlsmem.stats.repeats import RepeatChange
from tlsmem.stats.rss_line import rss_quantity
from tlsmem.stats.selection import select
from tlsmem.store import read_runs
from tlsmem.tables import nonlinearity
from tlsmem.tables.mixed_pairs import change_cell
from tlsmem.tables.peaks import peak_table

# Bytes per pair: the slopes of rustls with aws-lc in TLS 1.2, as five repeats had them.
UNSTEADY = (18143.6, 18405.6, 17896.9, 17917.4, 18124.4)
RECORDINGS = sorted(filter(is_recording, (ROOT / "data").glob("20*")))  # not of real servers alone
STACK, OTHER, SUITE = "openssl@3.5.5", "boringssl@5.4.0", "tls13-rsa-aes256"


@pytest.mark.parametrize(("one", "other"), list(permutations(UNSTEADY, 2)))
def test_two_runs_of_the_same_are_no_difference(one, other):
    assert change_cell(RepeatChange((one,), (other,))).text == "none"


def test_beyond_what_repeats_are_known_to_vary_it_is_one():
    assert change_cell(RepeatChange((18000.0,), (18500.0,))).text == "none"
    assert change_cell(RepeatChange((18000.0,), (18600.0,))).text == "+600 (+3.33 %)"


@pytest.mark.slow
@pytest.mark.parametrize("recording", RECORDINGS, ids=lambda one: one.name)
def test_single_repeats_of_a_recording_say_no_more_than_all(recording: Path):
    """A recording whose repeats lie farther apart than ASSUMED needs another."""
    selection = select(run for run in read_runs.load(recording) if run.meter == "rss" and run.window == "all")
    judged = 0
    for setting in selection.settings if selection.records else ():
        for stack in selection.stacks if setting.roles == "together" else ():
            runs = selection.series(stack, setting).full("rss")
            each = repeats.group_by_repeat([run for run in runs if run.sessions <= session_cost.C10K])
            for quantity in map(rss_quantity, nonlinearity.LINES.values()) if len(each) > 1 else ():
                lines = [session_cost.fit_line(session_cost.medians(one, quantity)).slope for one in each]
                assert not any(RepeatChange((a,), (b,)).beyond_spread for a, b in permutations(lines, 2))
                together = session_cost.values_by_sessions([run for one in each for run in one], quantity)
                assert bends.find_bends(together) or not any(
                    bends.find_bends(session_cost.values_by_sessions(one, quantity)) for one in each
                )
                judged += 1
    assert judged or not any(run.repeat > 1 for run in selection.records)


def test_peaks_measured_once_say_that_a_spread_is_assumed():
    def rows(*factors: float):
        runs = [synthetic.scaled(synthetic.record(STACK, SUITE, 100), one, at) for at, one in enumerate(factors, 1)]
        other = [synthetic.scaled(run, 1.02, run.repeat).model_copy(update={"stack": OTHER}) for run in runs]
        cell = peak_table(select([*runs, *other])).rows[0][-1]
        return cell.text, cell.note

    assert rows(1.0) == ("no change", repeats.SINGLE_RUN_NOTE)
    assert rows(1.0, 1.001) == ("+2.0 %", None)
    assert rows(1.0, 1.05) == ("no change", repeats.WITHIN_SPREAD_NOTE)
