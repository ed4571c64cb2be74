"""The manifest of a sealed recording: what its files hold, by which a changed or missing one is found."""

import hashlib
from functools import lru_cache
from pathlib import Path
from typing import Literal, Self

from pydantic import Field, NonNegativeInt, PositiveInt, ValidationError

from tlsmem.base.printable import printable_text
from tlsmem.base.repository import MANIFEST
from tlsmem.schema.harness_output import Model, describe_error
from tlsmem.schema.run_origins import Machine, Sha256


class BadRecording(SystemExit):
    """One sentence that names the file, the line if it is of one, and a way out; commands end with it."""

    def __init__(self, sentence: str) -> None:
        super().__init__(printable_text(sentence))


class SealedFile(Model):
    """Of the plain content, which unpacking the sealed file gives back byte by byte."""

    sha256: Sha256
    plain_bytes: PositiveInt
    records: NonNegativeInt

    @classmethod
    def of(cls, content: bytes, records: int) -> Self:
        return cls(sha256=hashlib.sha256(content).hexdigest(), plain_bytes=len(content), records=records)

    def matches(self, content: bytes) -> bool:
        return (self.plain_bytes, self.sha256) == (len(content), hashlib.sha256(content).hexdigest())


class Manifest(Model):
    manifest: Literal[1] = 1  # the version of this form
    records: NonNegativeInt
    statuses: dict[str, PositiveInt]  # records by status
    scenarios: dict[str, PositiveInt]
    commits: dict[str, PositiveInt]  # of this project, by which the records were made
    machines: list[Machine]
    first_started_at: str | None
    last_started_at: str | None
    files: dict[str, SealedFile] = Field(min_length=1)  # by the sealed file's name

    def text(self) -> str:
        return self.model_dump_json(indent=1) + "\n"


def load_manifest(directory: Path) -> Manifest | None:
    """None where the recording is not sealed. BadRecording when the manifest cannot be read."""
    file = directory / MANIFEST
    try:
        status = file.stat()
    except (FileNotFoundError, NotADirectoryError):
        return None
    except OSError as error:
        raise BadRecording(f"{file}: cannot read the recording's manifest: {error.strerror}") from None
    return read_manifest(file, status.st_mtime_ns, status.st_size)


@lru_cache(maxsize=64)
def read_manifest(file: Path, *_version: int) -> Manifest:
    """Once for all files of a recording, as long as it does not change."""
    try:
        return Manifest.model_validate_json(file.read_bytes())
    except OSError as error:
        raise BadRecording(f"{file}: cannot read the recording's manifest: {error.strerror}") from None
    except ValidationError as error:
        raise BadRecording(
            f"{file}: not the manifest of a sealed recording: {describe_error(error)}; restore it from git or a copy"
        ) from None
