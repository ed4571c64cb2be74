#!/usr/bin/env python3
"""One picture of what a session's bytes are for."""

import os
import sys

sys.path.insert(0, os.path.dirname(os.path.realpath(__file__)))  # also where PYTHONSAFEPATH is set

from tlsmem.cli.plot_buckets import main

if __name__ == "__main__":
    main()
