"""The profilers that are not ours: whether the installed one will do, and the command that runs a harness under it.

Folders and libraries in a command are as given; everything else is found by PATH."""

import os
import re
import shutil
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from tlsmem.profile.errors import CaptureFailed
from tlsmem.profile.heap_profile import CapturedTool

MARKS_LIBRARY = "build/core/libmarks.so"  # below the root
NO_ASLR_COMMAND = ("setarch", "--addr-no-randomize")
VERSION_LIMIT_S = 20
LIBEXEC = re.compile(r'^LIBEXEC_REL_PATH="(.+)"$', re.MULTILINE)  # in the script that heaptrack is

# Depth: OpenSSL's deepest stack has 44 frames, which 30, the default, would cut; deeper trees cost nothing. No detailed
# snapshots but those that are asked for, and the peak.
MASSIF = (
    *("--peak-inaccuracy=0", "--time-unit=B", "--threshold=0", "--depth=100"),
    *("--max-snapshots=10", "--detailed-freq=1000000"),
)
# It tells what is live at the very end. Of a stack it has twelve calls unless asked for more.
DHAT = ("--run-libc-freeres=no", "--run-cxx-freeres=no", "--num-callers=128")


@dataclass(frozen=True)
class Profiler:
    tool: CapturedTool
    package: str  # Debian's; it brings a command of its name
    oldest: tuple[int, int]

    def version(self) -> str:
        """Of the installed one. Raises CaptureFailed when there is none, or it is too old."""
        if not shutil.which(self.package):
            raise CaptureFailed(
                f"{self.package}: it is not installed; install it with: sudo apt-get install -y {self.package}"
            )
        try:
            done = subprocess.run(
                [self.package, "--version"], capture_output=True, text=True, errors="replace", timeout=VERSION_LIMIT_S
            )
        except (OSError, subprocess.TimeoutExpired):
            raise CaptureFailed(
                f"{self.package}: `{self.package} --version` tells nothing; is it installed whole?"
            ) from None
        found = re.search(r"\d+(\.\d+)+", done.stdout)
        least = ".".join(map(str, self.oldest))
        if not found:
            raise CaptureFailed(
                f"{self.package}: `{self.package} --version` names no version; {least} or later is needed"
            )
        if numbers(found[0]) < self.oldest:
            raise CaptureFailed(f"{self.package}: version {found[0]} is installed, and {least} or later is needed")
        return found[0]


PROFILERS = {
    "heaptrack": Profiler("heaptrack", "heaptrack", (1, 4)),
    "massif": Profiler("massif", "valgrind", (3, 19)),
    "dhat": Profiler("dhat", "valgrind", (3, 19)),
}


def numbers(version: str) -> tuple[int, ...]:
    return tuple(map(int, version.split(".")))


def no_aslr_command() -> tuple[str, ...]:
    """What comes before the profiler: a harness that switches randomisation off itself starts itself again, out of the
    profiler's sight. Nothing where setarch may not."""
    try:
        done = subprocess.run([*NO_ASLR_COMMAND, "true"], capture_output=True, timeout=VERSION_LIMIT_S)
    except (OSError, subprocess.TimeoutExpired):
        return ()
    return () if done.returncode else NO_ASLR_COMMAND


def find_interpreter() -> Path:
    """heaptrack's, which has no command of its own before 1.6. Raises CaptureFailed when it is not there."""
    heaptrack = Path(shutil.which("heaptrack") or "heaptrack").resolve()
    try:
        told = LIBEXEC.search(heaptrack.read_text(errors="replace"))
    except OSError:
        told = None
    found = heaptrack.parent / (told[1] if told else "../lib/heaptrack/libexec") / "heaptrack_interpret"
    if not os.access(found, os.X_OK):
        place = os.path.normpath(found)
        raise CaptureFailed(f"heaptrack: its interpreter is not there, {place}: install heaptrack again, whole")
    return found


def profiler_command(tool: CapturedTool, folder: Path, before: Sequence[str], harness: Sequence[str]) -> list[str]:
    """`harness` under the tool, which writes into `folder`; heaptrack raw, for heaptrack_interpreter.py."""
    if tool == "heaptrack":
        return [*before, "heaptrack", "--raw", "--output", f"{folder}/heaptrack", *harness]
    valgrind = [*before, "valgrind", "--quiet", "--vgdb=no"]  # no pipes in /tmp, which one that is killed would leave
    if tool == "massif":
        marks = ["env", f"LD_PRELOAD={MARKS_LIBRARY}", f"MARKS_DIRECTORY={folder}", "MARKS_XTREE=1"]
        return [*marks, *valgrind, "--tool=massif", *MASSIF, f"--massif-out-file={folder}/whole", *harness]
    return [
        "env",
        f"LD_PRELOAD={MARKS_LIBRARY}",
        *valgrind,
        "--tool=dhat",
        *DHAT,
        f"--dhat-out-file={folder}/dhat",
        *harness,
    ]


def invisible_reason(binary: Path) -> str | None:
    """Why heaptrack cannot see the program's memory: it would wait for ever for a malloc of the C library."""
    for words in (["nm", "--defined-only"], ["nm", "--defined-only", "--dynamic"]):
        try:
            listed = subprocess.run([*words, str(binary)], capture_output=True, text=True, errors="replace").stdout
        except OSError:
            return None  # no binutils: the time limit is left
        if re.search(r" [TWti] malloc$", listed, re.MULTILINE):
            return f"{binary.name} defines malloc itself, and heaptrack sees the C library's only"
    return None
