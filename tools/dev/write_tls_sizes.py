#!/usr/bin/env python3
"""Write memtest/tls_sizes.toml: block sizes that tell which object of a TLS library a block is, from the sites runs in
data/. Run it when sites runs of another release are recorded, and commit what it writes.

A size counts if it is at least 512 B, if functions with names allocate it for something that every session or
context has, and if it is the same whatever is negotiated: no function allocates more than three such sizes in a
release, and a session's are in at least a fifth of its suites. Other sizes follow from certificates, tickets or
messages. Functions without names tell only whether sessions or contexts hold a size."""

import argparse
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from tlsmem.base import venv
from tlsmem.cli.main import run


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.parse_args()
    venv.activate()
    import block_sizes

    block_sizes.FILE.write_text(block_sizes.format_file(block_sizes.collect(block_sizes.recorded())))


if __name__ == "__main__":
    run(main)
