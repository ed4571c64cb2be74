"""In words, why a session of one stack holds more bytes than one of another, by what the bytes are for."""

import argparse

from tlsmem.base import markdown_embedding, stdout
from tlsmem.base.errors import raise_user_errors
from tlsmem.config.choices import MARKDOWN
from tlsmem.profile.buckets import reasons
from tlsmem.schema import recording_files
from tlsmem.tables import buckets, render
from tlsmem.tables.table import Heading, Table, text_cell

TITLE = "Why sessions differ"
NOTHING = (
    "nothing to compare: it needs sites runs of two families of stacks in one suite (make mem), or profiles of them "
    "(make profile)"
)


def markdown(sentences: list[str]) -> str:
    """What leads is a paragraph, what it leads is a list."""
    return "".join(f"\n{one}\n\n" if one.endswith(":") else f"- {one}\n" for one in sentences).removeprefix("\n")


def explain(given: argparse.Namespace, parser: argparse.ArgumentParser) -> int:
    """Print the sentences, or write them into a page; return the exit status. Raises UserError."""
    with raise_user_errors(given.into):
        write_sentences(given, parser)
    return 1 if recording_files.skipped_lines else 0


def write_sentences(given: argparse.Namespace, parser: argparse.ArgumentParser) -> None:
    """Raises ValueError or OSError with a sentence."""
    found = list(buckets.load_profiles(given.source, given.stack, given.suite))
    for profile in found:
        if profile.run is None:
            raise ValueError(f"{profile.file}: no record is beside it; give a profile that `make profile` made")
    sentences = reasons.explain_pairs(found)
    if not sentences:
        raise ValueError(f"{' '.join(map(str, given.source))}: {NOTHING}")
    if given.into:
        markdown_embedding.replace_block(given.into, given, parser, markdown(sentences))
    elif given.format in (None, MARKDOWN):
        with stdout.raise_write_errors():
            print(markdown(sentences), end="")
    else:
        rows = [[text_cell(one)] for one in sentences]
        render.print_all([Table("why", TITLE, "", [Heading("sentence", "", left=True)], rows)], given.format)
