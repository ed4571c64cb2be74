"""Names of functions as they are written in source, the same from build to build."""

import os
import re
import subprocess
from collections.abc import Iterable

CXXFILT = ["c++filt"]
LIMIT_S = 60
STAY_MANGLED = "functions have mangled names"  # in each sentence that says so
MANGLED = re.compile(r"_(R|ZN?)[0-9A-Za-z_.$]+")
HASH = re.compile(r"::h[0-9a-f]{16}$")  # of legacy Rust, one per build
CRATE = re.compile(r"(?<=\w)\[[0-9a-f]{8,16}\](?=::)")  # of Rust's v0: which of all crates of that name
ESCAPE = re.compile(r"\$(?:([A-Z]{1,2})|u([0-9a-f]{1,6}))\$")
ESCAPES = {"SP": "@", "BP": "*", "RF": "&", "LT": "<", "GT": ">", "LP": "(", "RP": ")", "C": ","}
UNIQUE = re.compile(r"\.llvm\.[0-9]+$")


def demangle_names(names: Iterable[str]) -> tuple[dict[str, str], str | None]:
    """By name as a tool tells it; and a sentence when c++filt is missing, so that names stay as they are."""
    names = list(dict.fromkeys(names))
    mangled = [name for name in names if MANGLED.fullmatch(name)]
    told, missing = run_cxxfilt(mangled) if mangled else ({}, None)
    return {name: normalise_name(told.get(name, name)) for name in names}, missing


def run_cxxfilt(mangled: list[str]) -> tuple[dict[str, str], str | None]:
    """c++filt takes a name a line and gives a line for each."""
    try:
        with open(os.memfd_create("names"), "w+") as names:  # no pipe: a tool that breaks it would end its caller
            names.writelines(f"{name}\n" for name in mangled)
            names.seek(0)
            done = subprocess.run(CXXFILT, stdin=names, capture_output=True, text=True, timeout=LIMIT_S, check=True)
    except FileNotFoundError:
        return {}, f"{len(mangled)} {STAY_MANGLED}, since c++filt is missing: apt install binutils"
    except (OSError, subprocess.SubprocessError) as error:
        return {}, f"{len(mangled)} {STAY_MANGLED}, since c++filt fails: {error}"
    found = done.stdout.splitlines()
    if len(found) != len(mangled):
        return {}, f"{len(mangled)} {STAY_MANGLED}, since c++filt told of {len(found)} only"
    return dict(zip(mangled, found, strict=True)), None


def normalise_name(name: str) -> str:
    """Without what differs between builds; and with what heaptrack 1.4, which knows C++ only, leaves of legacy Rust."""
    return CRATE.sub("", legacy(UNIQUE.sub("", name)))


def legacy(name: str) -> str:
    """`_$LT$T$u20$as$u20$a..B$GT$::c::h0123456789abcdef` is `<T as a::B>::c`. A C++ name has neither hash nor $."""
    bare = HASH.sub("", name)
    if bare == name and not ESCAPE.search(name):
        return name
    parts = (part[1:] if part.startswith("_$") else part for part in bare.split("::"))
    return ESCAPE.sub(unescaped, "::".join(parts).replace("..", "::"))


def unescaped(escape: re.Match[str]) -> str:
    name, code = escape.groups()
    if name:
        return ESCAPES.get(name, escape[0])
    point = int(code, 16)
    return chr(point) if 32 <= point < 0x110000 and not 0xD800 <= point < 0xE000 else escape[0]
