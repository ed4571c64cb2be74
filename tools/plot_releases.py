#!/usr/bin/env python3
"""One picture of libraries release by release: what an established session keeps, and its peak in the handshake."""

if __name__ == "__main__":
    from tlsmem.base import venv

    venv.activate()

    from tlsmem.plots.releases import main

    main()
