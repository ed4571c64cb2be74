"""Starts the processes of a live run, so that they end with it and no signal is lost meanwhile."""

import os
import signal
import subprocess
from collections.abc import Callable, Mapping, Sequence
from typing import IO

from tlsmem.run.process import die_with_runner

ENDING = (signal.SIGTERM, signal.SIGINT)


def start_child(
    words: Sequence[str],
    last_signal: signal.Signals,
    join: Callable[[int], None] | None = None,
    env: Mapping[str, str] | None = None,
    stdin: int | None = None,
    stdout: int | IO[bytes] | None = None,
    stderr: int | IO[bytes] | None = None,
) -> subprocess.Popen[str]:
    """Start a command that gets `last_signal` when this process ends; `join(pid)` runs in it before. Its pipes are of
    text.

    Python drops the exception of a signal that arrives while it forks, so those that end a run wait until it has."""
    mortal = die_with_runner(os.getpid(), last_signal)

    def arrange() -> None:
        signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C reaches it too; this process ends it
        signal.signal(signal.SIGTERM, signal.SIG_DFL)
        signal.pthread_sigmask(signal.SIG_UNBLOCK, ENDING)
        mortal()
        if join:
            join(os.getpid())

    process = None
    signal.pthread_sigmask(signal.SIG_BLOCK, ENDING)
    try:
        process = subprocess.Popen(
            words, preexec_fn=arrange, env=env, stdin=stdin, stdout=stdout, stderr=stderr, text=True
        )
    finally:
        try:
            signal.pthread_sigmask(signal.SIG_UNBLOCK, ENDING)  # a signal that has waited is raised here
        except BaseException:
            if process:
                process.send_signal(last_signal)
                process.wait()
            raise
    return process
