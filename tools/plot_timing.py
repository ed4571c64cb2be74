#!/usr/bin/env python3
"""Pictures of timed runs: bulk transfer, handshakes, rate per thread over threads, latencies, sizes of a write."""

if __name__ == "__main__":
    from tlsmem.base import venv

    venv.activate()

    from tlsmem.plots.timed.selected_pictures import main

    main()
