"""Errors of reading and of capturing a heap profile."""


class Unreadable(ValueError):
    """The file is not there, not of its kind, of another version, or cut off: one sentence, which names it."""


class CaptureFailed(Exception):
    """One sentence, which begins with what it is about."""


class CaptureTimeout(CaptureFailed):
    """Killed at its time limit: the script knows how to give it more."""
