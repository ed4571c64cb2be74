#!/usr/bin/env python3
"""Run commands of the README in a bare Debian 12 that has only what the README asks for.

The compilers of Rust and Go are this machine's own: Debian 12 has none that are new enough. All else comes from the
registries, the sources of libraries too. Prints what each command installed and how long it took; more packages than
`--most` are an error. Needs root."""

import argparse
import subprocess
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from bare_system import BareSystem

# "git, make, a C compiler, Python 3.11", and the certificates of the registries.
ASKED_FOR = "git make gcc libc6-dev python3 ca-certificates"
TOOLS = {"/opt/rust": ["rustc", "--print=sysroot"], "/opt/go": ["go", "env", "GOROOT"]}


def parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("commands", nargs="*", default=["make check"], help="to run there (default: %(default)s)")
    parser.add_argument(
        "--most", type=int, default=40, metavar="PACKAGES", help="newly installed (default: %(default)s)"
    )
    return parser


def main() -> None:
    given = parser().parse_args()
    system = BareSystem("check-bare", time_limit_s=5_400, tools=find_tools())
    system.make()
    system.run_timed(f"apt-get update && apt-get install -y --no-install-recommends {ASKED_FOR}")
    installed = []
    for command in given.commands:
        installed += system.run_timed(f"cd tls-memtest; {command}")
    print(f"check-bare: .venv takes {system.measure_packages_mb()} MB; installed: {' '.join(installed)}")
    if len(installed) > given.most:
        sys.exit(f"check-bare: {len(installed)} packages were installed, more than {given.most}")
    print("check-bare: passed")


def find_tools() -> dict[str, Path]:
    """Those that are here; a check passes over the stacks of a language that has no compiler."""
    found = {}
    for place, command in TOOLS.items():
        try:
            found[place] = Path(subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip())
        except (OSError, subprocess.CalledProcessError):
            print(f"check-bare: without {command[0]}, which is not here")
    return found


if __name__ == "__main__":
    main()
