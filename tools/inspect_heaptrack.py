#!/usr/bin/env python3
"""Where the bytes are: who holds the memory of a heap profile, at which moment, and for how many sessions."""

import os
import sys

sys.path.insert(0, os.path.dirname(os.path.realpath(__file__)))  # also where PYTHONSAFEPATH is set

from tlsmem.cli.inspect_heaptrack import main

if __name__ == "__main__":
    main()
