#!/usr/bin/env python3
"""Pictures of timed runs: bulk transfer, handshakes, rate per thread over threads, latencies, sizes of a write."""

import os
import sys

sys.path.insert(0, os.path.dirname(os.path.realpath(__file__)))  # also where PYTHONSAFEPATH is set

from tlsmem.cli.main import run_module

if __name__ == "__main__":
    run_module("tlsmem.cli.plot_timing")
