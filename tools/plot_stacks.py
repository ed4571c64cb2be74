#!/usr/bin/env python3
"""One picture of every stack in one suite: what an established session keeps, the smallest first, and its peak."""

from tlsmem.cli.plot_stacks import main

if __name__ == "__main__":
    main()
