#!/usr/bin/env python3
"""One picture of what a session's bytes are for."""

if __name__ == "__main__":
    from tlsmem.base import venv

    venv.activate()

    from tlsmem.plots.buckets import main

    main()
