"""Files of memray, each read in a fork of one process that has imported memray: a hundred times as many a second.

`BatchReader.run` stands for the subprocess.run of tlsmem.profile.memray_reader. What a fork does is what that process
does: memray_records.py with its limits. As a script it is that one process: it is told a file a line, and answers with
the status, the peak memory and what was printed."""

import json
import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from types import TracebackType
from typing import Any, Self


class BatchReader:
    DEVNULL, TimeoutExpired = subprocess.DEVNULL, subprocess.TimeoutExpired

    def __init__(self, folder: Path, records: Path) -> None:
        self.peak_bytes = 0  # of memory, in any of the forks
        command = [sys.executable, "-P", __file__, records.parent, records.stem, folder]
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, _: TracebackType | None) -> None:
        self.process.communicate()

    def run(self, command: Sequence[str], **_: object) -> subprocess.CompletedProcess[bytes]:
        assert self.process.stdin and self.process.stdout
        self.process.stdin.write(json.dumps(command[-1]) + "\n")
        self.process.stdin.flush()
        told = json.loads(self.process.stdout.readline())
        self.peak_bytes = max(self.peak_bytes, told["peak_bytes"])
        texts = (Path(told[name]).read_bytes() for name in ("stdout", "stderr"))
        return subprocess.CompletedProcess(command, told["status"], *texts)


def answer(records: Any, file: str, folder: Path) -> dict[str, object]:
    """Read one file in a fork."""
    ends = [folder / "stdout", folder / "stderr"]
    child = os.fork()
    if not child:
        status = 1
        try:
            for number, end in enumerate(ends, 1):
                os.dup2(os.open(end, os.O_WRONLY | os.O_CREAT | os.O_TRUNC), number)
            sys.argv[1:] = [file]
            status = records.main()
            sys.stdout.flush()
            sys.stderr.flush()
        finally:
            os._exit(status)
    _, ended, usage = os.wait4(child, 0)
    told = {"status": os.waitstatus_to_exitcode(ended), "peak_bytes": usage.ru_maxrss << 10}
    return told | {"stdout": str(ends[0]), "stderr": str(ends[1])}


def main() -> None:
    import importlib

    import memray  # noqa: F401  forks have it

    folder, module, answers = sys.argv[1:]
    sys.path.append(folder)
    records = importlib.import_module(module)
    for line in sys.stdin:
        print(json.dumps(answer(records, json.loads(line), Path(answers))), flush=True)


if __name__ == "__main__":
    main()
