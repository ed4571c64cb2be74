"""What is known of a profile taken here: the tool, its command and the record of the run, in a file beside it."""

import hashlib
import io
import os
import shutil
from contextlib import ExitStack
from pathlib import Path
from typing import BinaryIO, Final, Literal, Self

from pydantic import Field, ValidationError, model_validator

from tlsmem.base import atomic_file
from tlsmem.profile.compressed_file import open_regular
from tlsmem.profile.errors import Unreadable
from tlsmem.profile.heap_profile import END, PEAK, CapturedTool
from tlsmem.schema.harness_output import Model, describe_error
from tlsmem.schema.read_records import printable_json
from tlsmem.schema.records import RecordLine
from tlsmem.schema.run_origins import Sha256

SCHEMA: Final = 1


class ProfileRecord(Model):
    """`X.heaptrack.json`, of the profile `X.heaptrack.zst`; a sites run has no other file: its record has it all."""

    schema_: Literal[1] = Field(default=SCHEMA, alias="schema")
    tool: CapturedTool
    tool_version: str
    command: list[str]  # in the root of the repository; what it writes is then there
    file: str | None  # a name, beside this one
    file_sha256: Sha256 | None
    run: RecordLine

    @model_validator(mode="after")
    def check_consistency(self) -> Self:
        if (self.file is None, self.file_sha256 is None) != (self.tool == "sites",) * 2:
            raise ValueError("a profile has a file and its checksum, and a sites run neither")
        if self.file and Path(self.file).name != self.file:
            raise ValueError("file is a name, without a directory")
        if self.run.status != "measured" or self.run.meter != ("sites" if self.tool == "sites" else "rss"):
            raise ValueError("the run was measured, under the meter sites where that is the tool and rss elsewhere")
        if f"sessions={self.run.sessions}" not in self.run.argv:
            raise ValueError(f"the run has {self.run.sessions} sessions, which its argv did not ask for")
        if wrong := {phase.phase for phase in self.run.phases} & {PEAK, END, ""}:
            raise ValueError(f"no phase of a run has the name `{min(wrong)}`")
        return self

    def to_json(self) -> str:
        return self.model_dump_json(by_alias=True, indent=1) + "\n"


def load(file: Path | str) -> ProfileRecord:
    """Raises Unreadable with a sentence when there is none or it is no record of a profile."""
    try:
        with open_regular(file) as content:
            text = content.read()
        ProfileRecord.model_validate_json(text)  # first as it is, so that what is no JSON has its sentence
        return ProfileRecord.model_validate_json(printable_json(text))
    except OSError as error:
        raise Unreadable(f"{file}: cannot read it: {error.strerror}") from None
    except ValidationError as error:
        raise Unreadable(f"{file}: no record of a profile of schema {SCHEMA}: {describe_error(error)}") from None


def load_record_beside(file: Path | str) -> ProfileRecord | None:
    """Of a profile; None where there is none. Raises Unreadable with a sentence when it is another profile's."""
    file = Path(file)
    place = file.with_suffix(".json")
    if place == file or not place.exists():
        return None
    found = load(place)
    if found.file != file.name:
        raise Unreadable(f"{file}: {place.name} beside it is the record of {found.file or 'a sites run'}")
    if found.file_sha256 != sha256(file):
        raise Unreadable(f"{file}: not the profile that {place.name} beside it records: its SHA-256 is another")
    return found


def sha256(file: Path | str) -> str:
    """Raises Unreadable with a sentence when the file cannot be read."""
    try:
        with open_regular(file) as content:
            return hashlib.file_digest(content, "sha256").hexdigest()
    except OSError as error:
        raise Unreadable(f"{file}: cannot read it: {error.strerror}") from None


def save(record: ProfileRecord, place: Path, profile: Path | None) -> None:
    """At `place` (X.heaptrack.json), with `profile` as `record.file` beside it; replaces what was there.

    Both are whole before either takes its name, the profile first. Raises OSError when they cannot be written."""
    with ExitStack() as made:  # which is left in reverse order
        write(made.enter_context(atomic_file.replace_file(place)), io.BytesIO(record.to_json().encode()))
        if profile and record.file:
            with open(profile, "rb") as content:
                write(made.enter_context(atomic_file.replace_file(place.with_name(record.file))), content)


def save_copy(place: Path, file: Path) -> None:
    """Put a copy of `file` at `place`, whole or not at all. Raises OSError when it cannot be written."""
    with open(file, "rb") as content, atomic_file.replace_file(place) as beside:
        write(beside, content)


def write(file: Path, content: BinaryIO) -> None:
    """Write what is left of the content, and wait until it is on the disk."""
    with open(file, "wb") as made:
        shutil.copyfileobj(content, made)
        made.flush()
        os.fsync(made.fileno())
