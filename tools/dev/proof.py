"""What the project claims of its own figures, on a recording."""

import argparse
import sys

from tlsmem.schema import recording_files
from tlsmem.selfcheck import claims
from tlsmem.stats.comparability import describe_left_out
from tlsmem.store.recordings import load_recording
from tlsmem.tables import table_command


def run(arguments: argparse.Namespace, parser: argparse.ArgumentParser) -> int:
    """ValueError and OSError with a sentence."""
    recorded = load_recording(arguments.recording, "`make prove` makes one")
    for said in describe_left_out(recorded):
        print(f"prove: {arguments.recording}: {said}", file=sys.stderr)
    table = claims.proof_table(recorded)
    table_command.deliver([table], arguments, parser)
    proven = arguments.into or all(cells[-1].value is True for cells in table.rows)
    return 0 if proven and not recording_files.skipped_lines else 1
