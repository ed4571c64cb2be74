#!/usr/bin/env python3
"""One picture of every stack in one suite: what an established session keeps, the smallest first, and its peak."""

import os
import sys

sys.path.insert(0, os.path.dirname(os.path.realpath(__file__)))  # also where PYTHONSAFEPATH is set

from tlsmem.cli.main import run_module

if __name__ == "__main__":
    run_module("tlsmem.cli.plot_stacks")
