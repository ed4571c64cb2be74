#!/usr/bin/env python3
"""Hold what sessions cost against budgets: measure what BUDGET.toml needs, print each limit, value and verdict."""

from tlsmem.cli.gate import main

if __name__ == "__main__":
    main()
