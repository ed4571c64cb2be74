#!/usr/bin/env python3
"""The heap meter on any program: follow a command and all that it starts, or a process that is already metered."""

from tlsmem.cli.heap import main

if __name__ == "__main__":
    main()
