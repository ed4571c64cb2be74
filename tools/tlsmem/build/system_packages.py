"""Install the system packages that a purpose needs: `packages.py check`, `packages.py mem --allocator jemalloc`.

Asked is whether the thing is there, not the package: a compiler of one's own will do. What is missing is installed when
root on a system with apt-get, else named in one line that can be pasted (exit 1). Standard library only.
"""

import argparse
import os
import re
import shutil
import subprocess
import sys
import threading
from collections.abc import Callable, Iterable
from functools import partial

from tlsmem.config import option_check

BUILD_PACKAGES = ["gcc", "libc6-dev", "make", "python3-venv", "libunwind8"]
PURPOSES = {
    "mem": BUILD_PACKAGES,
    "timed": [*BUILD_PACKAGES, "valgrind"],  # callgrind, that is
    "selfcheck": ["valgrind", "heaptrack"],
    "check": ["libcmocka-dev", "clang-format", "pkg-config", "libssl-dev", "npm"],
    "check-nginx": ["nginx-light"],
    "check-pages": ["python3-venv", "chromium", "npm"],
    "compare": BUILD_PACKAGES,
    "profile": BUILD_PACKAGES,  # and the tool's
}
PROFILERS = {"sites": [], "heaptrack": ["heaptrack"], "massif": ["valgrind"], "dhat": ["valgrind"]}
TAKEN = ("STACKS", "PREFIX", "CLIENT", "SERVER", "ALLOCATOR")
OLDEST_CARGO = (1, 85)  # what jobserver and zeroize, below rustls 0.23.46, declare


def succeeds(*command: str) -> bool:
    try:
        return subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True).returncode == 0
    except OSError:
        return False


def has_header(name: str) -> bool:
    return succeeds("gcc", "-E", "-include", name, "-x", "c", "/dev/null")


def has_library(name: str) -> bool:
    """As the dynamic loader finds it."""
    try:
        known = subprocess.run(["/sbin/ldconfig", "-p"], capture_output=True, text=True).stdout
    except OSError:
        return False
    return any(line.split()[0].startswith(name) for line in known.splitlines() if line.startswith("\t"))


# Package: is what it brings there? A package that is not listed brings a command of its name.
PRESENT: dict[str, Callable[[], object]] = {
    "libc6-dev": partial(has_header, "stdio.h"),
    "libcmocka-dev": partial(has_header, "cmocka.h"),
    "libgmp-dev": partial(has_header, "gmp.h"),
    "libgnutls28-dev": partial(has_header, "gnutls/gnutls.h"),
    "libunwind8": partial(has_library, "libunwind.so.8"),
    "libssl-dev": partial(has_header, "openssl/ssl.h"),
    "nettle-dev": partial(has_header, "nettle/version.h"),
    "python3-venv": partial(succeeds, "python3", "-c", "import ensurepip, venv"),
    "valgrind": lambda: shutil.which("valgrind") is not None and has_header("valgrind/valgrind.h"),
    "nginx-light": partial(shutil.which, "nginx", path=f"{os.environ.get('PATH', os.defpath)}:/usr/sbin"),
    "ninja-build": partial(shutil.which, "ninja"),
    "perl": partial(succeeds, "perl", "-MFindBin", "-MIPC::Cmd", "-MPod::Usage", "-e", "1"),
}

INSTALLING = threading.Lock()


def allocator_packages(name: str) -> list[str]:
    """The package of an allocator of memtest/allocators.toml; none for the system's. ValueError when half is said."""
    entry = option_check.read_tables("allocators")[name]
    there = [key for key in ("package", "library") if entry.get(key)]
    if not there:
        return []
    if len(there) == 1 or not all(isinstance(entry[key], str) for key in there):
        raise ValueError(f"memtest/allocators.toml: [{name}]: package and library come together, as text")
    PRESENT[entry["package"]] = partial(has_library, entry["library"])
    return [entry["package"]]


def missing(packages: Iterable[str]) -> list[str]:
    return [name for name in packages if not PRESENT.get(name, lambda name=name: shutil.which(name) is not None)()]


def require_packages(packages: Iterable[str]) -> None:
    """ValueError with one sentence when something is missing and cannot be installed. One at a time, as apt-get is."""
    with INSTALLING:
        require_alone(packages)


def require_alone(packages: Iterable[str]) -> None:
    wanted = missing(packages)
    if not wanted:
        return
    if os.geteuid() != 0 or not shutil.which("apt-get"):
        raise ValueError(f"missing system packages; install them with: sudo apt-get install -y {' '.join(wanted)}")
    print(f"packages: installing {' '.join(wanted)}", file=sys.stderr)
    apt("update", "-q")
    apt("install", "-q", "-y", "--no-install-recommends", *wanted)
    if missing(wanted):
        raise ValueError(f"{' '.join(missing(wanted))}: apt-get installed it, and yet what it brings is not found")


def apt(*arguments: str) -> None:
    done = subprocess.run(["apt-get", *arguments], env=os.environ | {"DEBIAN_FRONTEND": "noninteractive"}, stdout=2)
    if done.returncode:
        raise ValueError(f"`apt-get {' '.join(arguments)}` failed; its reason is above")


def require_cargo_for(stacks: Iterable[str]) -> None:
    """As require_cargo, when one of these is written in Rust or has its source in a crate."""
    table = option_check.read_tables("stacks")
    if any(table[name].get("harness") == "rust" or "crate" in table[name].get("source", {}) for name in stacks):
        require_cargo()


def require_cargo() -> None:
    """ValueError when cargo is missing or too old (Debian 12's own is 0.66)."""
    oldest = ".".join(map(str, OLDEST_CARGO))
    way_out = f"at least {oldest} is needed: see https://rustup.rs"
    try:
        said = subprocess.run(["cargo", "--version"], capture_output=True, text=True).stdout
    except OSError:
        raise ValueError(f"cargo is not installed; {way_out}") from None
    found = re.match(r"cargo (\d+)\.(\d+)", said)
    if not found or tuple(map(int, found.groups())) < OLDEST_CARGO:
        raise ValueError(f"{said.strip() or 'cargo'} is too old; {way_out}")


def require_linters() -> None:
    """ValueError when this cargo has no clippy or no rustfmt."""
    if not succeeds("cargo", "clippy", "--version") or not succeeds("cargo", "fmt", "--version"):
        raise ValueError("cargo lacks clippy or rustfmt; install them with: rustup component add clippy rustfmt")


def arguments() -> argparse.Namespace:
    campaign = option_check.memory_defaults()
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("purpose", choices=PURPOSES, help="the target of make that needs them")
    for knob in TAKEN:
        default = "" if knob in ("PREFIX", "CLIENT", "SERVER") else f" (default: {campaign[knob]})"
        parser.add_argument(f"--{knob.lower()}", metavar=knob, help=f"of mem{default}")
    for knob in ("STACK", "TOOL"):
        default = option_check.PROFILE_DEFAULTS[knob]
        parser.add_argument(f"--{knob.lower()}", metavar=knob, default=default, help=f"of profile (default: {default})")
    given = parser.parse_args()
    asked = {knob: getattr(given, knob.lower()) for knob in (*TAKEN, "STACK", "TOOL")}
    option_check.check_options_or_exit({knob: value for knob, value in asked.items() if value is not None}, list(asked))
    mixed = f"{given.client} {given.server}" if given.client else None
    given.stacks = given.stacks or mixed or campaign["STACKS"]
    given.allocator = given.allocator or campaign["ALLOCATOR"]
    return given


def main() -> None:
    option_check.check_options_or_exit({})  # the defaults are read from the definitions
    given = arguments()
    try:
        if given.purpose == "check":
            require_cargo()
            require_linters()
            every = (one for name in option_check.read_tables("allocators") for one in allocator_packages(name))
            require_packages([*PURPOSES["check"], *every])
        elif given.purpose in ("mem", "timed"):
            require_cargo_for(option_check.expand_stacks(given.stacks, given.prefix))
            require_packages(
                [
                    *PURPOSES[given.purpose],
                    *(one for name in option_check.split_names(given.allocator) for one in allocator_packages(name)),
                ]
            )
        elif given.purpose == "profile":
            require_cargo_for([given.stack])
            require_packages([*PURPOSES["profile"], *PROFILERS[given.tool]])
        else:
            require_packages(PURPOSES[given.purpose])
    except ValueError as error:
        print(f"memtest: {error}", file=sys.stderr)
        sys.exit(1)
