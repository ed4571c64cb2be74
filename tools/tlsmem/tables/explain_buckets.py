"""In words, why a session of one stack holds more bytes than one of another, by what the bytes are for."""

import argparse
import signal
import sys

from tlsmem.base import markdown_embedding, stdout
from tlsmem.profile.buckets import reasons
from tlsmem.profile.errors import Unreadable
from tlsmem.schema import recording_files
from tlsmem.tables import bucket_sources

NOTHING = (
    "nothing to compare: it needs sites runs of two families of stacks in one suite (make mem), or profiles of them "
    "(make profile)"
)


def markdown(sentences: list[str]) -> str:
    """What leads is a paragraph, what it leads is a list."""
    return "".join(f"\n{one}\n\n" if one.endswith(":") else f"- {one}\n" for one in sentences).removeprefix("\n")


def run(given: argparse.Namespace, parser: argparse.ArgumentParser) -> int:
    """Raises ValueError or OSError with a sentence."""
    found = list(bucket_sources.load_profiles(given.recording, given.stack, given.suite))
    for profile in found:
        if profile.run is None:
            raise ValueError(f"{profile.file}: no record is beside it; give a profile that `make profile` made")
    text = markdown(reasons.explain_pairs(found))
    if not text:
        raise ValueError(f"{' '.join(map(str, given.recording))}: {NOTHING}")
    if given.into:
        markdown_embedding.replace_block(given.into, given, parser, text)
    else:
        with stdout.exit_on_write_error():
            print(text, end="")
    return 0


def ended(given: argparse.Namespace, parser: argparse.ArgumentParser) -> None:
    """Exits as `run` says; what it raises is a sentence on stderr."""
    signal.signal(signal.SIGPIPE, signal.SIG_DFL)  # a reader that has seen enough is no error
    try:
        status = run(given, parser)
        sys.exit(1 if recording_files.skipped_lines else status)
    except (ValueError, Unreadable) as error:
        sys.exit(f"explain_buckets: {error}")
    except OSError as error:
        sys.exit(f"explain_buckets: {error.filename or given.into}: {error.strerror}")
