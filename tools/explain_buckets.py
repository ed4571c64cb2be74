#!/usr/bin/env python3
"""In words, why a session of one stack holds more bytes than one of another, by what the bytes are for: sentences in
Markdown, with figures of the recording's sites runs and the reasons of memtest/buckets.toml."""

# ruff: noqa: E402

import environment

environment.activate()

import argparse
from pathlib import Path

import embedding
import reading
import stdout
from buckets import bucket_reasons
from buckets import bucket_table as buckets
from selection import select

EXAMPLES = """examples:
  tools/explain_buckets.py data/2026-01-31-some-cpu --suite tls13-rsa-aes256
  tools/explain_buckets.py data/2026-01-31-some-cpu --stack openssl@3.5.5 --stack rustls+ring@0.23.46"""


def parser() -> argparse.ArgumentParser:
    made = reading.parser(__doc__, EXAMPLES)
    made.add_argument("recording", type=Path, help="a directory under data/, or one of its files")
    made.add_argument("--stack", action="append", help="may be repeated; the first is compared with each other")
    made.add_argument("--suite", action="append", help="may be repeated")
    return made


def markdown(sentences: list[str]) -> str:
    """What leads is a paragraph, what it leads is a list."""
    return "".join(f"\n{one}\n\n" if one.endswith(":") else f"- {one}\n" for one in sentences).removeprefix("\n")


def run(given: argparse.Namespace) -> int:
    """ValueError and OSError with a sentence."""
    loaded = reading.loaded(given.recording, "recordings are directories under data/")
    selection = select(loaded, given.stack, given.suite)
    text = markdown(bucket_reasons.explained(list(buckets.profiles(selection))))
    if not text:
        raise ValueError("nothing to compare: it needs sites runs of two families of stacks in one suite (make mem)")
    if given.into:
        embedding.replace(given.into, given, parser(), text)
    else:
        with stdout.checked():
            print(text, end="")
    return 0


if __name__ == "__main__":
    reading.end("explain_buckets", parser().parse_args(), run)
