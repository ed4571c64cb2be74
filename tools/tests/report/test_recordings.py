"""Which recordings a report is made of."""

from pathlib import Path

from tlsmem.base.paths import ROOT
from tlsmem.report import recordings


def test_a_recording_of_live_runs_alone_is_kept_apart_from_those_with_runs_of_harnesses():
    live, other, none = ROOT / "data/2026-11-28-amd-epyc-p0457-live", ROOT / "data/2026-11-22-amd-epyc", Path("nosuch")
    named, apart = recordings.split_servers([live, other, none, Path(live.name)])
    assert named == [other, none]
    assert [(one.path, one.records) for one in apart] == [(str(live.relative_to(ROOT)), [])]
