#!/usr/bin/env python3
"""Run a campaign of memtest/campaigns.toml and record every run; what is recorded already is not run again."""

import os
import sys

sys.path.insert(0, os.path.dirname(os.path.realpath(__file__)))  # also where PYTHONSAFEPATH is set

from tlsmem.cli.main import run_module

if __name__ == "__main__":
    run_module("tlsmem.cli.measure")
