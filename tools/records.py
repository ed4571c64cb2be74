#!/usr/bin/env python3
"""Records of runs: what data/ keeps of a run, one line each, and how it is read back. See docs/reference/records.md."""

import os
import sys

sys.path.insert(0, os.path.dirname(os.path.realpath(__file__)))  # also where PYTHONSAFEPATH is set

from tlsmem.cli.main import run_module

if __name__ == "__main__":
    run_module("tlsmem.cli.records")
