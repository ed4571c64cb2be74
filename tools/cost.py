#!/usr/bin/env python3
"""What one TLS session costs in memory, from the committed recordings."""

from tlsmem.cli.cost import main

if __name__ == "__main__":
    main()
