#!/usr/bin/env python3
"""One picture of libraries release by release: what an established session keeps, and its peak in the handshake."""

from tlsmem.cli.plot_releases import main

if __name__ == "__main__":
    main()
