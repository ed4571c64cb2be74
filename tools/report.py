#!/usr/bin/env python3
"""One page of recordings that needs nothing else."""

if __name__ == "__main__":
    from tlsmem.base import venv

    venv.activate()

    from tlsmem.report.build_report import main

    main()
