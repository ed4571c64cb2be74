#!/usr/bin/env python3
"""Hold what sessions cost against budgets: measure what BUDGET.toml needs, print each limit, value and verdict."""

if __name__ == "__main__":
    from tlsmem.base import venv

    venv.activate()

    from tlsmem.gate.judge import main

    main()
