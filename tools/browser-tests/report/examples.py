#!/usr/bin/env python3
"""Reports for the browser's tests: `examples.py DIRECTORY`; of the newest recordings, and small ones by hand."""

import json
import subprocess
import sys
from pathlib import Path

TOOLS = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(TOOLS))

# ruff: noqa: E402

from tlsmem.config import choices
from tlsmem.report import build_report, page, recordings
from tlsmem.report.sections import Section
from tlsmem.tables import render

COST_HEADINGS = {"rss_at_rest_bytes": "RSS at rest, B", "rss_in_use_bytes": "RSS in use, B"}
RECORDING = TOOLS.parent / "data/2026-11-21-amd-epyc-2"


def write(folder: Path, name: str, sections: list[Section]) -> None:
    (folder / f"{name}.html").write_text(page.page(build_report.TITLE, build_report.SENTENCE, sections))


def write_costs(folder: Path) -> None:
    """What tools/tls-memtest cost says of every library's newest release, as values and as it prints them."""
    (table,) = json.loads(printed_costs("json"))["tables"]
    lines = [line for line in printed_costs("markdown").splitlines() if line.startswith("|")]
    headings, _, *printed = [[cell.strip() for cell in line.strip("|").split("|")] for line in lines]
    for row, cells in zip(table["rows"], printed, strict=True):
        row["texts"] = {key: cells[headings.index(heading)] for key, heading in COST_HEADINGS.items()}
    (folder / "costs.json").write_text(json.dumps(table["rows"]))


def printed_costs(form: str) -> str:
    command = [sys.executable, TOOLS / "tls-memtest", "cost", "--format", form]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


def main() -> None:
    folder = Path(sys.argv[1])
    folder.mkdir(parents=True, exist_ok=True)
    newest = list(recordings.by_machine(recordings.load_newest(TOOLS.parent / "data")))
    sections = build_report.sections(newest, build_report.find_committed())
    plain = [one._replace(pictures=()) for one in sections]
    list(page.write_directory(build_report.TITLE, build_report.SENTENCE, plain, folder / "report-files"))
    write(folder, "report", sections)
    write_costs(folder)
    small = list(recordings.by_machine(recordings.load_recordings([RECORDING])))
    sections = build_report.sections(small)
    write(folder, "report-small", sections)
    (folder / "report-small").mkdir(exist_ok=True)
    for shown in (shown for section in sections for shown in section.tables):
        for form, ending in ((choices.MARKDOWN, "md"), (choices.CSV, "csv")):
            file = folder / "report-small" / f"{shown.table.name}.{ending}"
            file.write_text(render.format_tables([shown.table], form))


if __name__ == "__main__":
    main()
