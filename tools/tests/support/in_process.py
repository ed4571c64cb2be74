"""Commands in the process of the test, as cli.main.run ends them."""

from collections.abc import Callable

import pytest

from tlsmem.cli.main import run


def exit_status(main: Callable[[], int | None]) -> int:
    """Call a command and return its exit status; its error is printed on stderr."""
    with pytest.raises(SystemExit) as end:
        run(main)
    return end.value.code or 0
