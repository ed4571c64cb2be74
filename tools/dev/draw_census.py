#!/usr/bin/env python3
"""Draw what `heap census --every` sees of an nginx: sessions come, 150 of them stop in the handshake, and most go.

It needs root, for a network of its own, and takes a minute."""

import argparse
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from tlsmem.base import venv
from tlsmem.base.errors import UserError
from tlsmem.base.paths import ROOT
from tlsmem.cli.main import run

EXAMPLES = """example:
  tools/dev/draw_census.py docs/figures/census.png"""
EVERY_S = "0.5"
STILL_S = 3
# What the client does, how often, and over how many seconds.
LOAD = (("open", 300, 7), ("hello", 150, 3), ("leave", 150, 2), ("open", 400, 10), ("close", 620, 5))
PIECES = 10


def main() -> None:
    kept = argparse.RawDescriptionHelpFormatter
    parser = argparse.ArgumentParser(description=__doc__, epilog=EXAMPLES, formatter_class=kept)
    parser.add_argument("file", metavar="FILE.png", type=Path, help="where the picture is written")
    given = parser.parse_args()
    if os.geteuid() != 0:
        sys.exit("draw-census: only root may make a network and read all processes: run it as root")
    venv.activate()
    draw(given.file)


def draw(file: Path) -> None:
    """Raises UserError where nginx cannot be started, or the census fails."""
    from census_servers import LIMIT_S, Client, list_servers, start
    from tlsmem.live.network import Network

    nginx = list_servers(None)[0]
    with Network(LIMIT_S) as network, start(nginx, network) as running, Client(network) as client:
        command = [
            ROOT / "tools/tls-memtest",
            "heap",
            "census",
            "--every",
            EVERY_S,
            "-o",
            file,
            *map(str, running.pids),
        ]
        with subprocess.Popen(command, stdout=subprocess.DEVNULL) as census:
            for verb, count, seconds in LOAD:
                time.sleep(STILL_S)
                for _ in range(PIECES):
                    client.ask(verb, count // PIECES)
                    time.sleep(seconds / PIECES)
            time.sleep(STILL_S)
            census.send_signal(signal.SIGINT)
        if census.returncode not in (0, 130):
            raise UserError(f"the census ended with status {census.returncode}")


if __name__ == "__main__":
    run(main)
