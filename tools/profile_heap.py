#!/usr/bin/env python3
"""Profile one run of a stack: which call stacks hold the bytes, at the end of every phase."""

import os
import sys

sys.path.insert(0, os.path.dirname(os.path.realpath(__file__)))  # also where PYTHONSAFEPATH is set

from tlsmem.cli.main import run_module

if __name__ == "__main__":
    run_module("tlsmem.cli.profile_heap")
