#!/usr/bin/env python3
"""Read a heap profile: tls-memtest heap read."""

import os
import sys

sys.path.insert(0, os.path.dirname(os.path.realpath(__file__)))  # also where PYTHONSAFEPATH is set

from tlsmem.cli.main import main

if __name__ == "__main__":
    main("heap", "read")
