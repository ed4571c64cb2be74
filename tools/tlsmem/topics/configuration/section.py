"""The report's section on configurations."""

from collections.abc import Sequence

from tlsmem.base.paths import ROOT
from tlsmem.report.recordings import Recording, recording_arguments
from tlsmem.report.sections import Section, ShownTable
from tlsmem.schema.configuration_records import load_configuration
from tlsmem.topics.configuration.table import build


def section(recordings: Sequence[Recording]) -> Section | None:
    """Of the first recording that has runs of configurations: the newest."""
    for one in recordings:
        if records := load_configuration(ROOT / one.path):
            command = f"tools/tls-memtest measure configuration {recording_arguments(one)}"
            shown = tuple(ShownTable(table, command) for table in build(records) if table.rows)
            return Section("configuration", "What grows with configuration", tables=shown)
    return None
