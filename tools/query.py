#!/usr/bin/env python3
"""Run the DuckDB queries that stand on a page, over data/, and put what each finds below it."""

if __name__ == "__main__":
    from tlsmem.base import venv

    venv.activate()

    from tlsmem.tables.documented_queries import main

    main()
