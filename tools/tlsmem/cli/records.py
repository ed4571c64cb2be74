"""Check recordings, seal them, or print the JSON schema of a record. docs/reference/records.md has the format."""

import argparse
import json
import sys
from pathlib import Path

from tlsmem.base import stdout, venv
from tlsmem.base.errors import UserError
from tlsmem.base.repository import is_sealed
from tlsmem.config.option_parser import CommandParser, add_options, make_parser

EXAMPLES = """examples:
  tools/records.py --schema > docs/reference/record.schema.json
  tools/records.py seal data/local/2026-11-23-my-cpu
  tools/records.py verify data/20*"""
VERBS = {"seal": "pack a recording without loss", "verify": "check recordings"}


def parser() -> CommandParser:
    made = make_parser("records", __doc__, EXAMPLES)
    verbs = made.add_subparsers(dest="verb", metavar="seal|verify", parser_class=CommandParser)
    for verb, about in VERBS.items():
        add_options(verbs.add_parser(verb, help=about, description=about), f"records {verb}")
    return made


def main() -> int:
    asked = parser()
    given = asked.parse_args()
    if given.schema == bool(given.verb):
        asked.error("give one of --schema, seal and verify")
    venv.activate()
    with stdout.exit_on_write_error():
        return run(given)


def run(given: argparse.Namespace) -> int:
    """Return the exit status."""
    if given.verb == "seal":
        seal(given.recording)
    elif given.verb == "verify":
        return verify(given.recordings)
    else:
        from tlsmem.schema.records import Record

        print(json.dumps(Record.model_json_schema(), indent=2))
    return 0


def seal(recording: Path) -> None:
    """Raises UserError when the recording cannot be sealed."""
    from tlsmem.schema import seal_recording
    from tlsmem.schema.recording_files import require_recording

    try:
        made = seal_recording.seal(require_recording(recording))
    except ValueError as error:
        raise UserError(f"{error}; nothing was sealed") from None
    except OSError as error:
        raise UserError(f"{error.filename or recording}: {error.strerror}; the recording is unchanged") from None
    for directory, manifest in made.items():
        plain = sum(file.plain_bytes for file in manifest.files.values())
        packed = sum((directory / name).stat().st_size for name in manifest.files)
        counts = f"{manifest.records:,} records, {len(manifest.files)} files"
        print(f"{directory}: sealed: {counts}, {plain:,} B packed into {packed:,} B")


def verify(recordings: list[Path]) -> int:
    """1 when anything is wrong with any of them."""
    from tlsmem.schema import seal_recording
    from tlsmem.schema.recording_files import require_recording

    status = 0
    for name in recordings:
        try:
            recording = require_recording(name)
        except ValueError as error:
            print(f"memtest: {error}", file=sys.stderr)
            status = 1
            continue
        failures = list(seal_recording.verify(recording))
        for failure in failures:
            print(failure, file=sys.stderr)
        if not failures:
            print(f"{name}: {describe_seal(seal_recording.list_directories(recording))} nothing is wrong with it")
        status = 1 if failures else status
    return status


def describe_seal(directories: list[Path]) -> str:
    """Return the beginning of a sentence that says which of a recording's directories are sealed."""
    plain = [directory for directory in directories if not is_sealed(directory)]
    if len(plain) == len(directories):
        return "not sealed;"
    return f"sealed, except for the runs in {plain[0]};" if plain else "sealed, and"
