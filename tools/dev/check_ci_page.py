#!/usr/bin/env python3
"""Run the steps of docs/how-to/ci.md, "GitHub, from another repository", in a bare Debian 12.

The system is made by debootstrap (minbase) in build/ci-page, with a clone of this repository and a tree of OpenSSL
3.5.5 that has a budget. Prints what was installed, its size and the time of each step. Needs root."""

import argparse
import os
import re
import shutil
import subprocess
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from tlsmem.base.paths import ROOT

CHROOT = ROOT / "build/ci-page"
PAGE = ROOT / "docs/how-to/ci.md"
SUITE, MIRROR = "bookworm", "http://deb.debian.org/debian"
LIBRARY = ROOT / "build/sources/openssl-src-300.5.5+3.5.5/openssl"
BUDGET = """[[budget]]
stack = "openssl@path:."
suite = "tls13-rsa-aes256"
role = ["client", "server"]
phase = ["established", "closed"]
meter = "heap"
limit = "64 KiB"
"""
NETWORK = ("PIP_", "CARGO_", "SSL_CERT_", "HTTP_PROXY", "HTTPS_PROXY", "NO_PROXY")  # variables that reach registries
SETTINGS = ("/etc/resolv.conf", "/etc/hosts", "/etc/pip.conf")
AUTHORITIES = "/etc/authorities.pem"  # those of this machine: a step installs Debian's own
# Mounts of the steps' own, which vanish with them.
ENTER = 'mount -t proc proc "$0/proc" && mount --rbind /dev "$0/dev" && exec chroot "$0" /bin/sh -ec "$1"'
TIME_LIMIT_S = 1_800


def parser() -> argparse.ArgumentParser:
    return argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)


def main() -> None:
    parser().parse_args()
    if os.geteuid() != 0:
        sys.exit("check-ci-page: only root can make a system of its own; run it as root")
    steps = read_steps(PAGE.read_text())
    make_system()
    for step in steps:
        begun = time.monotonic()
        text = run_step(step)
        installed = re.findall(r"^Setting up (\S+)", text, re.MULTILINE)
        about = f", {len(installed)} packages installed" if installed else ""
        print(f"check-ci-page: {step}: {time.monotonic() - begun:.0f} s{about}", flush=True)
    if not (CHROOT / "root/gate.xml").exists():
        sys.exit("check-ci-page: the steps wrote no gate.xml")
    size = subprocess.run(["du", "-sm", CHROOT / "root/tls-memtest/.venv"], capture_output=True, text=True).stdout
    print(f"check-ci-page: passed; .venv takes {size.split()[0]} MB")


def read_steps(page: str) -> list[str]:
    """Return the commands of the page's workflow, without those that another step of the host's stands for."""
    workflow = page.partition("```yaml")[2].partition("```")[0]
    return re.findall(r"^ +- run: (.+)$", workflow, re.MULTILINE)


def make_system() -> None:
    """Make the bare system, the clone and the tree anew."""
    shutil.rmtree(CHROOT, ignore_errors=True)
    log = ROOT / "build/logs/ci-page.log"
    log.parent.mkdir(parents=True, exist_ok=True)
    command = ["debootstrap", "--variant=minbase", SUITE, CHROOT, MIRROR]
    with log.open("wb") as written:
        done = subprocess.run(command, stdout=written, stderr=written)
    if done.returncode:
        sys.exit(f"check-ci-page: debootstrap failed; see {log}")
    for file in filter(os.path.isfile, SETTINGS):
        shutil.copy(file, CHROOT / file.lstrip("/"))
    if os.path.isfile(authorities := os.environ.get("PIP_CERT", "")):
        shutil.copy(authorities, CHROOT / AUTHORITIES.lstrip("/"))
    subprocess.run(["git", "clone", "-q", ROOT, CHROOT / "root/tls-memtest"], check=True)
    shutil.copytree(LIBRARY, CHROOT / "root/library", symlinks=True)
    (CHROOT / "root/library/BUDGET.toml").write_text(BUDGET)


def run_step(step: str) -> str:
    """Return what a step of the page prints. Exits with its last lines when it fails."""
    network = {name: value for name, value in os.environ.items() if name.upper().startswith(NETWORK)}
    network |= {name: AUTHORITIES for name in ("PIP_CERT", "SSL_CERT_FILE") if name in network}
    variables = {"PATH": "/usr/sbin:/usr/bin:/sbin:/bin", "HOME": "/root", "MEMTEST_CACHE": "/var/cache/memtest"}
    command = ["unshare", "--mount", "--pid", "--fork", "--kill-child", "/bin/sh", "-ec", ENTER]
    done = subprocess.run(
        [*command, CHROOT, f"cd /root; {step}"],
        env=network | variables,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=TIME_LIMIT_S,
    )
    if done.returncode:
        lines = "\n".join(done.stdout.splitlines()[-30:])
        sys.exit(f"check-ci-page: `{step}` failed with {done.returncode}:\n{lines}")
    return done.stdout


if __name__ == "__main__":
    main()
