#!/usr/bin/env python3
"""What changed from one recording to another, or from one selection of a recording to another."""

if __name__ == "__main__":
    from tlsmem.base import venv

    venv.activate()

    from tlsmem.compare.compare_recordings import main

    main()
