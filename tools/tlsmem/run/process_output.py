"""What a process prints, through a pipe of our own: asyncio would wait for the end of one of its pipes, and an orphan
of the process may hold that open for as long as it likes."""

import asyncio
import os
from collections.abc import Callable

MIB = 1024 * 1024
OUTPUT_BYTES = 16 * MIB  # a memory run prints about 30 KB


class Output:
    """`content` is what was printed so far; what is still in the pipe is taken when the `with` ends."""

    def __init__(self) -> None:
        self.content, self.flooded = bytearray(), False
        self.exit, self.entrance = os.pipe()
        os.set_blocking(self.exit, False)

    def __enter__(self) -> "Output":
        return self

    def __exit__(self, *_: object) -> None:
        asyncio.get_running_loop().remove_reader(self.exit)
        while not self.flooded and self.take():
            pass
        for end in (self.exit, self.entrance):
            os.close(end)

    def follow(self, on_flood: Callable[[], None]) -> None:
        """Reads as it comes."""

        def ready() -> None:
            self.take()
            if self.flooded:
                on_flood()

        asyncio.get_running_loop().add_reader(self.exit, ready)

    def take(self) -> bool:
        """One chunk; False when there is none."""
        try:
            chunk = os.read(self.exit, 65536)
        except BlockingIOError:
            return False
        self.content += chunk
        self.flooded |= len(self.content) > OUTPUT_BYTES
        return bool(chunk)
