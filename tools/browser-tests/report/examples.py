#!/usr/bin/env python3
"""Reports for the browser's tests: `examples.py DIRECTORY`; of the newest recordings, and small ones by hand."""

import sys
from pathlib import Path

TOOLS = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(TOOLS))

# ruff: noqa: E402

from tlsmem.config import choices
from tlsmem.report import build_report, page, recordings
from tlsmem.report.recordings import Recording
from tlsmem.tables import render

RECORDING = TOOLS.parent / "data/2026-11-21-amd-epyc-2"


def write(folder: Path, name: str, read: list[Recording]) -> None:
    sections = build_report.sections(read)
    (folder / f"{name}.html").write_text(page.page(build_report.TITLE, build_report.SENTENCE, sections))


def main() -> None:
    folder = Path(sys.argv[1])
    folder.mkdir(parents=True, exist_ok=True)
    write(folder, "report", list(recordings.by_machine(recordings.load_newest(TOOLS.parent / "data"))))
    small = list(recordings.by_machine(recordings.load_recordings([RECORDING])))
    write(folder, "report-small", small)
    (folder / "report-small").mkdir(exist_ok=True)
    for shown in (shown for section in build_report.sections(small) for shown in section.tables):
        for form, ending in ((choices.MARKDOWN, "md"), (choices.CSV, "csv")):
            file = folder / "report-small" / f"{shown.table.name}.{ending}"
            file.write_text(render.format_tables([shown.table], form))


if __name__ == "__main__":
    main()
