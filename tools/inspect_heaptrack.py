#!/usr/bin/env python3
"""Where the bytes are: who holds the memory of a heap profile, at which moment, and for how many sessions."""

if __name__ == "__main__":
    from tlsmem.base import venv

    venv.activate()

    from tlsmem.explore.inspect_profile import main

    main()
