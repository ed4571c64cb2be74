#!/usr/bin/env python3
"""The heap meter on any program: follow a command and all that it starts, or a process that is already metered."""

if __name__ == "__main__":
    from tlsmem.base import venv

    venv.activate()

    from tlsmem.cli.heap_meter import main

    main()
