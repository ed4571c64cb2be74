#!/usr/bin/env python3
"""Tables of a recording. Of memory."""

from tlsmem.cli.tabulate import main

if __name__ == "__main__":
    main()
