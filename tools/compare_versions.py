#!/usr/bin/env python3
"""Walk a library's releases."""

import os
import sys

sys.path.insert(0, os.path.dirname(os.path.realpath(__file__)))  # also where PYTHONSAFEPATH is set

from tlsmem.cli.compare_versions import main

if __name__ == "__main__":
    main()
