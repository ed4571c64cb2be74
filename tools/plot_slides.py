#!/usr/bin/env python3
"""The slides of a talk, 16:9, from recordings."""

from tlsmem.cli.plot_slides import main

if __name__ == "__main__":
    main()
