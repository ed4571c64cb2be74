"""Errors of reading and of capturing a heap profile."""

from tlsmem.base.printable import printable_text


class Unreadable(ValueError):
    """The file is not there, not of its kind, of another version, or cut off: one sentence, which names it.

    What it quotes of a file may hold anything; signs that would move a terminal's cursor become question marks."""

    def __init__(self, sentence: str) -> None:
        super().__init__(printable_text(sentence))


class CaptureFailed(Exception):
    """One sentence, which begins with what it is about."""


class CaptureTimeout(CaptureFailed):
    """Killed at its time limit: the script knows how to give it more."""
