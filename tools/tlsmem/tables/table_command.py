"""What commands that show tables of a recording share: where tables go, how they end."""

import argparse
import gc
from collections.abc import Callable, Sequence
from pathlib import Path

from tlsmem.base import markdown_embedding
from tlsmem.base.errors import UserError
from tlsmem.base.printable import printable_text
from tlsmem.config import choices
from tlsmem.tables import render
from tlsmem.tables.table import Table


def name_once(recording: Path, error: ValueError) -> str:
    """Return the sentence of an error after the recording's name, which some errors have already."""
    return f"{recording}: {printable_text(str(error)).removeprefix(f'{recording}: ')}"


def deliver(made: Sequence[Table], given: argparse.Namespace, asked: argparse.ArgumentParser) -> None:
    """Into the page that was named, else on stdout. Raises ValueError or OSError with a sentence."""
    if given.into:
        markdown_embedding.replace_block(given.into, given, asked, render.format_tables(made, choices.MARKDOWN))
    else:
        render.print_all(made, getattr(given, "format", None))


def run_command(given: argparse.Namespace, run: Callable[[argparse.Namespace], int]) -> int:
    """Return the exit status that `run` returns. Raises UserError for its ValueError, after the recording's name, and
    OSError."""
    was_enabled = gc.isenabled()
    gc.disable()  # records have no cycles, and looking for some in 100,000 objects took a third of the time
    try:
        return run(given)
    except ValueError as error:
        raise UserError(name_once(given.recording, error), getattr(error, "status", None)) from None
    except OSError as error:
        raise UserError(f"{error.filename or given.into}: {error.strerror}") from None
    finally:
        if was_enabled:
            gc.enable()
