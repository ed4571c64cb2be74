#!/usr/bin/env python3
"""How much memory TLS connections need."""

from tlsmem.cli.plan import main

if __name__ == "__main__":
    main()
