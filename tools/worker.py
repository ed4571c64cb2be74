#!/usr/bin/env python3
"""Offers this machine to a Dask cluster that makes runs of campaigns."""

from tlsmem.cli.worker import main

if __name__ == "__main__":
    main()
