"""How everything is compiled: one place, and part of every record."""

import re

from tlsmem.build import commands

# Whole call stacks for every profiler; the optimisation level is the project's own.
CFLAGS = "-g1 -fno-omit-frame-pointer -fno-optimize-sibling-calls"
DRIVER_CFLAGS = f"-std=gnu11 -O2 {CFLAGS} -Wall -Wextra"
CPP_STANDARD = "-std=c++20"  # in its place, of drivers in C++
RUSTFLAGS = "-C force-frame-pointers=yes"


CXX = {"gcc": "g++", "clang": "clang++"}
ITS_OWN = {"gcc": "", "clang": " -gdwarf-4"}  # valgrind 3.19 does not read clang's DWARF 5


def cflags(compiler: str) -> str:
    return CFLAGS + ITS_OWN[compiler]


def driver_cflags(compiler: str) -> str:
    return DRIVER_CFLAGS + ITS_OWN[compiler]


def compiler_version(compiler: str) -> str:
    """Of gcc or of clang: `gcc 12.2.0`."""
    asked = {"gcc": ["-dumpfullversion"], "clang": ["-dumpversion"]}[compiler]
    return f"{compiler} {commands.read_output([compiler, *asked])}"


def rustc() -> str:
    """Its release: `rustc 1.90.0`. Raises BuildFailed when it is not installed or names none."""
    said = commands.read_output(["rustc", "--version"])
    if not (found := re.match(r"rustc \S+", said)):
        raise commands.BuildFailed(
            f"`rustc --version` names no release: {said or 'it says nothing'}; install Rust again"
        )
    return found[0]
