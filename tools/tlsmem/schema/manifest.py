"""The manifest of a sealed recording: what its files hold, by which a changed or missing one is found."""

import hashlib
from functools import lru_cache
from pathlib import Path
from typing import Literal, Self

from pydantic import Field, NonNegativeInt, PositiveInt, ValidationError

from tlsmem.base.errors import UserError
from tlsmem.base.repository import MANIFEST
from tlsmem.schema.harness_output import Model, describe_error
from tlsmem.schema.run_origins import Machine, Sha256


class BadRecording(UserError):
    """A recording that cannot be read, as one sentence with the file, the line if one is wrong, and a way out."""

    status = 2


class SealedFile(Model):
    """What one file of a sealed recording holds: digest and size of its plain content, and its number of records."""

    sha256: Sha256
    plain_bytes: PositiveInt
    records: NonNegativeInt

    @classmethod
    def from_content(cls, content: bytes, records: int) -> Self:
        """Return the entry of a file with this plain content."""
        return cls(sha256=hashlib.sha256(content).hexdigest(), plain_bytes=len(content), records=records)

    def matches(self, content: bytes) -> bool:
        """Return whether this plain content has the size and the digest of the entry."""
        return (self.plain_bytes, self.sha256) == (len(content), hashlib.sha256(content).hexdigest())


class Manifest(Model):
    """What a sealed recording holds, as its file manifest.json says it."""

    manifest: Literal[1] = 1  # the version of this form
    records: NonNegativeInt
    statuses: dict[str, PositiveInt]  # records by status
    scenarios: dict[str, PositiveInt]
    commits: dict[str, PositiveInt]  # of this project, by which the records were made
    machines: list[Machine]
    first_started_at: str | None
    last_started_at: str | None
    files: dict[str, SealedFile] = Field(min_length=1)  # by the sealed file's name
    directories: list[str] = Field(default=[])  # below it, sealed with manifests of their own: of live runs

    def text(self) -> str:
        """Return the content of manifest.json."""
        return self.model_dump_json(indent=1, exclude=set() if self.directories else {"directories"}) + "\n"


def load_manifest(directory: Path) -> Manifest | None:
    """Return the recording's manifest, or None where it is not sealed.

    Raises BadRecording when there is a manifest that cannot be read."""
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
    """Read a manifest, once for all files of a recording as long as `_version`, its time and size, is the same.

    Raises BadRecording."""
    try:
        return Manifest.model_validate_json(file.read_bytes())
    except OSError as error:
        raise BadRecording(f"{file}: cannot read the recording's manifest: {error.strerror}") from None
    except ValidationError as error:
        raise BadRecording(
            f"{file}: not the manifest of a sealed recording: {describe_error(error)}; restore it from git or a copy"
        ) from None
