#!/usr/bin/env python3
"""Install the system packages that a purpose needs: `packages.py check`, `packages.py mem --allocator jemalloc`."""

import os
import sys

sys.path.insert(0, os.path.dirname(os.path.realpath(__file__)))  # also where PYTHONSAFEPATH is set

from tlsmem.cli.main import run_module

if __name__ == "__main__":
    run_module("tlsmem.build.system_packages")
