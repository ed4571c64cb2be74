#!/usr/bin/env python3
"""Starts the scheduler of a Dask cluster that makes runs of campaigns."""

from tlsmem.cli.scheduler import main

if __name__ == "__main__":
    main()
