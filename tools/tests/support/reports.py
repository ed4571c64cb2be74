"""Reports of recordings that tests make."""

from collections.abc import Sequence
from pathlib import Path

from tests.support import synthetic
from tlsmem.report import build_report, page, recordings
from tlsmem.schema.records import RecordLine

MACHINE = {"cpu": "Another CPU", "cpus": 8, "memory_bytes": 2**34, "kernel": "6.2", "os": "Other", "libc": "glibc 2.40"}
MACHINE |= {"governor": None, "thp_host": "madvise"}


def read(tmp_path: Path, *several: Sequence[RecordLine]):
    """Return recordings of these runs, as the report has them."""
    paths = [synthetic.write(tmp_path / f"2026-01-3{at}-example", runs) for at, runs in enumerate(several)]
    return list(recordings.by_machine(recordings.load_recordings(paths)))


def text_page(read) -> str:
    """Return the page without pictures, which take long to draw."""
    return page.page("Title", "subtitle", [one._replace(pictures=()) for one in build_report.sections(read)])
