#!/usr/bin/env python3
"""In words, why a session of one stack holds more bytes than one of another, by what the bytes are for."""

import os
import sys

sys.path.insert(0, os.path.dirname(os.path.realpath(__file__)))  # also where PYTHONSAFEPATH is set

from tlsmem.cli.main import run_module

if __name__ == "__main__":
    run_module("tlsmem.cli.explain_buckets")
