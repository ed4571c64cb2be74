#!/usr/bin/env python3
"""The heap meter on any program: follow a command and all that it starts, or a process that is already metered."""

import os
import sys

sys.path.insert(0, os.path.dirname(os.path.realpath(__file__)))  # also where PYTHONSAFEPATH is set

from tlsmem.cli.main import run_module

if __name__ == "__main__":
    run_module("tlsmem.cli.heap")
