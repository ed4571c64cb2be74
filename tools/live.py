#!/usr/bin/env python3
"""Measure what connections to a real, unmodified server cost: its own memory, and the kernel's at both ends."""

from tlsmem.cli.live import main

if __name__ == "__main__":
    main()
