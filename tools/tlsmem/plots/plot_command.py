"""What commands that draw a picture of a recording share: what they read, what they say, how they end."""

import argparse
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

import matplotlib

from tlsmem.base import stdout
from tlsmem.base.errors import UserError
from tlsmem.plots.picture import STYLE
from tlsmem.schema import recording_files
from tlsmem.stats.selection import Selection, select, select_campaign
from tlsmem.store.recordings import load_recording
from tlsmem.tables import table_command


def select_runs(given: argparse.Namespace, **asked: Sequence[str] | None) -> Selection:
    """The runs that were asked for; what stands in no line is said on stderr. Raises ValueError with a sentence."""
    loaded = load_recording(given.recording)
    loaded = select_campaign(loaded, given.campaign) if given.campaign else loaded
    selection = select(loaded, given.stack, **asked)
    for said in selection.left_out:
        print(f"memtest: {given.recording}: {said}", file=sys.stderr)
    return selection


def draw_pictures(given: argparse.Namespace, draw: Callable[[argparse.Namespace], Sequence[Path]]) -> int:
    """Print the files that were drawn; return the exit status, which is 1 after a torn line. Raises UserError."""
    try:
        with matplotlib.rc_context(STYLE):
            written = draw(given)
        with stdout.raise_write_errors():
            print(*written, sep="\n")
    except ValueError as error:
        sentence = table_command.name_once(given.recording, error) if hasattr(given, "recording") else str(error)
        raise UserError(sentence, getattr(error, "status", None)) from None
    except OSError as error:
        raise UserError(f"{error.filename or given.output}: {error.strerror}") from None
    return 1 if recording_files.skipped_lines else 0
