"""What a command does when it is told to end. Standard library only."""

import signal
from types import FrameType
from typing import NoReturn

SIGNALS = (signal.SIGTERM, signal.SIGHUP)


class Terminated(KeyboardInterrupt):
    """A signal told the command to end; its exit status is then 128 and the signal's number.

    Like Ctrl-C it is no Exception: nothing on the way out takes it for an error, and asyncio passes it on."""

    def __init__(self, number: int) -> None:
        super().__init__(signal.strsignal(number))
        self.status = 128 + number


def terminate(number: int, _: FrameType | None) -> NoReturn:
    """Raise Terminated, once: `timeout` sends its signal twice, and the second would interrupt the end of what was
    started."""
    for one in SIGNALS:
        signal.signal(one, signal.SIG_IGN)
    raise Terminated(number)


def end_on_signals() -> None:
    """Let SIGTERM, and SIGHUP unless nohup ignores it, raise Terminated, so that what was started ends with it."""
    for one in SIGNALS:
        if signal.getsignal(one) is not signal.SIG_IGN:
            signal.signal(one, terminate)
