"""A bare Debian 12 of its own, made by debootstrap (minbase), in which a check runs commands as a newcomer would."""

import os
import re
import shutil
import subprocess
import sys
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from tlsmem.base.paths import ROOT

SUITE, MIRROR = "bookworm", "http://deb.debian.org/debian"
# Variables that reach registries.
NETWORK = ("PIP_CERT", "PIP_INDEX", "PIP_EXTRA", "PIP_TRUSTED", "CARGO_", "SSL_CERT_FILE", "HTTP_PROXY", "HTTPS_PROXY")
NETWORK += ("NO_PROXY",)
SETTINGS = ("/etc/resolv.conf", "/etc/hosts", "/etc/pip.conf")
HOME = "/srv"  # of the user of the system
AUTHORITIES = "/etc/authorities.pem"  # those of this machine: a step installs Debian's own
# Mounts of the steps' own, which vanish with them: "$0" is the system, "$1" the step, what follows are pairs of
# directories.
ENTER = """system=$0 step=$1; shift
mount -t proc proc "$system/proc"; mount --rbind /sys "$system/sys"; mount --rbind /dev "$system/dev"
while [ $# -gt 0 ]; do mkdir -p "$system$2"; mount --bind -o ro "$1" "$system$2"; shift 2; done
exec chroot "$system" /bin/sh -ec "$step"
"""


@dataclass(frozen=True)
class BareSystem:
    """`name`: of the check, in its sentences. `tools`: directories of this machine by where the system has them.
    `variables`: of the environment of each step, beside those that reach registries."""

    name: str
    time_limit_s: float
    tools: Mapping[str, Path] = field(default_factory=dict)
    variables: Mapping[str, str] = field(default_factory=dict)

    @property
    def root(self) -> Path:
        return ROOT / "build/bare" / self.name

    @property
    def home(self) -> Path:
        """Where steps begin, and where the clone of this repository is, as this machine sees it."""
        return self.root / HOME.lstrip("/")

    @property
    def clone(self) -> Path:
        return self.home / "tls-memtest"

    def make(self) -> None:
        """Make the system and the clone of this repository anew; exits with a sentence."""
        if os.geteuid() != 0:
            sys.exit(f"{self.name}: only root can make a system of its own; run it as root")
        shutil.rmtree(self.root, ignore_errors=True)
        self.root.parent.mkdir(parents=True, exist_ok=True)
        log = ROOT / f"build/logs/{self.name}.log"
        log.parent.mkdir(parents=True, exist_ok=True)
        with log.open("wb") as written:
            command = ["debootstrap", "--variant=minbase", SUITE, self.root, MIRROR]
            done = subprocess.run(command, stdout=written, stderr=written)
        if done.returncode:
            sys.exit(f"{self.name}: debootstrap failed; see {log}")
        for file in filter(os.path.isfile, SETTINGS):
            shutil.copy(file, self.root / file.lstrip("/"))
        if os.path.isfile(authorities := os.environ.get("PIP_CERT", "")):
            shutil.copy(authorities, self.root / AUTHORITIES.lstrip("/"))
        subprocess.run(["git", "clone", "-q", ROOT, self.clone], check=True)

    def run(self, step: str) -> str:
        """Return what a step prints, which a shell runs in `home`. Exits with its last lines when it fails."""
        network = {name: value for name, value in os.environ.items() if name.upper().startswith(NETWORK)}
        network |= {name: AUTHORITIES for name in ("PIP_CERT", "SSL_CERT_FILE") if name in network}
        path = ":".join([*(f"{place}/bin" for place in self.tools), "/usr/sbin:/usr/bin:/sbin:/bin"])
        variables = {"PATH": path, "HOME": HOME, **self.variables}
        mounts = [word for place, directory in self.tools.items() for word in (directory, place)]
        enter = [
            "setpriv",
            "--pdeathsig=KILL",
            "unshare",
            "--mount",
            "--pid",
            "--fork",
            "--kill-child",
            "/bin/sh",
            "-ec",
            ENTER,
            self.root,
        ]
        try:
            done = subprocess.run(
                [*enter, f"cd {HOME}; {step}", *mounts],
                env=network | variables,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                text=True,
                timeout=self.time_limit_s,
            )
        except subprocess.TimeoutExpired:
            sys.exit(f"{self.name}: `{step}` had not ended after {self.time_limit_s:.0f} s")
        if done.returncode:
            lines = "\n".join(done.stdout.splitlines()[-30:])
            sys.exit(f"{self.name}: `{step}` failed with {done.returncode}:\n{lines}")
        return done.stdout

    def run_timed(self, step: str) -> list[str]:
        """Run a step, print how long it took, and return the packages that it installed."""
        begun = time.monotonic()
        installed = re.findall(r"^Setting up (\S+)", self.run(step), re.MULTILINE)
        about = f", {len(installed)} packages installed" if installed else ""
        print(f"{self.name}: {step}: {time.monotonic() - begun:.0f} s{about}", flush=True)
        return installed

    def measure_packages_mb(self) -> int:
        """The megabytes that the clone's Python packages take."""
        size = subprocess.run(["du", "-sm", self.clone / ".venv"], capture_output=True, text=True).stdout
        return int(size.split()[0])
