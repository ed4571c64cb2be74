"""What docs/how-to/compare.md and ci.md say of comparisons is what the code does."""

import re
import subprocess
import sys

import pytest

from tests.support.synthetic import record
from tlsmem.base.paths import ROOT
from tlsmem.gate.measure_budgets import METERED
from tlsmem.stats.remainders import ALLOCATED_NOISE_BYTES, allocated_noise

PAGES = {name: (ROOT / f"docs/how-to/{name}.md").read_text() for name in ("compare", "ci")}


@pytest.mark.thorough
def test_the_comparison_that_is_shown_is_that_of_the_recording(tmp_path):
    (command,) = re.findall(r"<!-- begin: (.*) -->", PAGES["compare"])
    page = tmp_path / "compare.md"
    page.write_text(re.sub(r"(?s)(<!-- begin: .*? -->\n).*(<!-- end -->)", r"\1\2", PAGES["compare"]))
    script, *arguments = command.split()
    run = [sys.executable, script, *arguments, "--into", page]
    done = subprocess.run(run, cwd=ROOT, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    assert page.read_text() == PAGES["compare"]


def noise(*counts: int, role: str = "server") -> int:
    """The noise of bytes allocated per session, from heap runs at these numbers of sessions, rounded."""
    return round(allocated_noise([record("null@c", "none", sessions, "heap") for sessions in counts], role))


@pytest.mark.parametrize("counts", [(100, 200), (200, 2000)])
def test_the_page_of_comparisons_states_the_noise_of_allocated_bytes(counts):
    fewest, most = counts
    pairs = (most - fewest) // 2
    assert f"at least a threshold: {ALLOCATED_NOISE_BYTES:,} B / ⌊√P⌋" in PAGES["compare"]
    assert f"or N = {fewest:,} and {most:,}, P is {pairs} and the threshold {noise(*counts)} B" in PAGES["compare"]


def test_the_page_of_budgets_states_the_noise_of_allocated_bytes():
    one, pair = noise(*METERED), noise(*METERED, role="total")
    assert f"({one} B a session, {pair} B a pair)" in PAGES["ci"]
