#!/usr/bin/env python3
"""One picture of a recording: memory by sessions (peak RSS, its slope), and memory by phase of the handshake."""

from tlsmem.cli.plot_mem import main

if __name__ == "__main__":
    main()
