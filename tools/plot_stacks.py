#!/usr/bin/env python3
"""One picture of every stack in one suite: what an established session keeps, the smallest first, and its peak."""

if __name__ == "__main__":
    from tlsmem.base import venv

    venv.activate()

    from tlsmem.plots.stacks import main

    main()
