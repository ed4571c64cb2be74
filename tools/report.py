#!/usr/bin/env python3
"""One page of recordings that needs nothing else."""

from tlsmem.cli.report import main

if __name__ == "__main__":
    main()
