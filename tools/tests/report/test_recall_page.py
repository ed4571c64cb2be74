"""A page that was made before: recalled where nothing changed that decides it, and made again where anything did."""

import subprocess
import sys
from pathlib import Path

import pytest

from tests.support import page_libraries, synthetic
from tlsmem.base import memo
from tlsmem.base.paths import ROOT
from tlsmem.base.repository import MANIFEST
from tlsmem.explore.flamegraph import page_scripts
from tlsmem.report import build_report, page, recordings, sections
from tlsmem.store.recordings import find_recordings

OPENSSL, RUSTLS, SUITE = "openssl@3.5.5", "rustls+aws-lc@0.23.46", "tls13-rsa-aes256"
PLACE = page.Directory("report", "the command")
READS = """
import os, sys
opened = []
sys.path.insert(0, "tools")
sys.addaudithook(lambda event, about: opened.append(about[0]) if event == "open" else None)
recording, page, results = sys.argv[1:]
sys.argv = ["tls-memtest", "show", "report", recording, "-o", page]
from pathlib import Path
from tlsmem.base import memo
memo.FILE = Path(results)
from tlsmem.cli import main
try:
    main.main()
finally:
    print(*{os.path.abspath(os.fsdecode(one)) for one in opened if isinstance(one, (str, bytes))}, sep="\\n")
"""


@pytest.fixture
def count_pages(tmp_path, monkeypatch) -> None:
    """Make pages that only say how many were made before, instead of drawing them; none was kept before."""
    monkeypatch.setattr(memo, "FILE", tmp_path / "results.sqlite")
    monkeypatch.setattr(memo, "pending", {})
    monkeypatch.setattr(page_scripts, "are_fetched", lambda: True)
    counted: list[int] = []

    def make(title, sentence, several, source, beside):
        counted.append(len(several))
        return f"page {len(counted)}"

    monkeypatch.setattr(page, "page", make)


def recall(path: Path) -> str:
    """Return the page of a recording."""
    loaded = recordings.load_recordings([path])
    source = recordings.digest(loaded)
    return build_report.recall_page(list(recordings.by_machine(loaded)), None, source, PLACE)


@pytest.mark.usefixtures("count_pages")
def test_a_page_is_made_once_and_again_when_its_recording_has_more_runs(tmp_path):
    path = synthetic.write(tmp_path / "2026-01-30-example", synthetic.campaign([OPENSSL], [SUITE]))
    assert [recall(path), recall(path)] == ["page 1", "page 1"]
    synthetic.write(path, synthetic.campaign([OPENSSL, RUSTLS], [SUITE]))
    assert recall(path) == "page 2"


@pytest.mark.usefixtures("count_pages")
def test_a_page_that_may_lack_flamegraphs_is_not_kept(tmp_path, monkeypatch):
    path = synthetic.write(tmp_path / "2026-01-30-example", synthetic.campaign([OPENSSL], [SUITE]))
    monkeypatch.setattr(page_scripts, "are_fetched", lambda: False)
    monkeypatch.setattr(page_scripts, "fetch", page_libraries.refuse)  # other tests read what is fetched
    assert [recall(path), recall(path)] == ["page 1", "page 2"]


@pytest.mark.page
def test_all_that_a_page_reads_decides_whether_it_is_made_again(tmp_path):
    """Files of the repository that the command opens: modules, definitions, recordings, and what list_sources has."""
    recording = next(one for one in find_recordings(None) if (one / "live").is_dir())
    words = [sys.executable, "-c", READS, str(recording), *map(str, (tmp_path / "report.html", tmp_path / "results"))]
    done = subprocess.run(words, cwd=ROOT, capture_output=True, text=True, timeout=600)
    assert done.returncode == 0, done.stderr
    inside = [ROOT / one for one in ("tools", "memtest", "data", "docs", "harness-c", "harness-rust", "harness-go")]
    opened = {path for path in map(Path, done.stdout.splitlines()) if any(map(path.is_relative_to, inside))}
    read = {path for path in opened if path.is_file() and path.suffix not in (".py", ".pyc")}
    committed = [recording, *find_recordings(None)]
    known = {*sections.list_sources(), *(ROOT / "memtest").glob("*.toml"), *(ROOT / "tools").glob("requirements*.txt")}
    known |= {file for one in committed for file in (*recordings.list_every_file(one), *one.rglob(MANIFEST))}
    assert len(read & known) > 20
    assert read - known == set()
