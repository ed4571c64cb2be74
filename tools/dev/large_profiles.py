"""Heap profiles of 100 MB and more, which the profilers themselves take of programs that allocate from many call
stacks (large_profiles/), and what the profilers' own printers are called."""

import importlib.util
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import NamedTuple

from rich.console import Console

SOURCES = Path(__file__).parent / "large_profiles"
DHAT_VIEWER = Path("/usr/libexec/valgrind/dh_view.js")
LIMIT_S = 1800


class LargeProfile(NamedTuple):
    """A file, how it is taken, and the program that prints it. `needs` are commands."""

    name: str
    file: Path
    needs: tuple[str, ...]
    build: tuple[str, ...]
    take: tuple[str, ...]
    printer: tuple[str, ...]
    environment: Mapping[str, str] = {}


def list_profiles(folder: Path, scale: float = 1) -> list[LargeProfile]:
    """Return those that can be taken here, in `folder`. With a scale below 1 they are smaller."""

    def count(*numbers: int) -> tuple[str, ...]:
        return tuple(str(max(int(number * scale), 10)) for number in numbers)

    program, go_program, python_program = folder / "many_stacks", folder / "many_stacks_go", SOURCES / "many_stacks.py"
    source, go_source = SOURCES / "many_stacks.c", SOURCES / "many_stacks.go"
    build = ("gcc", "-O1", "-g1", "-fno-omit-frame-pointer", "-o", str(program), str(source))
    heaptrack, massif, dhat, pprof, jemalloc, memray = (
        folder / name for name in ("heaptrack", "massif", "dhat.json", "pprof.pb.gz", "jemalloc.heap", "memray.bin")
    )
    massif_options = ["--detailed-freq=1", "--max-snapshots=200", "--threshold=0", "--depth=100", "--peak-inaccuracy=0"]
    jemalloc_options = f"prof:true,lg_prof_sample:0,prof_final:true,prof_accum:true,prof_prefix:{jemalloc}"
    profiles = [
        LargeProfile(
            "heaptrack",
            heaptrack.with_suffix(".zst"),
            ("heaptrack", "heaptrack_print"),
            build,
            ("heaptrack", "-o", str(heaptrack), str(program), *count(50_000, 12_000_000, 50_000)),
            ("heaptrack_print", str(heaptrack.with_suffix(".zst"))),
        ),
        LargeProfile(
            "massif",
            massif,
            ("valgrind", "ms_print"),
            build,
            (
                "valgrind",
                "-q",
                "--tool=massif",
                f"--massif-out-file={massif}",
                *massif_options,
                str(program),
                *count(8_000, 400_000, 8_000),
            ),
            ("ms_print", str(massif)),
        ),
        LargeProfile(
            "DHAT",
            dhat,
            ("valgrind", "node"),
            build,
            (
                "valgrind",
                "-q",
                "--tool=dhat",
                f"--dhat-out-file={dhat}",
                "--num-callers=128",
                str(program),
                *count(600_000, 1_200_000, 200_000),
            ),
            ("node", str(SOURCES / "view_dhat.js"), str(DHAT_VIEWER), str(dhat)),
        ),
        LargeProfile(
            "pprof",
            pprof,
            ("go",),
            ("go", "build", "-o", str(go_program), str(go_source)),
            (str(go_program), *count(2_000_000), str(pprof)),
            ("go", "tool", "pprof", "-top", str(pprof)),
        ),
        LargeProfile(
            "jemalloc",
            jemalloc,
            ("jeprof",),
            build,
            (str(program), *count(300_000, 600_000, 150_000)),
            ("jeprof", "--text", str(program), str(jemalloc)),
            {"LD_PRELOAD": "libjemalloc.so.2", "MALLOC_CONF": jemalloc_options},
        ),
        LargeProfile(
            "memray",
            memray,
            (),
            (),
            (
                sys.executable,
                "-m",
                "memray",
                "run",
                "-q",
                "-f",
                "-o",
                str(memray),
                str(python_program),
                *count(50_000, 4_000_000, 50_000),
            ),
            # --leaks: without it, memray does not read what comes after the peak, and heap read shows both.
            (sys.executable, "-m", "memray", "table", "--leaks", "-f", "-o", os.devnull, str(memray)),
        ),
    ]
    has_memray = importlib.util.find_spec("memray") is not None
    return [one for one in profiles if all(map(shutil.which, one.needs)) and (one.name != "memray" or has_memray)]


def take_profiles(folder: Path, scale: float = 1) -> Iterator[LargeProfile]:
    """Yield the profiles, each after it was taken; one whose file is there is not taken again.

    Raises CalledProcessError where a profiler fails."""
    folder.mkdir(parents=True, exist_ok=True)
    for profile in list_profiles(folder.resolve(), scale):
        if not profile.file.exists():
            with Console(stderr=True).status(f"taking a large profile by {profile.name}: minutes"):
                take(profile)
        yield profile


def take(profile: LargeProfile) -> None:
    if profile.build:
        subprocess.run(profile.build, check=True, timeout=LIMIT_S)
    environment = os.environ | profile.environment
    subprocess.run(profile.take, check=True, capture_output=True, timeout=LIMIT_S, env=environment)
    if not profile.file.exists():  # jemalloc adds the process and a number to the name
        (file,) = profile.file.parent.glob(f"{profile.file.name}.*.heap")
        file.rename(profile.file)
