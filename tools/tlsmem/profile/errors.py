"""Errors of reading and of capturing a heap profile."""

from tlsmem.base.errors import Usage, UserError


class Unreadable(Usage):
    """The file is not there, not of its kind, of another version, or cut off: one sentence, which names it."""


class CaptureFailed(UserError):
    """One sentence, which begins with what it is about."""


class CaptureTimeout(CaptureFailed):
    """Killed at its time limit: the command knows how to give it more."""
