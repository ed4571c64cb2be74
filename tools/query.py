#!/usr/bin/env python3
"""Run the DuckDB queries that stand on a page, over data/, and put what each finds below it."""

import os
import sys

sys.path.insert(0, os.path.dirname(os.path.realpath(__file__)))  # also where PYTHONSAFEPATH is set

from tlsmem.cli.main import run_module

if __name__ == "__main__":
    run_module("tlsmem.cli.query")
