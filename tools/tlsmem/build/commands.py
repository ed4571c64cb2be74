"""A long command: its output goes to a log, its progress to the terminal, and a failure says where to look."""

import os
import shlex
import signal
import subprocess
import time
from collections.abc import Mapping, Sequence
from pathlib import Path

from tlsmem.base.errors import UserError
from tlsmem.base.printable import printable_text
from tlsmem.build import jobserver, shared_resources
from tlsmem.build.process_group import ProcessGroup
from tlsmem.build.progress import COMPILE_OPTION, CONSOLE, CommandProgress, CompileCounter

__all__ = ["COMPILE_OPTION", "CONSOLE", "BuildFailed", "CommandProgress", "Unavailable", "read_output", "run"]

LAST_LINES = 15

# The same input is the same binary: a build sees no compiler, flags or make variables of whoever calls it, and a fixed
# date. That it does not name the clone that it was made in is seen to by c_stack.py and rust_stack.py.
FIXED_VARIABLES = {"LC_ALL": "C.UTF-8", "SOURCE_DATE_EPOCH": "0"}
PASSED = {"PATH", "HOME", "TMPDIR", "TERM", "SSL_CERT_FILE", "SSL_CERT_DIR", "PKG_CONFIG_PATH", "CARGO_HOME"}
PASSED_PREFIXES = (
    "RUSTUP_",
    "CARGO_NET_",
    "CARGO_HTTP_",
    "CARGO_REGISTR",
    "CARGO_SOURCE_",
    "APT_CONFIG",
    "PIP_",
    "NPM_CONFIG_",
)
PROXIES = {"HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "NO_PROXY"}


class BuildFailed(UserError):
    """A library or program could not be built. The last lines of its log may follow the sentence."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.args = ("\n".join(map(printable_text, text.expandtabs().split("\n"))),)


class Unavailable(BuildFailed):
    """What is not to be had, here or any more; nothing is broken, and the others can be made."""


def environment(more: Mapping[str, str] | None = None) -> dict[str, str]:
    """Of a build: the few variables that reach the network and the tools, and `more`."""
    kept = {
        name: value
        for name, value in os.environ.items()
        if name in PASSED or name.upper() in PROXIES or name.startswith(PASSED_PREFIXES)
    }
    return kept | FIXED_VARIABLES | dict(more or {})


def read_output(command: Sequence[str], where: Path | None = None, more: Mapping[str, str] | None = None) -> str:
    """What a short command prints; raises BuildFailed when it is missing or fails. `more` is added to the
    environment."""
    try:
        done = subprocess.run(command, cwd=where, env=environment(more), capture_output=True, text=True, check=True)
    except FileNotFoundError:
        raise BuildFailed(f"{command[0]} is not installed") from None
    except subprocess.CalledProcessError as error:
        raise BuildFailed(f"`{shlex.join(command)}` failed: {error.stderr.strip()}") from None
    return done.stdout.strip()


def read_both_outputs(command: Sequence[str]) -> str:
    """Return all that a short command prints, whatever its exit status. Raises BuildFailed when it is missing."""
    try:
        done = subprocess.run(command, env=environment(), stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    except OSError as error:
        raise BuildFailed(f"{command[0]} cannot be run: {error.strerror}") from None
    return done.stdout


def run(
    command: Sequence[str],
    log: Path,
    title: str,
    where: Path,
    total: int | None = None,
    more: Mapping[str, str] | None = None,
) -> None:
    """Runs to the end, its output after what the log holds; `total` is how many files it is expected to compile.

    It holds a token of the jobserver and shares the others. `more` is added to the environment. BuildFailed has the
    command, the last lines and the log's path."""
    with jobserver.jobserver().token():
        run_with_token(command, log, title, where, total, more)


def run_with_token(
    command: Sequence[str], log: Path, title: str, where: Path, total: int | None, more: Mapping[str, str] | None
) -> None:
    tokens = jobserver.jobserver()
    variables = environment(more) | tokens.variables(command[0])
    log.parent.mkdir(parents=True, exist_ok=True)
    with open(log, "ab") as kept:
        kept.write(f"$ {shlex.join(command)}\n".encode())
        kept.flush()
        start = kept.tell()
        group = ProcessGroup(command, where, variables, kept, tokens.descriptors)
        with CommandProgress(title, total) as shown:
            status = wait(group, log, start, shown)
    if error := group.start_error():
        raise BuildFailed(f"{title}: `{command[0]}` cannot be run: {error}")
    if status:
        raise BuildFailed(f"{title}: `{shlex.join(command)}` failed ({ended(status)}).\n{end_of(log)}")


def wait(group: ProcessGroup, log: Path, start: int, shown: CommandProgress) -> int:
    """The exit status; however this function is left, the command and its children have ended."""
    counted = CompileCounter(shown.total)
    try:
        with open(log, "rb") as written:
            written.seek(start)
            while (status := group.poll()) is None:
                if shared_resources.stop_requested.is_set():
                    raise shared_resources.BuildStopped
                counted.add(written.read())
                shown.total = counted.total
                shown.update(counted.done)
                time.sleep(0.1)
        return status
    finally:
        group.kill()


def ended(status: int) -> str:
    return f"exit {status}" if status > 0 else signal.Signals(-status).name


def end_of(log: Path) -> str:
    last = log.read_text(errors="replace").splitlines()[-LAST_LINES:]
    return "\n".join([*(f"    {line}" for line in last), f"The whole log: {log}"])
