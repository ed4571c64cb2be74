"""Whoever reads what heap.py reports may go, or have a full disk; the command is followed to its end nevertheless."""

import os
from collections.abc import Callable
from typing import TextIO


class Listener:
    """A stream whose first error is kept in `gone` and ends what is written to it: the rest is dropped."""

    def __init__(self, stream: TextIO) -> None:
        self.stream = stream
        self.gone: OSError | None = None
        self.encoding, self.isatty, self.fileno = stream.encoding, stream.isatty, stream.fileno

    def write(self, text: str) -> int:
        self.attempt(lambda: self.stream.write(text))
        return len(text)

    def flush(self) -> None:
        self.attempt(self.stream.flush)

    def attempt(self, work: Callable[[], object]) -> None:
        try:
            work()
        except OSError as error:
            self.gone = error
            nowhere = os.open(os.devnull, os.O_WRONLY)  # else Python tries again when it closes the stream
            os.dup2(nowhere, self.stream.fileno())
            os.close(nowhere)
