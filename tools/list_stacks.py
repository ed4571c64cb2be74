#!/usr/bin/env python3
"""Every stack that is known."""

if __name__ == "__main__":
    from tlsmem.base import venv

    venv.activate()

    from tlsmem.tables.stack_list import main

    main()
