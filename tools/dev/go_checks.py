"""The commands that check what is written in Go, with the toolchain that is pinned."""

import os
import subprocess
import sys
from pathlib import Path

from tlsmem.base.paths import ROOT
from tlsmem.build import go_stack
from tlsmem.build.commands import BuildFailed

COMMANDS = {"style": [["gofmt", "-l", "."], ["go", "vet", "./..."]], "tests": [["go", "test", "./..."]]}


def variables(root: Path) -> dict[str, str]:
    """As a build has them, and the pinned toolchain's own programs first; Failed where it is not there."""
    os.environ["GOPROXY"] = "off"
    go_stack.toolchain_record(root)
    settings = os.environ | go_stack.go_variables(root)
    goroot = subprocess.run(["go", "env", "GOROOT"], env=settings, capture_output=True, text=True, check=True).stdout
    return settings | {"PATH": f"{goroot.strip()}/bin:{settings['PATH']}"}


def passes(command: list[str], settings: dict[str, str], module: Path) -> bool:
    """gofmt lists what it would change, and is content."""
    done = subprocess.run(
        command, cwd=module, env=settings, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    )
    if done.returncode == 0 and not (command[0] == "gofmt" and done.stdout):
        return True
    print(f"memtest: `{' '.join(command)}` in {module.name}:\n{done.stdout}", end="", file=sys.stderr)
    return False


def run(what: str) -> None:
    """Exits with 1 when a command of `what` fails."""
    try:
        settings = variables(ROOT)
    except BuildFailed as error:
        print(f"check: left out: {what} of {go_stack.MODULE}: {error}")
        return
    passed = [passes(command, settings, ROOT / go_stack.MODULE) for command in COMMANDS[what]]
    sys.exit(0 if all(passed) else 1)
