#!/usr/bin/env python3
"""Check what was asked for, before anything is installed or built: `names.py N=10000 STACKS="openssl@3.5.5"`."""

from tlsmem.cli.names import main

if __name__ == "__main__":
    main()
