"""Errors of reading and of capturing a heap profile."""

from pathlib import Path

from tlsmem.base.errors import Usage, UserError
from tlsmem.base.printable import printable_text


class Unreadable(Usage):
    """The file is not there, not of its kind, of another version, or cut off: one sentence, which names it."""

    def without_file(self, file: Path | str) -> str:
        """Return the sentence without the file's name at its beginning, in which escapes are question marks."""
        return str(self).removeprefix(printable_text(f"{file}: "))


class CaptureFailed(UserError):
    """One sentence, which begins with what it is about."""


class CaptureTimeout(CaptureFailed):
    """Killed at its time limit: the command knows how to give it more."""
