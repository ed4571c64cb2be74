#!/usr/bin/env python3
"""Whether a comparison of two builds that is killed at a random moment leaves a process behind: real builds of
OpenSSL by make and of AWS-LC by ninja, ended by SIGTERM twice, as `timeout` does it, by SIGHUP, or by SIGKILL."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import argparse
import os
import random
import shutil
import signal
import subprocess
import tempfile
import time

from tlsmem.base import venv
from tlsmem.base.paths import ROOT
from tlsmem.cli.main import run

KILLS, LONGEST_S = 50, 20.0
STACKS = ("openssl@3.5.5", "awslc@5.12.0")  # ninja gives each compiler a process group of its own
SIGNALS = ((signal.SIGTERM, signal.SIGTERM), (signal.SIGKILL,), (signal.SIGHUP,))
EXAMPLES = """examples:
  tools/dev/check_kills.py               50 kills: ten minutes
  tools/dev/check_kills.py --kills 5     fewer"""


def survivors(token: str, wait_s: float = 5) -> list[str]:
    """The command lines of processes whose TMPDIR is this, once they have had time to end."""
    until = time.monotonic() + wait_s
    while (found := processes(token)) and time.monotonic() < until:
        time.sleep(0.05)
    return found


def processes(token: str) -> list[str]:
    found = []
    for place in Path("/proc").glob("[0-9]*"):
        try:
            if f"TMPDIR={token}".encode() in (place / "environ").read_bytes().split(b"\0"):
                found.append(f"{place.name} {(place / 'cmdline').read_bytes().replace(bytes(1), b' ').decode()}")
        except OSError:  # it has ended, or is another user's
            pass
    return found


def plant_trees(stack: str, folder: Path) -> list[Path]:
    """Two trees of a library that no other build has, so that each is built from its beginning."""
    from tlsmem.build import sources
    from tlsmem.config.definitions import stacks

    source = sources.provide_tree(stack, stacks()[stack].source, ROOT / "build/sources", ROOT / "build/logs/kills.log")
    trees = []
    for name in ("a", "b"):
        tree = folder / stack / name
        shutil.copytree(source, tree)
        with (tree / "crypto/mem.c").open("a") as file:
            file.write(f"/* {folder} {name} */\n")
        trees.append(tree)
    return trees


def comparison(stack: str, folder: Path) -> list[str]:
    """The command that builds both trees of a library and compares them."""
    library = stack.partition("@")[0]
    a, b = plant_trees(stack, folder)
    sides = [f"--a={library}@path:{a}", f"--b={library}@path:{b}", "--suites=tls13-rsa-aes256", f"--out={folder}/out"]
    return [sys.executable, str(ROOT / "tools/tls-memtest"), "diff", "builds", *sides]


def kill_one(command: list[str], token: str, after_s: float, signals: tuple[signal.Signals, ...]) -> list[str]:
    """What is left of the command when it was killed so many seconds after its start."""
    environment = os.environ | {"TMPDIR": token}
    with subprocess.Popen(
        command, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True
    ) as started:
        time.sleep(after_s)
        for one in signals:
            started.send_signal(one)
            time.sleep(0.001)
        started.wait()
    return survivors(token)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, epilog=EXAMPLES, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--kills", type=int, choices=range(1, 1001), metavar="N", default=KILLS, help="default: 50")
    given = parser.parse_args()
    venv.activate()
    signal.signal(signal.SIGHUP, signal.SIG_DFL)  # what nohup ignores, a comparison that it started would ignore too
    seed = random.randrange(10**6)
    chance = random.Random(seed)
    print(f"check-kills: seed {seed}", flush=True)
    left = 0
    with tempfile.TemporaryDirectory(prefix="memtest-kills-") as folder:
        comparisons = [comparison(stack, Path(folder)) for stack in STACKS]
        for number in range(1, given.kills + 1):
            after_s, signals = chance.uniform(0.2, LONGEST_S), SIGNALS[number % len(SIGNALS)]
            at = number // len(SIGNALS) % len(STACKS)  # each signal for each library
            found = kill_one(comparisons[at], folder, after_s, signals)
            said = "; ".join(found) or "nothing is left"
            print(f"check-kills: {number}: {STACKS[at]}: {signals[0].name} after {after_s:.2f} s: {said}", flush=True)
            left += bool(found)
    if left:
        sys.exit(f"check-kills: {left} of {given.kills} kills left processes behind")
    print(f"check-kills: {given.kills} kills left no process behind")


if __name__ == "__main__":
    run(main)
