#!/usr/bin/env python3
"""One picture of a recording: memory by sessions (peak RSS, its slope), and memory by phase of the handshake."""

if __name__ == "__main__":
    from tlsmem.base import venv

    venv.activate()

    from tlsmem.plots.memory import main

    main()
