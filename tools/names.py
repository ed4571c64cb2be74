#!/usr/bin/env python3
"""Check what was asked for, before anything is installed or built: `names.py N=10000 STACKS="openssl@3.5.5"`."""

import os
import sys

sys.path.insert(0, os.path.dirname(os.path.realpath(__file__)))  # also where PYTHONSAFEPATH is set

from tlsmem.cli.main import run_module

if __name__ == "__main__":
    run_module("tlsmem.cli.names")
