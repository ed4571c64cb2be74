"""What a command does when it is told to end. Standard library only."""

import signal
import sys
from types import FrameType
from typing import NoReturn

SIGNALS = (signal.SIGTERM, signal.SIGHUP)


def leave(number: int, _: FrameType | None) -> NoReturn:
    """Exit with 128 and the signal's number, once: `timeout` sends its signal twice, and the second would interrupt
    the end of what was started."""
    for one in SIGNALS:
        signal.signal(one, signal.SIG_IGN)
    sys.exit(128 + number)


def exit_on_signals() -> None:
    """SIGTERM, and SIGHUP unless nohup ignores it, leave by SystemExit, so that what was started ends with it."""
    for one in SIGNALS:
        if signal.getsignal(one) is not signal.SIG_IGN:
            signal.signal(one, leave)
