#!/usr/bin/env python3
"""Pictures of timed runs: bulk transfer, handshakes, rate per thread over threads, latencies, sizes of a write."""

from tlsmem.cli.plot_timing import main

if __name__ == "__main__":
    main()
