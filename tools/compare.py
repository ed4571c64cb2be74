#!/usr/bin/env python3
"""What changed from one recording to another, or from one selection of a recording to another."""

from tlsmem.cli.compare import main

if __name__ == "__main__":
    main()
