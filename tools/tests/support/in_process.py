"""Commands in the process of the test, as cli.main.run ends them."""

import signal
from collections.abc import Callable

import pytest

from tlsmem.cli.main import run

SIGNALS = (signal.SIGPIPE, signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


def exit_status(main: Callable[[], int | None]) -> int:
    """Call a command and return its exit status; its error is printed on stderr. Signals do afterwards what they did
    before."""
    kept = {one: signal.getsignal(one) for one in SIGNALS}
    try:
        with pytest.raises(SystemExit) as end:
            run(main)
    finally:
        for one, handler in kept.items():
            signal.signal(one, handler)
    return end.value.code or 0
