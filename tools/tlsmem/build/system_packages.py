"""The system packages that a purpose needs, installed where they are missing.

Asked is whether the thing is there, not the package: a compiler of one's own will do. What is missing is installed when
root on a system with apt-get, else named in one line that can be pasted (exit 1). Standard library only.
"""

import os
import re
import shutil
import subprocess
import sys
import threading
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from glob import glob

from tlsmem.config import toml_tables
from tlsmem.config.choices import CLIENT, RUNTIMES

BUILD_PACKAGES = ["gcc", "libc6-dev", "make", "python3-venv", "libunwind8"]
SELFCHECK_PACKAGES = ["valgrind", "heaptrack"]
HEAP_PROFILERS = ["google-perftools", "libgoogle-perftools-dev", "libjemalloc-dev"]  # tests read their profiles
CHECK_PACKAGES = ["libcmocka-dev", "clang-format", "pkg-config", "libssl-dev"]
LIVE_PACKAGES = [*BUILD_PACKAGES, "iproute2", "util-linux"]
SEARCHED = f"{os.environ.get('PATH', os.defpath)}:/usr/sbin:/sbin"


def list_server_packages() -> dict[str, list[str]]:
    """Return the packages of each server of memtest/live_servers.toml and runtimes.toml: its own, or what a pinned one
    needs."""
    try:
        tables = toml_tables.read_tables("live_servers") | toml_tables.read_tables("runtimes")
        found = {
            name: [one["package"]] if "package" in one else list(one.get("needs", {})) for name, one in tables.items()
        }
        for name, one in tables.items():
            found[name] += one.get("builders", {}).values()
        return found | {name: found[name.removesuffix(CLIENT)] for name in RUNTIMES}
    except (ValueError, AttributeError):
        return {}  # what reads the tables says what is wrong


PURPOSES = {
    "mem": BUILD_PACKAGES,
    "timed": [*BUILD_PACKAGES, "valgrind"],  # callgrind, that is
    "selfcheck": SELFCHECK_PACKAGES,
    "check": [*BUILD_PACKAGES, *SELFCHECK_PACKAGES, *HEAP_PROFILERS, *CHECK_PACKAGES],
    "check-pages": ["python3-venv", "chromium"],
    "check-ci-page": ["debootstrap"],
    "compare": BUILD_PACKAGES,
    "profile": BUILD_PACKAGES,  # and the tool's
    "live-nginx": [*LIVE_PACKAGES, "nginx-light"],
    "live-haproxy": [*LIVE_PACKAGES, "haproxy"],
    **dict.fromkeys(("live-go", "live-rustls"), LIVE_PACKAGES),
    **{f"live-{name}": [*LIVE_PACKAGES, *packages] for name, packages in list_server_packages().items()},
    **dict.fromkeys(("live-openssl-s_server", "live-path", "live-source"), LIVE_PACKAGES),
}
PURPOSES["live-sites"] = [*LIVE_PACKAGES, "valgrind"]
OF_ALL = ("nginx", "haproxy", *toml_tables.read_tables("live_servers"), "sites") if list_server_packages() else ()
PURPOSES["live-all"] = list(dict.fromkeys(package for name in OF_ALL for package in PURPOSES[f"live-{name}"]))
PROFILERS = {"sites": [], "heaptrack": ["heaptrack"], "massif": ["valgrind"], "dhat": ["valgrind"]}
OF_STACKS = ("mem", "timed", "profile")  # purposes that build the stacks that are named
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
    "libbrotli-dev": partial(has_header, "brotli/decode.h"),
    "libc6-dev": partial(has_header, "stdio.h"),
    "google-perftools": partial(shutil.which, "google-pprof"),
    "libgoogle-perftools-dev": partial(has_header, "gperftools/heap-profiler.h"),
    "libjemalloc-dev": partial(shutil.which, "jeprof"),
    "libcmocka-dev": partial(has_header, "cmocka.h"),
    "libgmp-dev": partial(has_header, "gmp.h"),
    "libgnutls28-dev": partial(has_header, "gnutls/gnutls.h"),
    "libunwind8": partial(has_library, "libunwind.so.8"),
    "libssl-dev": partial(has_header, "openssl/ssl.h"),
    "libzstd-dev": partial(has_header, "zstd.h"),
    "nettle-dev": partial(has_header, "nettle/version.h"),
    "python3-venv": partial(succeeds, "python3", "-c", "import ensurepip, venv"),
    "valgrind": lambda: shutil.which("valgrind") is not None and has_header("valgrind/valgrind.h"),
    "nginx-light": partial(shutil.which, "nginx", path=SEARCHED),
    "haproxy": partial(shutil.which, "haproxy", path=SEARCHED),
    "zlib1g-dev": partial(has_header, "zlib.h"),
    "iproute2": partial(shutil.which, "ip", path=SEARCHED),
    "util-linux": partial(shutil.which, "nsenter"),
    "ninja-build": partial(shutil.which, "ninja"),
    "perl": partial(succeeds, "perl", "-MFindBin", "-MIPC::Cmd", "-MPod::Usage", "-e", "1"),
}

INSTALLING = threading.Lock()


def list_server_programs() -> dict[str, Callable[[], object]]:
    """Return, by package, whether the server of memtest/live_servers.toml or runtimes.toml that it brings is there, or
    the library."""

    def is_there(program: str) -> bool:
        found = glob(program) if "*" in program else [program]
        return any(shutil.which(one, path=SEARCHED) for one in found)

    if not list_server_packages():
        return {}
    tables = toml_tables.read_tables("live_servers") | toml_tables.read_tables("runtimes")
    libraries = {name: file for one in tables.values() for name, file in one.get("needs", {}).items()}
    programs = {one["package"]: one["program"] for one in tables.values() if {"package", "program"} <= set(one)}
    programs |= {name: command for one in tables.values() for command, name in one.get("builders", {}).items()}
    return {name: partial(has_library, file) for name, file in libraries.items()} | {
        name: partial(is_there, program) for name, program in programs.items()
    }


PRESENT |= list_server_programs()


def list_allocator_packages(name: str) -> list[str]:
    """Return the package of an allocator of memtest/allocators.toml; none for the system's. Raises ValueError when the
    table says half of it."""
    entry = toml_tables.read_tables("allocators")[name]
    there = [key for key in ("package", "library") if entry.get(key)]
    if not there:
        return []
    if len(there) == 1 or not all(isinstance(entry[key], str) for key in there):
        raise ValueError(f"memtest/allocators.toml: [{name}]: package and library come together, as text")
    PRESENT[entry["package"]] = partial(has_library, entry["library"])
    return [entry["package"]]


def find_missing(packages: Iterable[str]) -> list[str]:
    return [name for name in packages if not PRESENT.get(name, lambda name=name: shutil.which(name) is not None)()]


def require_packages(packages: Iterable[str]) -> None:
    """ValueError with one sentence when something is missing and cannot be installed. One at a time, as apt-get is."""
    with INSTALLING:
        require_alone(packages)


def require_alone(packages: Iterable[str]) -> None:
    wanted = find_missing(packages)
    if not wanted:
        return
    if os.geteuid() != 0 or not shutil.which("apt-get"):
        raise ValueError(f"missing system packages; install them with: sudo apt-get install -y {' '.join(wanted)}")
    print(f"packages: installing {' '.join(wanted)}", file=sys.stderr)
    run_apt_get("update", "-q")
    run_apt_get("install", "-q", "-y", "--no-install-recommends", *wanted)
    if find_missing(wanted):
        raise ValueError(f"{' '.join(find_missing(wanted))}: apt-get installed it, and yet what it brings is not found")


def run_apt_get(*arguments: str) -> None:
    done = subprocess.run(["apt-get", *arguments], env=os.environ | {"DEBIAN_FRONTEND": "noninteractive"}, stdout=2)
    if done.returncode:
        raise ValueError(f"`apt-get {' '.join(arguments)}` failed; its reason is above")


def require_cargo_for(stacks: Iterable[str]) -> None:
    """As require_cargo, when one of these is written in Rust or has its source in a crate."""
    table = toml_tables.read_tables("stacks")
    stacks = [name if name in table else find_release_of_kind(name, table) for name in stacks]
    if any(table[name].get("harness") == "rust" or has_crate(table[name]) for name in stacks):
        require_cargo()


def find_release_of_kind(tree: str, known: Iterable[str]) -> str:
    """Return a stack that is built as this tree is: `openssl@3.5.5` for `openssl@git:main`."""
    kind = tree.partition("@")[0]
    return next(name for name in known if name.partition("@")[0] == kind)


def has_crate(stack: Mapping[str, object]) -> bool:
    source = stack.get("source")
    return isinstance(source, dict) and "crate" in source


def require_cargo() -> None:
    """Raises ValueError when cargo is missing or too old (Debian 12's own is 0.66)."""
    oldest = ".".join(map(str, OLDEST_CARGO))
    way_out = f"at least {oldest} is needed: see https://rustup.rs"
    try:
        done = subprocess.run(["cargo", "--version"], capture_output=True, text=True)
    except FileNotFoundError:
        raise ValueError(f"cargo is not installed; {way_out}") from None
    except OSError as error:
        raise ValueError(f"cargo cannot be run: {error.strerror}; {way_out}") from None
    said = done.stdout.strip()
    found = re.match(r"cargo (\d+)\.(\d+)", said)
    if not found:
        why = (done.stderr.strip() or said or f"exit status {done.returncode}").splitlines()[-1]
        raise ValueError(f"cargo cannot be run: cargo --version: {why}; {way_out}")
    if tuple(map(int, found.groups())) < OLDEST_CARGO:
        raise ValueError(f"{said} is too old; {way_out}")


def require_linters() -> None:
    """Raises ValueError when this cargo has no clippy or no rustfmt."""
    if not succeeds("cargo", "clippy", "--version") or not succeeds("cargo", "fmt", "--version"):
        raise ValueError("cargo lacks clippy or rustfmt; install them with: rustup component add clippy rustfmt")


def install(purpose: str, stacks: Sequence[str], allocator: str, tool: str | None) -> None:
    """Install the system packages that a purpose lacks. Raises ValueError with a sentence about what cannot be
    installed, such as cargo where stacks need it."""
    if purpose == "check":
        require_cargo()
        require_linters()
        every = (one for name in toml_tables.read_tables("allocators") for one in list_allocator_packages(name))
        require_packages([*PURPOSES[purpose], *every])
        return
    if purpose in OF_STACKS:
        require_cargo_for(stacks)
    allocators = list_allocator_packages(allocator) if purpose in ("mem", "timed") else []
    require_packages([*PURPOSES[purpose], *allocators, *(PROFILERS[tool] if purpose == "profile" and tool else [])])
