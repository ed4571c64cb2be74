#!/usr/bin/env python3
"""Check what was asked for, before anything is installed or built: `names.py N=10000 STACKS="openssl@3.5.5"`."""

import os
import sys

sys.path.insert(0, os.path.dirname(os.path.realpath(__file__)))  # also where PYTHONSAFEPATH is set

from tlsmem.cli.names import main

if __name__ == "__main__":
    main()
