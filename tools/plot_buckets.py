#!/usr/bin/env python3
"""One picture of what a session's bytes are for."""

from tlsmem.cli.plot_buckets import main

if __name__ == "__main__":
    main()
