"""A long command: its output goes to a log, a sign of life to the terminal, and a failure says where to look."""

import os
import shlex
import signal
import subprocess
import time
from collections.abc import Sequence
from pathlib import Path

import rich.console
from rich.progress import BarColumn, Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

CONSOLE = rich.console.Console(stderr=True, highlight=False)
LAST_LINES = 15
COMPILES = b" -c "  # in a compiler's command line, as make prints it
SECONDS_BETWEEN_LINES = 15  # where there is no terminal, as in a CI log

# The same input is the same binary: a build sees no compiler, flags or make variables of whoever calls it, and a fixed
# date. That it does not name the clone that it was made in is seen to by stack_c.py and stack_rust.py.
FIXED = {"LC_ALL": "C.UTF-8", "SOURCE_DATE_EPOCH": "0"}
PASSED = {"PATH", "HOME", "TMPDIR", "TERM", "SSL_CERT_FILE", "SSL_CERT_DIR", "PKG_CONFIG_PATH", "CARGO_HOME"}
PASSED_PREFIXES = ("RUSTUP_", "CARGO_NET_", "CARGO_HTTP_", "CARGO_REGISTR", "CARGO_SOURCE_", "APT_CONFIG")
PROXIES = {"HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "NO_PROXY"}


class Failed(Exception):
    """What went wrong, ready to be shown to a person."""


class Unavailable(Failed):
    """What is not to be had, here or any more; nothing is broken, and the others can be made."""


def environment(**more: str) -> dict[str, str]:
    """Of a build: the few variables that reach the network and the tools, and `more`."""
    kept = {
        name: value
        for name, value in os.environ.items()
        if name in PASSED or name.upper() in PROXIES or name.startswith(PASSED_PREFIXES)
    }
    return kept | FIXED | more


def output(command: Sequence[str], where: Path | None = None) -> str:
    """What a short command prints; Failed when it is missing or fails."""
    try:
        done = subprocess.run(command, cwd=where, env=environment(), capture_output=True, text=True, check=True)
    except FileNotFoundError:
        raise Failed(f"{command[0]} is not installed") from None
    except subprocess.CalledProcessError as error:
        raise Failed(f"`{shlex.join(command)}` failed: {error.stderr.strip()}") from None
    return done.stdout.strip()


class Sign:
    """Of life: a bar on a terminal, else a line now and then."""

    def __init__(self, title: str, total: int | None):
        self.title, self.total, self.started = title, total, time.monotonic()
        self.said = self.started
        columns = (SpinnerColumn(), TextColumn("{task.description}"), BarColumn(), TimeElapsedColumn())
        self.bar = Progress(*columns, console=CONSOLE, transient=True) if CONSOLE.is_terminal else None

    def __enter__(self) -> "Sign":
        CONSOLE.print(f"{self.title} ...")
        if self.bar:
            self.bar.start()
            self.task = self.bar.add_task("", total=self.total)
        return self

    def __exit__(self, kind, *_) -> None:
        if self.bar:
            self.bar.stop()
        CONSOLE.print(f"{self.title}: {'stopped' if kind else 'done'} after {time.monotonic() - self.started:.0f} s")

    def update(self, compiled: int) -> None:
        if self.bar:
            self.bar.update(self.task, completed=compiled, description=self.compiled(compiled))
        elif time.monotonic() - self.said > SECONDS_BETWEEN_LINES:
            self.said = time.monotonic()
            said = filter(None, (f"{self.said - self.started:.0f} s", self.compiled(compiled)))
            CONSOLE.print(f"{self.title}: {', '.join(said)}")

    def compiled(self, files: int) -> str:
        return f"{files} of {self.total} files" if self.total else ""


def run(command: Sequence[str], log: Path, title: str, where: Path, total: int | None = None, **more: str) -> None:
    """Runs to the end, its output after what the log holds; `total` is how many files it is expected to compile.

    `more` is added to the environment. Failed has the command, the last lines and the log's path."""
    log.parent.mkdir(parents=True, exist_ok=True)
    with open(log, "ab") as kept:
        kept.write(f"$ {shlex.join(command)}\n".encode())
        kept.flush()
        start = kept.tell()
        try:
            process = subprocess.Popen(
                command, cwd=where, env=environment(**more), stdin=subprocess.DEVNULL,
                stdout=kept, stderr=subprocess.STDOUT, start_new_session=True,
            )  # fmt: skip
        except OSError as error:
            raise Failed(f"{title}: `{command[0]}` cannot be run: {error.strerror}") from None
        with Sign(title, total) as sign:
            status = wait(process, log, start, sign)
    if status:
        raise Failed(f"{title}: `{shlex.join(command)}` failed ({ended(status)}).\n{end_of(log)}")


def wait(process: subprocess.Popen, log: Path, start: int, sign: Sign) -> int:
    """The exit status; however this function is left, the command and its children have ended."""
    compiled = 0
    try:
        with open(log, "rb") as written:
            written.seek(start)
            while process.poll() is None:
                compiled += written.read().count(COMPILES)
                sign.update(compiled)
                time.sleep(0.1)
        return process.returncode
    finally:
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()


def ended(status: int) -> str:
    return f"exit {status}" if status > 0 else signal.Signals(-status).name


def end_of(log: Path) -> str:
    last = log.read_text(errors="replace").splitlines()[-LAST_LINES:]
    return "\n".join([*(f"    {line}" for line in last), f"The whole log: {log}"])
