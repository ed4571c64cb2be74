#!/usr/bin/env python3
"""Hold what sessions cost against budgets: measure what BUDGET.toml needs, print each limit, value and verdict."""

import os
import sys

sys.path.insert(0, os.path.dirname(os.path.realpath(__file__)))  # also where PYTHONSAFEPATH is set

from tlsmem.cli.gate import main

if __name__ == "__main__":
    main()
