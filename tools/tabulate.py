#!/usr/bin/env python3
"""Tables of a recording. Of memory."""

if __name__ == "__main__":
    from tlsmem.base import venv

    venv.activate()

    from tlsmem.tables.tabulate import main

    main()
