#!/usr/bin/env python3
"""One picture of a library release by release: what a session holds, stacked by what it is for, with its peak."""

if __name__ == "__main__":
    from tlsmem.base import venv

    venv.activate()

    from tlsmem.compare.release_plot import main

    main()
