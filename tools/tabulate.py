#!/usr/bin/env python3
"""Tables of a recording. Of memory."""

import os
import sys

sys.path.insert(0, os.path.dirname(os.path.realpath(__file__)))  # also where PYTHONSAFEPATH is set

from tlsmem.cli.tabulate import main

if __name__ == "__main__":
    main()
