#!/usr/bin/env python3
"""Walk a library's releases."""

if __name__ == "__main__":
    from tlsmem.base import venv

    venv.activate()

    from tlsmem.compare.compare_releases import main

    main()
