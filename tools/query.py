#!/usr/bin/env python3
"""Run the DuckDB queries that stand on a page, over data/, and put what each finds below it."""

from tlsmem.cli.query import main

if __name__ == "__main__":
    main()
